/* SPDX-License-Identifier: Apache-2.0 */
/* ZeRO: state of the optimizer, gradients and weights in slices over the ranks of a factor. A slice
 * is a run of elements of the flat tensor, a multiple of 64, whatever the tensor's shape; all are
 * of equal size, so the last ones may end in padding. Stage 1 cuts all layers of a parameter as one
 * tensor; from gradients on every layer is cut alone, for a layer at a time is gathered and
 * reduced. */
#include "part/lower.h"

#include "base/bug.h"
#include "base/num.h"

uint32_t zero_factors(const struct lower *l)
{
	const struct strategy *zero = plan_strategy(l->plan, STRATEGY_ZERO);
	uint32_t mask = 0;
	for (uint32_t f = 0; zero && f < l->flow->factors.n; f++)
		for (uint32_t i = 0; i < zero->naxes; i++)
			if (l->flow->factors.at[f].axis == zero->axes[i])
				mask |= 1u << f;
	return mask;
}

static uint64_t zero_ranks(const struct lower *l)
{
	return factors_ranks(&l->flow->factors, zero_factors(l));
}

int64_t zero_stage(const struct lower *l)
{
	const struct strategy *zero = plan_strategy(l->plan, STRATEGY_ZERO);
	return zero && zero_ranks(l) > 1 ? zero->stage : 0;
}

bool zero_reduces_each(const struct lower *l)
{
	return name_is(l->plan->data.reduce.word, "micro_batch") && l->plan->data_ranks > 1;
}

bool zero_cuts_gradients(const struct lower *l)
{
	return zero_stage(l) >= 2 && zero_reduces_each(l);
}

static bool gathers_once(const struct lower *l)
{
	return name_is(l->plan->zero.gather.word, "step");
}

void zero_slice(struct lower *l, uint32_t param)
{
	struct param_buffers *out = &l->program->params[param];
	const struct param *p = &l->graph->params[param];
	uint64_t ranks = zero_ranks(l);
	out->window = NO_ID;
	if (ranks <= 1)
		return;
	out->flat = zero_factors(l);
	group_of(l, out->flat);
	out->layered = zero_stage(l) == 3 || zero_cuts_gradients(l) || rounds_by_chance(l);
	struct num all =
		num_from((uint64_t)size_in(l, p->weight, dims_join(p->rows, p->columns)).value);
	if (!out->layered && param_layered(l, param))
		all = num_times(num_round_up(all, 64), param_layers(l, param));
	uint64_t even = all.value / ranks + (all.value % ranks != 0);
	struct num shard = num_round_up(num_from(even), 64);
	l->overflow |= all.overflow || shard.overflow;
	out->shard = shard.value;
}

uint64_t zero_flat(const struct lower *l, uint32_t param)
{
	struct num all = num_times(num_from(l->program->params[param].shard), zero_ranks(l));
	return all.overflow ? UINT64_MAX : all.value;
}

/* A buffer for one layer, or more, of a parameter as the kernels want it. */
static struct buffer whole_layer(struct lower *l, uint32_t param, const char *name, enum item item,
				 const char *part, enum rt_type type, enum life life)
{
	const struct param *p = &l->graph->params[param];
	struct dims dims = dims_join(p->rows, p->columns);
	struct buffer b = buffer_new(l, name, item, type, life, dims);
	b.elements = (uint64_t)size_in(l, p->weight, dims).value;
	if (l->program->params[param].layered)
		b.elements = zero_flat(l, param);
	b.spread = l->flow->spreads[p->weight.at];
	b.param = param;
	b.part = part;
	b.from = NO_ID;
	return b;
}

static struct buffer window(struct lower *l, uint32_t param, const char *name, enum life life)
{
	enum rt_type type = l->buffers.at[l->program->params[param].weight].type;
	return whole_layer(l, param, name, ITEM_COMM, "gathered", type, life);
}

