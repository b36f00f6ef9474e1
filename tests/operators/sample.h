/* SPDX-License-Identifier: Apache-2.0 */
/* Weights and batches for interpreted programs, drawn from a seed. */
#ifndef OPERATORS_SAMPLE_H
#define OPERATORS_SAMPLE_H

#include "interpret.h"

/* Reproducible: in [0, 1). */
double sample_uniform(uint64_t *state);

/* True if element `i` of a tensor of these dims lies behind the logical size of one of them. */
bool sample_padding(const struct graph *graph, struct dims dims, uint64_t i);

/* Weights of every layer: near 1 where they start at 1, else in [-0.7, 0.7]; padding is 0. */
void sample_weights(struct interpret *in, uint64_t seed);

/* Tokens and targets of a step, a quarter of the targets not counted; owned by the caller. */
struct sample_batch {
	int32_t *tokens, *targets;
	int64_t n, counted;
};
struct sample_batch sample_batch(const struct plan *plan, uint64_t seed);
void sample_free(struct sample_batch *batch);

/* The parts of a parameter's name for messages: "layer.up.weight, layer 1". */
struct sample_param {
	const struct param *param;
	const struct param_buffers *buffers;
	struct dims dims;
	uint64_t elements, layers;
};
struct sample_param sample_param(const struct interpret *in, uint32_t param);

#endif
