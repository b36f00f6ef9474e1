/* SPDX-License-Identifier: Apache-2.0 */
/* How one tensor is split over the mesh: for each factor whole, cut along a dim, or partial (each
 * rank holds a term of the sum, or of the maximum). A cut of `tokens` cuts the rows of a
 * micro-batch. */
#ifndef PART_SPREAD_H
#define PART_SPREAD_H

#include "graph/graph.h"
#include "part/factor.h"

enum spread_kind { SPREAD_WHOLE, SPREAD_CUT, SPREAD_PARTIAL, SPREAD_PARTIAL_MAX };

struct cut {
	uint8_t kind; /* enum spread_kind */
	uint8_t dim;  /* SPREAD_CUT: index into model->dims */
};

struct spread {
	struct cut at[FACTOR_MAX]; /* by factor */
};

extern const struct cut cut_whole, cut_partial, cut_maximum;
struct cut cut_along(uint32_t dim);
bool cut_same(struct cut a, struct cut b);
bool spread_same(const struct spread *a, const struct spread *b, uint32_t factors);

/* The spread in which a tensor is kept between segments and read by operators that do not care:
 * the first dim of the factor's list that the tensor has, else `tokens` with sequence, else whole.
 * Weights follow the rules of the plan. Data factors cut `batch`, which is that of a micro-batch
 * already. */
struct spread spread_wanted(const struct graph *graph, const struct factors *factors,
			    struct tensor_id t);

/* Factors on which the spread is of this kind, bit i = factor i. */
uint32_t spread_mask(const struct spread *spread, enum spread_kind kind);
/* Factors that cut `dim` into smaller local sizes. */
uint32_t spread_cuts(const struct spread *spread, const struct factors *factors, uint32_t dim);

#endif