void zero_window(struct lower *l, uint32_t param)
{
	const struct param *p = &l->graph->params[param];
	struct param_buffers *out = &l->program->params[param];
	bool repeat = p->region == REGION_REPEAT;
	if (!out->flat || zero_stage(l) < 3 || (!gathers_once(l) && !repeat))
		return;
	uint64_t ahead = (uint64_t)l->plan->zero.prefetch.i + 1;
	const char *name = arena_text(l->work->keep, "%s_gathered", p->name->text);
	struct buffer b = window(l, param, name, gathers_once(l) ? LIFE_STEP : LIFE_TURN);
	uint64_t layers = param_layers(l, param);
	b.layers = gathers_once(l) || ahead > layers ? layers : ahead;
	out->window = buffer_add(l, b);
}

/* From now on nodes find the tensor there. */
static void move_site(struct lower *l, struct tensor_id t, uint32_t buffer)
{
	for (uint32_t i = 0; i < l->graph->ntensors; i++)
		if (l->storage[i] == t.at)
			l->sites[i] = (struct site){buffer, 0};
}

static bool is_read(const struct graph *g, bool backward, enum region region, struct tensor_id t)
{
	uint32_t first = g->first[backward][region], count = g->count[backward][region];
	for (uint32_t i = first; i < first + count; i++)
		for (uint32_t k = 0; k < g->nodes[i].nin; k++)
			if (g->nodes[i].in[k].at == t.at)
				return true;
	return false;
}

static bool is_written(const struct graph *g, enum region region, struct tensor_id t)
{
	uint32_t first = g->first[true][region], count = g->count[true][region];
	for (uint32_t i = first; i < first + count; i++)
		for (uint32_t k = 0; k < g->nodes[i].nout; k++)
			if (g->nodes[i].out[k].at == t.at)
				return true;
	return false;
}

static struct step *collective(struct lower *l, enum collective kind, uint32_t buffer,
			       struct size rows, uint32_t factors, uint32_t flags)
{
	uint32_t group = group_of(l, factors);
	struct step *step = step_new(l, RT_ROWS, l->buffers.at[buffer].type, rows);
	step->kind = STEP_COLLECTIVE;
	step->collective = kind;
	step->group = group;
	step->flags = flags;
	return step;
}

static const char *const regions[REGIONS] = {"embed", "layer", "head"};

/* A window of one segment: where the weight is read in several, each has its own. */
static uint32_t segment_window(struct lower *l, uint32_t param, bool backward, enum region region)
{
	const char *name =
		arena_text(l->work->keep, "%s_gathered_%s_%s", l->graph->params[param].name->text,
			   regions[region], backward ? "backward" : "forward");
	return buffer_add(l, window(l, param, name, LIFE_SEGMENT));
}

static void gather(struct lower *l, uint32_t param, bool backward, enum region region)
{
	const struct param_buffers *p = &l->program->params[param];
	uint32_t to = p->window;
	if (to == NO_ID)
		to = segment_window(l, param, backward, region);
	move_site(l, l->graph->params[param].weight, to);
	if (backward && gathers_once(l))
		return;
	struct size rows = size_number((int64_t)p->shard);
	struct step *step =
		collective(l, COLLECTIVE_ALL_GATHER, p->weight, rows, p->flat, STEP_SHARD);
	step->first_only = gathers_once(l);
	step_use(l, step, p->weight, false);
	step_use(l, step, to, true);
	step_size(step, size_number(1));
	step_size(step, rows);
}

/* Rows of a bucket: with the padding of its slices, or as the kernels have it. */
static struct size bucket_rows(struct lower *l, uint32_t param, uint32_t *flags)
{
	const struct param *p = &l->graph->params[param];
	*flags = l->program->params[param].layered ? STEP_FLAT : 0;
	if (*flags)
		return size_number((int64_t)zero_flat(l, param));
	return size_in(l, p->weight, dims_join(p->rows, p->columns));
}

static void clear_bucket(struct lower *l, uint32_t param, struct tensor_id gradient)
{
	enum rt_type type = l->program->gradients;
	uint32_t flags;
	const char *name =
		arena_text(l->work->keep, "%s_bucket", l->graph->tensors[gradient.at].name->text);
	struct size rows = bucket_rows(l, param, &flags);
	uint32_t bucket = buffer_add(
		l, whole_layer(l, param, name, ITEM_GRADIENTS, "bucket", type, LIFE_SEGMENT));
	move_site(l, gradient, bucket);
	struct step *step = step_new(l, RT_ROW_clear, type, rows);
	step->flags = flags;
	step_use(l, step, bucket, true);
}

