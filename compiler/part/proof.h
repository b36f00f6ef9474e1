/* SPDX-License-Identifier: Apache-2.0 */
/* What no test of a run can show: that ranks never wait for each other in vain, and never read what
 * is not there. Texts name stage, segment and step. turns.h has the part about messages. */
#ifndef PART_PROOF_H
#define PART_PROOF_H

#include "base/arena.h"
#include "part/program.h"

/* NULL if stages that take part in a collective come to it in one order and say the same of it:
 * what, over whom, how many elements of which type. Each blocks until all are there, so that this
 * holds for every way to send. Ranks of one stage run one text, and turns are those of turns.h in
 * every column of data and tensor ranks; so a stage stands for all of its ranks. */
const char *proof_collectives(const struct program *head, struct arena *arena);

/* NULL if every step reads what has been written: by a step before it in the order of bodies, by a
 * message, or by the runtime before the first step. A program has one stream: the order of its text
 * is that of its events, and covers a read if the write stands before it. */
const char *proof_reads(const struct program *program, struct arena *arena);

#endif
