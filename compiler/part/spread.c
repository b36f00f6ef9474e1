/* SPDX-License-Identifier: Apache-2.0 */
#include "part/spread.h"

#include <string.h>

const struct cut cut_whole = {SPREAD_WHOLE, 0};
const struct cut cut_partial = {SPREAD_PARTIAL, 0};
const struct cut cut_maximum = {SPREAD_PARTIAL_MAX, 0};

struct cut cut_along(uint32_t dim)
{
	return (struct cut){SPREAD_CUT, (uint8_t)dim};
}

bool cut_same(struct cut a, struct cut b)
{
	return a.kind == b.kind && (a.kind != SPREAD_CUT || a.dim == b.dim);
}

bool spread_same(const struct spread *a, const struct spread *b, uint32_t factors)
{
	for (uint32_t i = 0; i < factors; i++)
		if (!cut_same(a->at[i], b->at[i]))
			return false;
	return true;
}

/* A rule of the plan for this parameter and dim on this axis; NULL if there is none. */
static const struct split_rule *rule_for(const struct graph *graph, const struct tensor *tensor,
					 uint32_t dim)
{
	const struct plan *plan = graph->plan;
	if (tensor->param == NO_ID)
		return NULL;
	const char *path = graph->params[tensor->param].path;
	for (uint32_t i = 0; i < plan->nrules; i++) {
		size_t n = strlen(plan->rules[i].param->path);
		if (plan->rules[i].dim == dim && !strncmp(path, plan->rules[i].param->path, n) &&
		    path[n] == '.')
			return &plan->rules[i];
	}
	return NULL;
}

static struct cut tensor_cut_of(const struct graph *graph, const struct factor *factor,
				const struct tensor *tensor)
{
	for (uint32_t i = 0; i < factor->tensor.n; i++) {
		uint32_t dim = factor->tensor.at[i];
		if (!dims_have(&tensor->dims, dim))
			continue;
		const struct split_rule *rule = rule_for(graph, tensor, dim);
		if (rule && rule->axis != factor->axis)
			continue;
		return cut_along(dim);
	}
	return cut_whole;
}

static struct cut wanted_on(const struct graph *graph, const struct factor *factor,
			    const struct tensor *tensor)
{
	const struct model *model = graph->model;
	bool weight = tensor->param != NO_ID;
	bool given = tensor->role == ROLE_GIVEN || tensor->role == ROLE_CONSTANT;
	if (factor->data)
		return dims_have(&tensor->dims, model->batch) ? cut_along(model->batch) : cut_whole;
	if (factor->size == 1 || given)
		return cut_whole;
	struct cut cut = tensor_cut_of(graph, factor, tensor);
	if (cut.kind == SPREAD_WHOLE && factor->sequence && !weight &&
	    dims_have(&tensor->dims, model->batch) && dims_have(&tensor->dims, model->tokens))
		cut = cut_along(model->tokens);
	return cut;
}

/* Rows are cut by a whole axis or not at all: where one factor of an axis cuts another dim, the
 * others leave the rows alone, so blocks of rows stay in order. */
static void keep_axes_together(const struct factors *factors, struct spread *spread,
			       uint32_t tokens)
{
	for (uint32_t i = 0; i < factors->n; i++)
		for (uint32_t k = 0; k < factors->n; k++)
			if (factors->at[i].axis == factors->at[k].axis &&
			    cut_same(spread->at[i], cut_along(tokens)) &&
			    !cut_same(spread->at[k], cut_along(tokens)) && factors->at[k].size > 1)
				spread->at[i] = cut_whole;
}

struct spread spread_wanted(const struct graph *graph, const struct factors *factors,
			    struct tensor_id t)
{
	struct spread spread = {0};
	for (uint32_t i = 0; i < factors->n; i++)
		spread.at[i] = wanted_on(graph, &factors->at[i], &graph->tensors[t.at]);
	keep_axes_together(factors, &spread, graph->model->tokens);
	return spread;
}

uint32_t spread_mask(const struct spread *spread, enum spread_kind kind)
{
	uint32_t mask = 0;
	for (uint32_t i = 0; i < FACTOR_MAX; i++)
		if (spread->at[i].kind == kind)
			mask |= 1u << i;
	return mask;
}

uint32_t spread_cuts(const struct spread *spread, const struct factors *factors, uint32_t dim)
{
	uint32_t mask = 0;
	for (uint32_t i = 0; i < factors->n; i++)
		if (!factors->at[i].data && spread->at[i].kind == SPREAD_CUT &&
		    spread->at[i].dim == dim)
			mask |= 1u << i;
	return mask;
}