static void sum_bucket(struct lower *l, uint32_t param, uint32_t bucket, uint32_t factors)
{
	uint32_t flags;
	struct size rows = bucket_rows(l, param, &flags);
	if (factors_ranks(&l->flow->factors, factors) <= 1)
		return;
	step_use(l, collective(l, COLLECTIVE_ALL_REDUCE, bucket, rows, factors, flags), bucket,
		 true);
}

/* The bucket, or a copy of it in the type of the wire. */
static uint32_t bucket_sent(struct lower *l, uint32_t param, uint32_t bucket, uint32_t factors)
{
	uint32_t flags;
	struct size rows = bucket_rows(l, param, &flags);
	if (!wire_differs(l, factors))
		return bucket;
	uint32_t sent = wire_staging(l, bucket, true);
	struct step *step = step_new(l, wire_row(l->program->gradient_wire), RT_BF16, rows);
	step->flags = flags;
	step_use(l, step, bucket, false);
	step_use(l, step, sent, true);
	return sent;
}

/* Rows of a sum, of the bucket or of this rank's slice of it, in the type of gradients. */
static void bucket_back(struct lower *l, uint32_t sent, uint32_t bucket, struct size rows,
			uint32_t flags)
{
	if (sent == bucket)
		return;
	struct step *step = step_new(l, wire_row(l->program->gradients), RT_BF16, rows);
	step->flags = flags;
	step_use(l, step, sent, false);
	step_use(l, step, bucket, true);
	step->uses[0].shard = step->uses[1].shard = (flags & STEP_SHARD) != 0;
}

/* Over the ranks that have slices, or all data ranks. Replicas of the slices and tensor ranks wait
 * for the end of the step. */
static void reduce_bucket(struct lower *l, uint32_t param, uint32_t site)
{
	const struct param_buffers *p = &l->program->params[param];
	struct tensor_id gradient = l->graph->params[param].gradient[site];
	uint32_t bucket = l->sites[gradient.at].buffer, flags;
	uint32_t partial = flow_partial(l->flow, gradient), data = factors_where(l, true);
	bool cuts = p->flat && zero_cuts_gradients(l);
	uint32_t sent = bucket_sent(l, param, bucket, cuts ? p->flat : partial & data);
	struct size rows = bucket_rows(l, param, &flags);
	if (cuts) {
		rows = size_number((int64_t)p->shard);
		flags = STEP_SHARD;
		struct step *step =
			collective(l, COLLECTIVE_REDUCE_SCATTER, sent, rows, p->flat, flags);
		step_use(l, step, sent, false);
		step_use(l, step, sent, true);
		step->uses[1].shard = true;
	} else {
		sum_bucket(l, param, sent, partial & data);
	}
	bucket_back(l, sent, bucket, rows, flags);
	struct step *step = step_new(l, RT_ROW_accumulate, l->program->gradients, rows);
	step->flags = flags;
	step_use(l, step, bucket, false);
	step->uses[0].shard = cuts;
	step_use(l, step, p->gradient[site], true);
}

void zero_open(struct lower *l, bool backward, enum region region)
{
	const struct graph *g = l->graph;
	l->node = NO_ID;
	for (uint32_t i = 0; i < g->nparams; i++) {
		l->span = g->params[i].span;
		if (l->program->params[i].flat && zero_stage(l) == 3 &&
		    is_read(g, backward, region, g->params[i].weight))
			gather(l, i, backward, region);
	}
	for (uint32_t i = 0; backward && zero_reduces_each(l) && i < g->nparams; i++) {
		l->span = g->params[i].span;
		for (uint32_t k = 0; k < g->params[i].sites; k++)
			if (is_written(g, region, g->params[i].gradient[k]))
				clear_bucket(l, i, g->params[i].gradient[k]);
	}
}

void zero_close(struct lower *l, enum region region)
{
	const struct graph *g = l->graph;
	l->node = NO_ID;
	for (uint32_t i = 0; zero_reduces_each(l) && i < g->nparams; i++) {
		l->span = g->params[i].span;
		for (uint32_t k = 0; k < g->params[i].sites; k++)
			if (is_written(g, region, g->params[i].gradient[k]))
				reduce_bucket(l, i, k);
	}
}
