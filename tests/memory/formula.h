/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of each item of the memory table on a rank of one stage, from the numbers of a plan alone:
 * no buffer, no spread, no graph. Written from the design's table: what is kept of a weight, what
 * backward reads of forward, how many micro-batches a schedule keeps alive. */
#ifndef MEMORY_FORMULA_H
#define MEMORY_FORMULA_H

#include "described.h"

/* Bytes of an element. */
struct types {
	const char *name; /* the word after `precision =` */
	uint64_t values, weights, statistics, gradients, optimizer, master; /* master 0: none */
	bool alone; /* weights are rounded by chance: see struct described */
};

enum { ALL_TYPES = 5 };
extern const struct types all_types[ALL_TYPES];

/* Bytes between segments: what lives only inside of one is not in here, `bucket` apart. */
struct bytes {
	uint64_t weights, gradients, optimizer, activations, communication, data;
	uint64_t adjoint; /* of the tensor between blocks: this block's and the next one's */
};

struct bytes formula_stage(const struct described *d, const struct types *types, uint64_t stage);

enum part { BEFORE, LAYER, AFTER };

/* Gradients that one part of the model makes for a micro-batch, before they are reduced into the
 * accumulators; 0 where they are reduced once a step. */
uint64_t formula_bucket(const struct described *d, const struct types *types, enum part part);

/* Logical weights of the whole model, a tied one once, padded vocabulary rows included. */
uint64_t formula_weights(const struct described *d);
/* Weights and state of the optimizer of one rank of `stage`, without the padding of slices: what
 * adds up to the whole model's over the ranks that share it. */
uint64_t formula_owned(const struct described *d, uint64_t stage);

/* The most copies alive at once on a stage: of what a micro-batch keeps in one chunk, from its
 * forward turn to the end of its backward turn; of operands and of gradients that have arrived and
 * wait; of what the head keeps: one, or, where there are ever two, as many as slots. */
struct alive {
	uint64_t slots, operands, gradients, heads;
};
struct alive schedule_alive(uint64_t stages, uint64_t chunks, uint64_t micro_batches, bool gpipe,
			    uint64_t stage);

#endif
