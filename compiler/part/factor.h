/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of the mesh: an axis, or a part of one where a strategy uses its ranks in two ways
 * (copies of key/value heads). An axis of size 1 that no strategy uses is none. Outermost first, in
 * the order of the mesh; ranks are numbered by them. */
#ifndef PART_FACTOR_H
#define PART_FACTOR_H

#include "plan/plan.h"

/* Data, tensor, its copies, sequence, pipeline, context, expert: each has four axes at most. */
enum { FACTOR_MAX = 7 * 4 };

struct factor {
	const struct name *name; /* "tp", "tp_copies" */
	uint32_t axis;           /* of the plan */
	int64_t size;
	bool data, sequence, pipeline;
	struct dims tensor;      /* dims it cuts, first one a tensor has wins; n == 0: none */
	const struct strategy *strategy; /* `tensor`, else `data` or `pipeline`, or NULL */
};

struct factors {
	struct factor at[FACTOR_MAX];
	uint32_t n;
};

struct factors factors_of(const struct plan *plan, struct work *work);

/* Product of the sizes of the factors in `mask` (bit i = factor i). */
uint64_t factors_ranks(const struct factors *factors, uint32_t mask);

#endif
