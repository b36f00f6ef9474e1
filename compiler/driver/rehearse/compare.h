/* SPDX-License-Identifier: Apache-2.0 */
/* How far two trainings are apart: logs, gradients of the first step, weights at the end. Functions
 * that read files give NULL, or what is wrong with one. `planc rehearse` and the tests use them. */
#ifndef REHEARSE_COMPARE_H
#define REHEARSE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct logged_step {
	double loss, norm; /* NaN: no number */
};

struct rank_bytes {
	int64_t predicted, resident; /* of the arena */
};

/* What a program wrote with --log. */
struct run_log {
	struct logged_step *steps;
	uint32_t nsteps;
	struct rank_bytes *ranks; /* by rank, after the first step */
	uint32_t nranks;
};

const char *log_read(const char *path, struct run_log *out, struct arena *arena);

/* Relative differences; NaN if one of the two is. */
struct log_difference {
	double loss, norm;
	uint32_t loss_step, norm_step; /* where they are worst, from 1 */
};

/* Assumes: `got` has one step at least and no more than `want`. */
struct log_difference log_compare(const struct run_log *want, const struct run_log *got);

struct tensor_difference {
	const char *name;
	double off;
};

/* A gradient relative to max(its norm, 1e-3 of the whole gradient's norm), since some are zero in
 * exact arithmetic. Weights as one vector, relative to its norm. */
struct tensors_difference {
	struct tensor_difference *all; /* in the order of names */
	uint32_t n, worst;
	double whole;
};

/* Safetensors of F32 and F64, which hold tensors of the same names and shapes; names may carry or
 * lack `transformer.`. */
const char *tensors_compare(const char *want, const char *got, struct tensors_difference *out,
			    struct arena *arena);

/* Whether `off` is within the bound; NaN is not. */
bool compare_within(double off, double bound);

#endif
