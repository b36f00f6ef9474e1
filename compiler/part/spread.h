/* SPDX-License-Identifier: Apache-2.0 */
/* How one tensor is split over the mesh: for each axis whole, cut along a dim, partial (each rank
 * holds a term of the sum), or flat (a slice of the buffer, ZeRO storage). */
#ifndef PART_SPREAD_H
#define PART_SPREAD_H

#include "graph/graph.h"

enum spread_kind { SPREAD_WHOLE, SPREAD_CUT, SPREAD_PARTIAL, SPREAD_FLAT };

enum { AXIS_MAX = 16 };

struct spread {
	uint8_t kind[AXIS_MAX];  /* enum spread_kind by axis of the mesh */
	uint8_t dim[AXIS_MAX];   /* SPREAD_CUT: index into model->dims */
};

/* Natural spread of a tensor. `batch` is cut by the axes of `data`; the gradient of a parameter sums
 * over the batch and so is partial over every axis that cuts it. Other strategies are refused before
 * (part.c), so a tensor is whole over every other axis. */
struct spread spread_of(const struct graph *graph, struct tensor_id t);

/* Axes over which a tensor is partial, bit i = axis i: the group that must reduce it. */
uint32_t spread_partial(const struct spread *spread);

#endif
