/* SPDX-License-Identifier: Apache-2.0 */
/* Spreads: for every tensor and axis whole, cut or partial, from named dims alone. */
#include "part/spread.h"

static bool has_dim(struct dims dims, uint32_t dim)
{
	for (uint32_t i = 0; i < dims.n; i++)
		if (dims.at[i] == dim)
			return true;
	return false;
}

static void cut_axis(struct spread *spread, const struct tensor *tensor, const struct model *model,
		     uint32_t axis)
{
	if (has_dim(tensor->dims, model->batch)) {
		spread->kind[axis] = SPREAD_CUT;
		spread->dim[axis] = (uint8_t)model->batch;
	} else if (tensor->role == ROLE_GRADIENT) {
		spread->kind[axis] = SPREAD_PARTIAL;
	}
}

struct spread spread_of(const struct graph *graph, struct tensor_id t)
{
	struct spread spread = {0};
	const struct plan *plan = graph->plan;
	const struct strategy *data = plan_strategy(plan, STRATEGY_DATA);
	for (uint32_t i = 0; data && i < data->naxes; i++)
		cut_axis(&spread, &graph->tensors[t.at], graph->model, data->axes[i]);
	return spread;
}

uint32_t spread_partial(const struct spread *spread)
{
	uint32_t axes = 0;
	for (uint32_t i = 0; i < AXIS_MAX; i++)
		if (spread->kind[i] == SPREAD_PARTIAL)
			axes |= 1u << i;
	return axes;
}
