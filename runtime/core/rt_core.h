/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank has: the plan, its options, its place in the world, its device and data. */
#ifndef CORE_RT_CORE_H
#define CORE_RT_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"
#include "core/data.h"
#include "core/rt_options.h"
#include "core/world.h"
#include "device/device.h"
#include "rt/rt.h"

struct rt {
	const struct rt_plan *plan;
	const struct rt_role *role;
	const struct rt_options *options;
	struct world *world;
	struct rt_comm comm;
	struct rt_device *device;
	struct data *data;
	int rank;
	int data_index, data_size; /* of the group that splits the batch */
	unsigned char *arena;
	int64_t arena_bytes;
	int64_t step;
	struct batch_source source; /* what rt_load_batch gives */
};

/* Sets role, group places and arena of a rank; opens communicator and device. */
int rt_open(struct rt *rt);
void rt_close(struct rt *rt);

/* The control block of this rank, RT_CONTROL_WORDS words; the sums (loss, count). */
double *rt_control_block(struct rt *rt);
double *rt_sums(struct rt *rt);

/* Value `index` of an array of T; and setting it, rounded once. F32, F64, BF16. */
double rt_value(const void *at, enum rt_type type, int64_t index);
void rt_value_set(void *at, enum rt_type type, int64_t index, double value);

/* First byte of layer `layer` of a place of this rank; of another one, as mapped here. */
void *rt_layer(struct rt *rt, const struct rt_place *place, int64_t layer);
void *rt_layer_of(struct rt *rt, int rank, const struct rt_place *place, int64_t layer);

/* ---- parameters over ranks (block.c) ------------------------------------------------------ */

/* What a rank holds of a parameter: element [r, c] in memory is [first_row + r, first_column + c]
 * of the parameter, and padding where that is outside [rows, columns]. Vectors: columns 1. */
struct rt_block {
	int64_t rows, columns, first_row, first_column;
};
struct rt_block rt_param_block(const struct rt_plan *plan, const struct rt_param *param, int rank);

/* The first rank that holds an element. */
int rt_param_owner(const struct rt_plan *plan, const struct rt_param *param, int64_t row,
		   int64_t column);

/* Number of elements of one layer of a parameter's block (padding included). */
int64_t rt_param_elements(const struct rt_param *param);

/* Number of elements of one copy of a buffer of the parameter in the memory of a rank: those of the
 * block, or of a slice of it. */
int64_t rt_param_held(const struct rt_param *param, const struct rt_place *place);

/* Index of a rank among those that have slices of a weight; 0: whole. */
int64_t rt_weight_member(const struct rt_plan *plan, const struct rt_param *param, int rank);

/* Element `index` of the block of `rank`: in its arena, or NULL if it has another slice; `any`: in
 * that of the member that has it. weight or gradient. */
void *rt_param_element(struct rt *rt, const struct rt_param *param, const struct rt_place *place,
		       int64_t layer, int64_t index, int rank, bool any);

/* *at: element `index` of the whole [padded_rows, columns] in the arena of its owner; how many
 * elements follow each other there, itself included. */
int64_t rt_param_run(struct rt *rt, const struct rt_param *param, const struct rt_place *place,
		     int64_t layer, int64_t index, unsigned char **at);

/* Whether any rank holds less than a whole parameter; than its block of a weight, so that a forward
 * pass talks. */
bool rt_params_cut(const struct rt_plan *plan);
bool rt_weights_sliced(const struct rt_plan *plan);

/* That blocks tile their parameters, and that the data group has the data ranks. */
int rt_params_check(const struct rt_plan *plan);

#endif
