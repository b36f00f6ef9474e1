/* SPDX-License-Identifier: Apache-2.0 */
/* What happens once a step: clearing, merging lanes, reducing gradients, the norm, the optimizer.
 * Each statement covers all copies of a layer at once: padding between copies is zero and stays
 * zero. */
#include "part/lower.h"

#include "base/bug.h"

/* Elements of all layers of a buffer, padding between copies included. */
static struct size whole(const struct lower *l, uint32_t buffer)
{
	const struct buffer *b = &l->buffers.at[buffer];
	struct size size = size_of((struct lower *)l, b->dims, 1);
	uint64_t elements = (b->elements + 63) / 64 * 64;
	bool layered = b->layers > 1 || (b->param != NO_ID && param_layered(l, b->param));
	size.value = layered ? (int64_t)(elements * b->layers) : (int64_t)b->elements;
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

static void all_reduce(struct lower *l, uint32_t buffer, uint32_t factors)
{
	if (factors_ranks(&l->flow->factors, factors) <= 1)
		return;
	uint32_t group = group_of(l, factors);
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
static void merge(struct lower *l, uint32_t buffer, uint32_t flags)
{
	accumulate(l, buffer, buffer, 1);
	l->steps.at[l->steps.n - 1].flags |= flags;
	clear(l, buffer);
	l->steps.at[l->steps.n - 1].flags |= flags;
	l->steps.at[l->steps.n - 1].uses[0].level_plus = 1;
}

bool sums_here(const struct lower *l, uint32_t param, uint32_t site)
{
	return l->here[param] && l->has[l->stages->sites[param][site]];
}

void lower_begin(struct lower *l, struct role *role)
{
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		for (uint32_t k = 0; k < l->graph->params[i].sites; k++)
			if (sums_here(l, i, k))
				clear(l, l->program->params[i].gradient[k]);
	clear(l, l->sums);
	role->begin = body_once(l, segment_end(l, "begin_step", l->plan->span, PHASE_UPDATE,
					       REGION_BEFORE, false));
}

/* Lanes of what stands in `region`; of the layers, those that a turn has been through: chunks are
 * at other lanes. */
static void merge_region(struct lower *l, enum region region)
{
	uint32_t flags = region == REGION_REPEAT && l->stages->n > 1 ? STEP_CHUNK : 0;
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		for (uint32_t k = 0; k < l->graph->params[i].sites; k++)
			if (sums_here(l, i, k) && l->stages->sites[i][k] == region)
				merge(l, l->program->params[i].gradient[k], flags);
}

void lower_merge(struct lower *l, struct role *role)
{
	static const char *const names[REGIONS] = {"merge_embed_lanes", "merge_layer_lanes",
						   "merge_head_lanes"};
	static const enum chunk_when whens[REGIONS] = {FIRST_CHUNK, EVERY_CHUNK, LAST_CHUNK};
	struct span span = l->plan->train.lanes.span;
	if (l->levels == 1)
		return;
	merge(l, l->sums, 0);
	body_sweep(l, &role->merge_sums, "merge_sums", span, PHASE_UPDATE, false);
	for (enum region region = 0; region < REGIONS; region++) {
		uint32_t at = role->merge.nsweeps;
		merge_region(l, region);
		body_sweep(l, &role->merge, names[region], span, PHASE_UPDATE, false);
		if (role->merge.nsweeps > at)
			((struct sweep *)role->merge.sweeps)[at].when = whens[region];
	}
}

uint32_t factors_where(const struct lower *l, bool data)
{
	uint32_t mask = 0;
	for (uint32_t f = 0; f < l->flow->factors.n; f++)
		if (l->flow->factors.at[f].data == data && l->flow->factors.at[f].size > 1)
			mask |= 1u << f;
	return mask;
}

/* A statement on this rank's slice of a parameter's buffers. */
static struct step *shard_step(struct lower *l, enum rt_row row, uint32_t param, uint32_t buffer)
{
	struct step *step = whole_step(l, row, buffer);
	uint64_t shard = l->program->params[param].shard;
	if (shard) {
		step->flags |= STEP_SHARD;
		step->rows = size_number((int64_t)shard);
	}
	return step;
}

/* A buffer that has all slices: this rank's. */
static void use_shard(struct lower *l, struct step *step, uint32_t param, uint32_t buffer,
		      bool write)
{
	bool whole = l->buffers.at[buffer].flat == 0;
	step_use(l, step, buffer, write);
	step->uses[step->nuses - 1].shard = whole && l->program->params[param].shard != 0;
}

/* Statements on this parameter's slices go layer by layer. */
static bool by_layer(const struct lower *l, uint32_t param)
{
	return l->program->params[param].layered && l->graph->params[param].layers > 1;
}

static bool any_by_layer(const struct lower *l)
{
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		if (by_layer(l, i))
			return true;
	return false;
}

/* Each rank of the slices' group gets the sum of its slice, in place. */
static void reduce_to_shards(struct lower *l, uint32_t param, uint32_t buffer)
{
	const struct param_buffers *p = &l->program->params[param];
	struct step *step = shard_step(l, RT_ROWS, param, buffer);
	step->kind = STEP_COLLECTIVE;
	step->collective = COLLECTIVE_REDUCE_SCATTER;
	step->group = group_of(l, p->flat);
	step_use(l, step, buffer, false);
	use_shard(l, step, param, buffer, true);
}

/* What is left to sum after the slices are: over replicas of the slices, over tensor ranks. */
static void reduce_shards(struct lower *l, uint32_t param, uint32_t buffer, uint32_t factors)
{
	if (factors_ranks(&l->flow->factors, factors) <= 1)
		return;
	struct step *step = shard_step(l, RT_ROWS, param, buffer);
	step->kind = STEP_COLLECTIVE;
	step->collective = COLLECTIVE_ALL_REDUCE;
	step->group = group_of(l, factors);
	use_shard(l, step, param, buffer, true);
}

/* Rows of one type as rows of another: all of a gradient, what fills the last slice included, or
 * this rank's slice. */
static void convert(struct lower *l, uint32_t param, uint32_t from, uint32_t to, bool slice)
{
	enum rt_row row = wire_row(l->buffers.at[to].type);
	struct step *step = slice ? shard_step(l, row, param, from) : whole_step(l, row, from);
	step->type = RT_BF16;
	if (!slice && l->program->params[param].flat) {
		step->flags = STEP_FLAT;
		step->rows = size_number((int64_t)zero_flat(l, param));
	}
	if (slice) {
		use_shard(l, step, param, from, false);
		use_shard(l, step, param, to, true);
	} else {
		step_use(l, step, from, false);
		step_use(l, step, to, true);
	}
}

/* The gradient, or a copy of it in the type of the wire. */
static uint32_t gradient_sent(struct lower *l, uint32_t param, uint32_t buffer, uint32_t factors)
{
	if (!wire_differs(l, factors))
		return buffer;
	uint32_t sent = wire_staging(l, buffer, by_layer(l, param));
	convert(l, param, buffer, sent, l->buffers.at[buffer].flat != 0);
	return sent;
}

/* The sum of all that was sent is what the gradient holds. */
static void gradient_back(struct lower *l, uint32_t param, uint32_t sent, uint32_t buffer)
{
	if (sent != buffer)
		convert(l, param, sent, buffer, l->program->params[param].flat != 0);
}

/* Data ranks first, as lanes of one rank are added first, then those that split the tensors: the
 * same bits for any number of data ranks, with slices or without. Buckets are summed over the ranks
 * of slices already, or over all data ranks where nothing of a gradient is cut. */
static void reduce_gradient(struct lower *l, uint32_t param, uint32_t site, bool layer)
{
	const struct param_buffers *p = &l->program->params[param];
	uint32_t buffer = p->gradient[site], data = factors_where(l, true);
	uint32_t partial = flow_partial(l->flow, l->graph->params[param].gradient[site]);
	uint32_t slices = zero_reduces_each(l) ? 0 : p->flat, rest = partial & data & ~p->flat;
	if (layer != by_layer(l, param))
		return;
	if (zero_reduces_each(l) && !(p->flat && zero_cuts_gradients(l)))
		rest = 0;
	uint32_t sent = gradient_sent(l, param, buffer, slices | rest | (partial & ~data));
	if (slices)
		reduce_to_shards(l, param, sent);
	if (p->flat) {
		reduce_shards(l, param, sent, rest);
		reduce_shards(l, param, sent, partial & ~data);
	} else {
		all_reduce(l, sent, rest);
		all_reduce(l, sent, partial & ~data);
	}
	gradient_back(l, param, sent, buffer);
}

/* A tied weight with two homes: each gets the sums of the uses that the other one has. */
static void hand_over(struct lower *l, uint32_t param, uint32_t site)
{
	uint32_t ends = 1u << REGION_BEFORE | 1u << REGION_AFTER;
	uint32_t owner = stage_of_region(l->stages, l->stages->sites[param][site]);
	uint32_t buffer = l->program->params[param].gradient[site];
	if (l->stages->n == 1 || !l->here[param] || (l->stages->regions[param] & ends) != ends)
		return;
	struct step *step = shard_step(l, RT_ROWS, param, buffer);
	step->kind = STEP_COLLECTIVE;
	step->collective = COLLECTIVE_HAND;
	step->group = group_of(l, pipeline_factors(l));
	step->peers[0] = owner;
	step->peers[1] = l->stages->n - 1 - owner;
	use_shard(l, step, param, buffer, true);
}

static void reduce_gradients(struct lower *l, bool layer)
{
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		for (uint32_t k = 0; k < l->graph->params[i].sites; k++)
			if (sums_here(l, i, k))
				reduce_gradient(l, i, k, layer);
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		for (uint32_t k = 0; !layer && k < l->graph->params[i].sites; k++)
			hand_over(l, i, k);
}

static void join_sites(struct lower *l, bool layer)
{
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		for (uint32_t k = 1; l->here[i] && k < l->graph->params[i].sites; k++) {
			const struct param_buffers *p = &l->program->params[i];
			if (by_layer(l, i) != layer)
				continue;
			struct step *step =
				shard_step(l, RT_ROW_accumulate, i, p->gradient[0]);
			use_shard(l, step, i, p->gradient[k], false);
			use_shard(l, step, i, p->gradient[0], true);
		}
}

/* Factors whose ranks hold the same gradient: one of them counts it. Data ranks need no message:
 * each holds the sum and counts it for itself. */
static uint32_t replicated(const struct lower *l, uint32_t param)
{
	struct tensor_id weight = l->graph->params[param].weight;
	const struct spread *spread = &l->flow->spreads[weight.at];
	uint32_t cuts = spread_mask(spread, SPREAD_CUT) | pipeline_factors(l);
	return factors_where(l, false) & ~cuts;
}

static void square_sums(struct lower *l, bool layer)
{
	for (uint32_t i = 0; i < l->graph->nparams; i++) {
		uint32_t g = l->program->params[i].gradient[0];
		if (by_layer(l, i) != layer || !sums_here(l, i, 0))
			continue;
		struct step *step = shard_step(l, RT_ROW_square_sum, i, g);
		step->counted_by = replicated(l, i);
		if (step->counted_by)
			group_of(l, step->counted_by);
		step->sizes[step->nsizes++] = step->rows;
		use_shard(l, step, i, g, false);
		step_use(l, step, l->exact, true);
	}
}

static void scale(struct lower *l)
{
	all_reduce(l, l->exact, factors_where(l, false) | zero_factors(l));
	l->span = l->plan->train.clip.span;
	struct step *step =
		step_new(l, RT_ROW_step_scale, l->program->statistics, size_number(1));
	step_use(l, step, l->exact, false);
	step_use(l, step, l->sums, false);
	step_use(l, step, l->control, true);
	step_scalar(step, l->plan->train.clip.origin == ORIGIN_UNSET ? 0 : l->plan->train.clip.f);
}

bool rounds_by_chance(const struct lower *l)
{
	return l->plan->precision.stochastic_rounding.i != 0;
}

/* The optimizer goes over one layer at a time: each has its own random stream. */
static bool updates_by_layer(const struct lower *l, uint32_t param)
{
	bool several = l->graph->params[param].layers > 1;
	return by_layer(l, param) || (several && rounds_by_chance(l));
}

/* One layer of a parameter, or this rank's slice of it. */
static struct step *layer_step(struct lower *l, enum rt_row row, uint32_t param, uint32_t buffer)
{
	const struct param *p = &l->graph->params[param];
	struct step *step = shard_step(l, row, param, buffer);
	if (l->program->params[param].shard == 0) {
		step->flags = 0;
		step->rows = size_in(l, p->weight, dims_join(p->rows, p->columns));
	}
	return step;
}

/* Where the elements here lie in the whole tensor, as adamw_stochastic wants it: stream, here, all,
 * row, column, slice. A weight is cut in blocks of whole rows, of columns, or of both. */
static void rounding_sizes(struct lower *l, struct step *step, uint32_t param)
{
	const struct param *p = &l->graph->params[param];
	const struct param_buffers *b = &l->program->params[param];
	struct size here = size_in(l, p->weight, dims_join(p->rows, p->columns));
	struct size columns = size_in(l, p->weight, p->columns);
	struct size row = size_in(l, p->weight, p->rows), slice = size_number(0);
	bool cut = size_index(l, columns).index_in != 0;
	row.dims = dims_join(p->rows, p->columns);
	row.value *= (int64_t)graph_elements(l->graph, p->columns, true);
	if (b->flat) {
		slice = size_number((int64_t)b->shard);
		slice.index_in = b->flat;
	}
	step_size(step, size_number(p->stream));
	step_size(step, cut ? columns : here);
	step_size(step, size_of(l, cut ? p->columns : here.dims, 1));
	step_size(step, size_index(l, row));
	step_size(step, size_index(l, columns));
	step_size(step, slice);
	step->stream_by_layer = p->layers > 1;
}

static enum rt_row optimizer_row(const struct lower *l, uint32_t param)
{
	if (l->program->params[param].master != NO_ID)
		return RT_ROW_adamw_master;
	return rounds_by_chance(l) ? RT_ROW_adamw_stochastic : RT_ROW_adamw;
}

static void adamw(struct lower *l, uint32_t param)
{
	const struct param_buffers *p = &l->program->params[param];
	const struct plan_optimizer *o = &l->plan->optimizer;
	enum rt_row row = optimizer_row(l, param);
	struct step *step = row == RT_ROW_adamw_stochastic ? layer_step(l, row, param, p->weight)
							   : shard_step(l, row, param, p->weight);
	use_shard(l, step, param, p->gradient[0], false);
	step_use(l, step, l->control, false);
	use_shard(l, step, param, p->weight, true);
	if (row == RT_ROW_adamw_master)
		step_use(l, step, p->master, true);
	step_use(l, step, p->moment1, true);
	step_use(l, step, p->moment2, true);
	step_scalar(step, o->beta1.f);
	step_scalar(step, o->beta2.f);
	step_scalar(step, o->eps.f);
	step_scalar(step, l->graph->params[param].decay ? o->weight_decay.f : 0);
	if (row == RT_ROW_adamw_stochastic)
		rounding_sizes(l, step, param);
}

void lower_masters(struct lower *l, bool layer)
{
	for (uint32_t i = 0; i < l->graph->nparams; i++) {
		const struct param_buffers *p = &l->program->params[i];
		if (p->master == NO_ID || by_layer(l, i) != layer)
			continue;
		struct step *step = shard_step(l, RT_ROW_widen, i, p->weight);
		use_shard(l, step, i, p->weight, false);
		step_use(l, step, p->master, true);
	}
}

/* Every rank gets the other slices of the new weights, unless it holds none but its own. */
static void gather_weight(struct lower *l, uint32_t param)
{
	const struct param_buffers *p = &l->program->params[param];
	if (p->flat == 0 || l->buffers.at[p->weight].flat)
		return;
	struct step *step = shard_step(l, RT_ROWS, param, p->weight);
	step->kind = STEP_COLLECTIVE;
	step->collective = COLLECTIVE_ALL_GATHER;
	step->group = group_of(l, p->flat);
	use_shard(l, step, param, p->weight, false);
	step_use(l, step, p->weight, true);
	step_size(step, size_number(1));
	step_size(step, step->rows);
}

static void weights(struct lower *l, bool layer)
{
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		if (l->here[i] && updates_by_layer(l, i) == layer)
			adamw(l, i);
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		if (l->here[i] && by_layer(l, i) == layer)
			gather_weight(l, i);
}

enum { MOST_SWEEPS = 8 };

void body_sweep(struct lower *l, struct body *body, const char *name, struct span span,
		enum phase phase, bool layer)
{
	enum region region = layer ? REGION_REPEAT : REGION_BEFORE;
	uint32_t segment = segment_end(l, name, span, phase, region, layer);
	if (segment == NO_ID)
		return;
	if (!body->sweeps)
		body->sweeps = ARENA_ARRAY(l->work->keep, struct sweep, MOST_SWEEPS);
	BUG_IF(body->nsweeps == MOST_SWEEPS, "a body of many segments");
	struct sweep *sweep = (struct sweep *)&body->sweeps[body->nsweeps++];
	struct call *call = ARENA_NEW(l->work->keep, struct call);
	call->segment = segment;
	*sweep = (struct sweep){.count = layer ? l->layers : 0,
				.step = 1,
				.calls = call,
				.ncalls = 1};
}

void lower_update(struct lower *l, struct role *role)
{
	const struct strategy *strategy = plan_strategy(l->plan, STRATEGY_DATA);
	struct span optimizer = l->plan->train.optimizer.span;
	struct span data = strategy ? strategy->span : optimizer, clip = l->plan->train.clip.span;
	struct body *body = &role->update;
	reduce_gradients(l, false);
	all_reduce(l, l->sums, factors_where(l, true));
	all_reduce(l, l->sums, pipeline_factors(l));
	body_sweep(l, body, "reduce_gradients", data, PHASE_UPDATE, false);
	reduce_gradients(l, true);
	body_sweep(l, body, "reduce_layer_gradients", data, PHASE_UPDATE, true);
	join_sites(l, false);
	clear(l, l->exact);
	square_sums(l, false);
	if (any_by_layer(l)) {
		body_sweep(l, body, "measure_gradients", clip, PHASE_UPDATE, false);
		join_sites(l, true);
		square_sums(l, true);
		body_sweep(l, body, "measure_layer_gradients", clip, PHASE_UPDATE, true);
	}
	scale(l);
	body_sweep(l, body, "measure_norm", clip, PHASE_UPDATE, false);
	weights(l, false);
	body_sweep(l, body, "update_weights", optimizer, PHASE_UPDATE, false);
	weights(l, true);
	body_sweep(l, body, "update_layer_weights", optimizer, PHASE_UPDATE, true);
}
