/* SPDX-License-Identifier: Apache-2.0 */
/* Where a rank is: its coordinates on the factors of the mesh, the last one fastest, as the runtime
 * numbers them; its index in a group; its node and the link to another rank. */
#ifndef JUDGE_RANKS_H
#define JUDGE_RANKS_H

#include "part/program.h"

uint64_t ranks_coordinate(const struct factors *factors, uint32_t factor, uint64_t rank);
/* Index of the rank in its group of the factors in `mask`. */
uint64_t ranks_index(const struct factors *factors, uint32_t mask, uint64_t rank);
/* The rank of that group with this index. */
uint64_t ranks_member(const struct factors *factors, uint32_t mask, uint64_t rank, uint64_t index);

/* Ranks of the mesh. */
uint64_t ranks_all(const struct program *program);
/* Ranks of one stage. */
uint64_t ranks_of_stage(const struct program *program);
uint32_t ranks_stage(const struct program *program, uint64_t rank);
/* The first rank of a stage. */
uint64_t ranks_first(const struct program *program, uint32_t stage);
/* The program of that stage; `head` is that of stage 0. */
const struct program *ranks_program(const struct program *head, uint32_t stage);

/* Nodes are filled in the order of ranks. */
uint64_t ranks_node(const struct plan *plan, uint64_t rank);
/* "nvlink3": the link in a node, or between nodes; "node" and "nodes" where the cluster names none.
 */
const char *ranks_link(const struct plan *plan, bool between);
/* "pp 0, dp 3, tp 1"; "" on one device. */
const char *ranks_place(const struct factors *factors, uint64_t rank, struct arena *arena);

#endif
