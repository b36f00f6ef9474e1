/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives between two spreads of a tensor, and the groups they run in. */
#include "part/lower.h"

#include "base/bug.h"

uint32_t pipeline_factors(const struct lower *l)
{
	uint32_t mask = 0;
	for (uint32_t f = 0; f < l->flow->factors.n; f++)
		if (l->flow->factors.at[f].pipeline && l->flow->factors.at[f].size > 1)
			mask |= 1u << f;
	return mask;
}

uint32_t group_of(struct lower *l, uint32_t factors)
{
	char *name = NULL;
	for (uint32_t i = 0; i < l->groups.n; i++)
		if (l->groups.at[i].factors == factors)
			return i;
	for (uint32_t i = 0; i < l->flow->factors.n; i++) {
		const char *factor = l->flow->factors.at[i].name->text;
		if (factors >> i & 1)
			name = name ? arena_text(l->work->keep, "%s_%s", name, factor)
				    : arena_text(l->work->keep, "%s", factor);
	}
	if (!name)
		name = arena_text(l->work->keep, "%s", "alone");
	struct group group = {name_of(l->work->names, name), factors,
			      factors_ranks(&l->flow->factors, factors)};
	vec_push(l->work->keep, &l->groups, group);
	return l->groups.n - 1;
}

static struct step *collective(struct lower *l, const struct graph_node *node,
			       enum collective kind, struct tensor_id counted)
{
	const struct tensor *x = &l->graph->tensors[counted.at];
	struct step *step = step_new(l, RT_ROWS, x->type, size_in(l, counted, x->dims));
	step->kind = STEP_COLLECTIVE;
	step->collective = kind;
	step->group = group_of(l, node->factors);
	return step;
}

void lower_all_reduce(struct lower *l, const struct graph_node *node)
{
	step_write(l, collective(l, node, COLLECTIVE_ALL_REDUCE, node->out[0]), node->out[0]);
}

void lower_all_reduce_max(struct lower *l, const struct graph_node *node)
{
	step_write(l, collective(l, node, COLLECTIVE_MAX, node->out[0]), node->out[0]);
}

static void blocks(struct lower *l, const struct graph_node *node, enum collective kind,
		   struct tensor_id cut)
{
	struct dims dims = l->graph->tensors[cut.at].dims;
	uint32_t at = 0;
	struct step *step = collective(l, node, kind, cut);
	step_read(l, step, node->in[0]);
	step_write(l, step, node->out[0]);
	while (at < dims.n && dims.at[at] != node->from.at[0])
		at++;
	BUG_IF(at == dims.n, "a collective over a dim that its tensor lacks");
	bool rows = dims.at[at] == l->model->tokens;
	if (rows)
		at = 0;
	step_size(step, at ? size_in(l, cut, dims_head(dims, at)) : size_number(1));
	step_size(step, size_in(l, cut, dims_tail(dims, dims.n - at)));
}

static void convert(struct lower *l, const struct graph_node *node, enum rt_row row)
{
	const struct tensor *x = &l->graph->tensors[node->out[0].at];
	struct step *step = step_new(l, row, RT_BF16, size_in(l, node->out[0], x->dims));
	step_operands(l, step, node);
}

void lower_narrow(struct lower *l, const struct graph_node *node)
{
	convert(l, node, RT_ROW_narrow);
}

void lower_widen(struct lower *l, const struct graph_node *node)
{
	convert(l, node, RT_ROW_widen);
}

void lower_reduce_scatter(struct lower *l, const struct graph_node *node)
{
	blocks(l, node, COLLECTIVE_REDUCE_SCATTER, node->out[0]);
}

void lower_all_gather(struct lower *l, const struct graph_node *node)
{
	blocks(l, node, COLLECTIVE_ALL_GATHER, node->in[0]);
}

void lower_slice(struct lower *l, const struct graph_node *node)
{
	blocks(l, node, COLLECTIVE_SLICE, node->out[0]);
}
