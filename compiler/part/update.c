/* SPDX-License-Identifier: Apache-2.0 */
/* What happens once a step: clearing, merging lanes, reducing gradients, the norm, the optimizer. Each
 * statement covers all copies of a layer at once: padding between copies is zero and stays zero. */
#include "part/lower.h"

#include "base/bug.h"

/* Elements of all layers of a buffer, padding between copies included. */
static struct size whole(const struct lower *l, uint32_t buffer)
{
	const struct buffer *b = &l->buffers.at[buffer];
	struct size size = size_of((struct lower *)l, b->dims, 1);
	uint64_t elements = (b->elements + 63) / 64 * 64;
	size.value = b->layers > 1 ? (int64_t)(elements * b->layers) : (int64_t)b->elements;
	return size;
}

static struct step *whole_step(struct lower *l, enum rt_row row, uint32_t buffer)
{
	enum rt_type type = l->buffers.at[buffer].type;
	l->node = NO_ID;
	l->span = l->buffers.at[buffer].span;
	struct step *step = step_new(l, row, type, whole(l, buffer));
	step->flags = STEP_WHOLE;
	return step;
}

static void clear(struct lower *l, uint32_t buffer)
{
	step_use(l, whole_step(l, RT_ROW_clear, buffer), buffer, true);
}

/* Group of the ranks that hold terms of this gradient; NO_ID if one rank holds the sum. */
static uint32_t reducing_group(struct lower *l, struct tensor_id gradient)
{
	struct spread spread = spread_of(l->graph, gradient);
	uint32_t axes = spread_partial(&spread);
	for (uint32_t i = 0; i < l->program->ngroups; i++)
		if (axes && l->program->groups[i].axes == axes)
			return l->program->groups[i].ranks > 1 ? i : NO_ID;
	return NO_ID;
}

static void all_reduce(struct lower *l, uint32_t buffer, uint32_t group)
{
	struct step *step = whole_step(l, RT_ROWS, buffer);
	step->kind = STEP_COLLECTIVE;
	step->collective = COLLECTIVE_ALL_REDUCE;
	step->group = group;
	step_use(l, step, buffer, true);
}

/* to += from: in this order, so that sites and lanes are added as numerics say. */
static void accumulate(struct lower *l, uint32_t from, uint32_t to, int8_t level_plus)
{
	struct step *step = whole_step(l, RT_ROW_accumulate, to);
	step_use(l, step, from, false);
	step_use(l, step, to, true);
	step->uses[0].level_plus = level_plus;
}

/* A level that waits is added to the one below and empty again: the next lane starts from zero. */
static void merge(struct lower *l, uint32_t buffer)
{
	accumulate(l, buffer, buffer, 1);
	clear(l, buffer);
	l->steps.at[l->steps.n - 1].uses[0].level_plus = 1;
}

void lower_begin(struct lower *l, struct role *role)
{
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		for (uint32_t k = 0; k < l->graph->params[i].sites; k++)
			clear(l, l->program->params[i].gradient[k]);
	clear(l, l->sums);
	role->begin = body_once(l, segment_end(l, "begin_step", l->plan->span, PHASE_UPDATE,
					       REGION_BEFORE, false));
}

void lower_merge(struct lower *l, struct role *role)
{
	if (l->levels == 1)
		return;
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		for (uint32_t k = 0; k < l->graph->params[i].sites; k++)
			merge(l, l->program->params[i].gradient[k]);
	merge(l, l->sums);
	role->merge = body_once(l, segment_end(l, "merge_lanes", l->plan->train.lanes.span,
					       PHASE_UPDATE, REGION_BEFORE, false));
}

static void reduce_gradients(struct lower *l)
{
	const struct graph *g = l->graph;
	uint32_t group = NO_ID;
	for (uint32_t i = 0; i < g->nparams; i++)
		for (uint32_t k = 0; k < g->params[i].sites; k++) {
			group = reducing_group(l, g->params[i].gradient[k]);
			if (group != NO_ID)
				all_reduce(l, l->program->params[i].gradient[k], group);
		}
	if (group != NO_ID)
		all_reduce(l, l->sums, group);
}

static void join_sites(struct lower *l)
{
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		for (uint32_t k = 1; k < l->graph->params[i].sites; k++)
			accumulate(l, l->program->params[i].gradient[k],
				   l->program->params[i].gradient[0], 0);
}

static void norm(struct lower *l)
{
	clear(l, l->exact);
	for (uint32_t i = 0; i < l->graph->nparams; i++) {
		uint32_t g = l->program->params[i].gradient[0];
		struct step *step = whole_step(l, RT_ROW_square_sum, g);
		step->sizes[step->nsizes++] = step->rows;
		step_use(l, step, g, false);
		step_use(l, step, l->exact, true);
	}
	l->span = l->plan->train.clip.span;
	struct step *step =
		step_new(l, RT_ROW_step_scale, l->program->statistics, size_number(1));
	step_use(l, step, l->exact, false);
	step_use(l, step, l->sums, false);
	step_use(l, step, l->control, true);
	step_scalar(step, l->plan->train.clip.origin == ORIGIN_UNSET ? 0 : l->plan->train.clip.f);
}

static void adamw(struct lower *l, uint32_t param)
{
	const struct param_buffers *p = &l->program->params[param];
	const struct plan_optimizer *o = &l->plan->optimizer;
	uint32_t weight = p->master == NO_ID ? p->weight : p->master;
	struct step *step = whole_step(l, RT_ROW_adamw, weight);
	step_use(l, step, p->gradient[0], false);
	step_use(l, step, l->control, false);
	step_use(l, step, weight, true);
	step_use(l, step, p->moment1, true);
	step_use(l, step, p->moment2, true);
	if (p->master != NO_ID)
		step_use(l, step, p->weight, true);
	step_scalar(step, o->beta1.f);
	step_scalar(step, o->beta2.f);
	step_scalar(step, o->eps.f);
	step_scalar(step, l->graph->params[param].decay ? o->weight_decay.f : 0);
}

static struct sweep sweep_once(struct lower *l, uint32_t segment)
{
	struct call *call = ARENA_NEW(l->work->keep, struct call);
	call->segment = segment;
	return (struct sweep){.step = 1, .calls = call, .ncalls = 1};
}

void lower_update(struct lower *l, struct role *role)
{
	struct span data = l->plan->train.optimizer.span;
	struct sweep *sweeps = ARENA_ARRAY(l->work->keep, struct sweep, 3);
	uint32_t n = 0, segment;
	const struct strategy *strategy = plan_strategy(l->plan, STRATEGY_DATA);
	reduce_gradients(l);
	segment = segment_end(l, "reduce_gradients", strategy ? strategy->span : data, PHASE_UPDATE,
			      REGION_BEFORE, false);
	if (segment != NO_ID)
		sweeps[n++] = sweep_once(l, segment);
	join_sites(l);
	norm(l);
	segment = segment_end(l, "measure_norm", l->plan->train.clip.span, PHASE_UPDATE,
			      REGION_BEFORE, false);
	sweeps[n++] = sweep_once(l, segment);
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		adamw(l, i);
	segment = segment_end(l, "update_weights", data, PHASE_UPDATE, REGION_BEFORE, false);
	sweeps[n++] = sweep_once(l, segment);
	role->update = (struct body){sweeps, n};
}
