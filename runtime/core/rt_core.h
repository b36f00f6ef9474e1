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
	struct rt_walk walk;        /* turns and messages of this stage; empty without a pipeline */
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

/* The role of a rank: that of its stage. */
const struct rt_role *rt_role_of(const struct rt_plan *plan, int rank);

/* ---- pipeline (pipeline.c) --------------------------------------------------------------- */

/* Works out turns and messages of this stage. Nothing without a pipeline. */
int pipeline_open(struct rt *rt);
void pipeline_close(struct rt *rt);
/* Messages that go before turn i. */
int pipeline_exchange(struct rt *rt, uint32_t i);
/* The copies that a turn works on. */
struct rt_at pipeline_at(const struct rt *rt, const struct rt_turn *turn);
/* What came for a turn goes where its first step reads it. */
int pipeline_take(struct rt *rt, const struct rt_turn *turn);
/* One micro-batch forward through all stages, nothing kept. */
int pipeline_forward(struct rt *rt, int64_t micro_batch);

/* First byte of layer `layer` of a place of this rank; of another one with the same role, as mapped
 * here. */
void *rt_layer(struct rt *rt, const struct rt_place *place, int64_t layer);
void *rt_layer_of(struct rt *rt, int rank, const struct rt_place *place, int64_t layer);

/* ---- parameters over ranks (block.c) ------------------------------------------------------ */

/* What a rank holds of a parameter: element [r, c] in memory is [first_row + r, first_column + c]
 * of the parameter, and padding where that is outside [rows, columns]. Vectors: columns 1. */
enum rt_part { RT_WEIGHT, RT_GRADIENT, RT_MOMENT };

struct rt_block {
	int64_t rows, columns, first_row, first_column;
};
struct rt_block rt_param_block(const struct rt_plan *plan, const struct rt_param *param, int rank);

/* The first rank that holds an element of a layer. */
int rt_param_owner(const struct rt_plan *plan, const struct rt_param *param, int64_t layer,
		   int64_t row, int64_t column);

/* Where a role has a parameter: NULL each where it has none. */
struct rt_param_home rt_param_home(const struct rt_plan *plan, const struct rt_role *role,
				   const struct rt_param *param);
/* Number on the stage of layer `layer` of a parameter; -1: it is not there. */
int64_t rt_param_layer(const struct rt_plan *plan, const struct rt_role *role,
		       const struct rt_param *param, int64_t layer);
/* First byte of a layer of a part of a parameter in the arena of a rank as mapped here; NULL: that
 * rank does not hold it. */
void *rt_param_at(struct rt *rt, int rank, const struct rt_param *param, enum rt_part part,
		  int64_t layer);

/* Number of elements of one layer of a parameter's block (padding included). */
int64_t rt_param_elements(const struct rt_param *param);

/* Number of elements of one copy of a part of the parameter in the memory of a rank with a role:
 * those of the block, or of a slice of it. */
int64_t rt_param_held(const struct rt_plan *plan, const struct rt_role *role,
		      const struct rt_param *param, enum rt_part part);

/* Index of a rank among those that have slices of a weight; 0: whole. */
int64_t rt_weight_member(const struct rt_plan *plan, const struct rt_param *param, int rank);

/* Element `index` of the block of `rank`: in its arena, or NULL if it has another slice; `any`: in
 * that of the member that has it; NULL too if the rank lacks the layer. */
void *rt_param_element(struct rt *rt, const struct rt_param *param, enum rt_part part,
		       int64_t layer, int64_t index, int rank, bool any);

/* *at: element `index` of the whole [padded_rows, columns] in the arena of its owner; how many
 * elements follow each other there, itself included. */
int64_t rt_param_run(struct rt *rt, const struct rt_param *param, enum rt_part part, int64_t layer,
		     int64_t index, unsigned char **at);

/* Whether any rank holds less than all parameters, whole; than its block of a weight, so that a
 * forward pass talks. */
bool rt_params_cut(const struct rt_plan *plan);
bool rt_weights_sliced(const struct rt_plan *plan);

/* That blocks tile their parameters, and that the data group has the data ranks. */
int rt_params_check(const struct rt_plan *plan);

#endif
