/* SPDX-License-Identifier: Apache-2.0 */
/* Graph to program: who does what, in what order, who talks. */
#include "part/lower.h"

#include <string.h>

#include "base/bug.h"
#include "part/proof.h"
#include "part/recompute.h"
#include "part/turns.h"

static const char *const strategy_names[] = {"data",     "zero",    "tensor", "sequence",
					     "pipeline", "context", "expert"};

/* Strategies that this version cannot turn into a program. Over an axis of one rank each is the
 * identity. */
static bool refuse(const struct plan *plan, struct work *work)
{
	bool refused = false;
	for (uint32_t i = 0; i < plan->nstrategies; i++) {
		const struct strategy *s = &plan->strategies[i];
		bool emitted = s->kind == STRATEGY_DATA || s->kind == STRATEGY_TENSOR ||
			       s->kind == STRATEGY_SEQUENCE || s->kind == STRATEGY_ZERO ||
			       s->kind == STRATEGY_PIPELINE;
		if (emitted || plan_ranks(plan, s) <= 1)
			continue;
		refused = true;
		if (!work->check_only)
			diag_add(work->diags, E0901, s->span,
				 "`%s` over more than one rank cannot be emitted yet",
				 strategy_names[s->kind]);
	}
	return refused;
}

bool part_cuts_inner(const struct flow *flow, const struct param *p)
{
	const struct spread *spread = &flow->spreads[p->weight.at];
	uint32_t inner = 0;
	for (uint32_t k = 1; k < p->rows.n; k++)
		inner |= spread_cuts(spread, &flow->factors, p->rows.at[k]);
	for (uint32_t k = 1; k < p->columns.n; k++)
		inner |= spread_cuts(spread, &flow->factors, p->columns.at[k]);
	return inner != 0;
}

static void note_inner(const struct flow *flow, struct work *work)
{
	for (uint32_t i = 0; i < flow->graph.nparams; i++)
		if (part_cuts_inner(flow, &flow->graph.params[i]))
			diag_add(work->diags, N0901, flow->graph.params[i].span,
				 "this version cannot emit a weight cut along an inner dim yet");
}

/* Which segment a node belongs to, as a number. */
static uint32_t home_of(const struct graph_node *node)
{
	return node->op == OP_rope_table ? 2 * REGIONS : node->backward * REGIONS + node->region;
}

/* A sum that is added to in place has the storage of its first term. */
static uint32_t *storage_of(const struct graph *graph, struct arena *arena)
{
	uint32_t *storage = ARENA_ARRAY(arena, uint32_t, graph->ntensors + 1);
	for (uint32_t t = 0; t < graph->ntensors; t++)
		storage[t] = t;
	for (uint32_t i = 0; i < graph->nnodes; i++) {
		const struct graph_node *node = &graph->nodes[i];
		if (node->adds)
			storage[node->out[0].at] = storage[node->in[node->nin - 1].at];
	}
	return storage;
}

static bool *outlives_of(const struct graph *graph, const uint32_t *storage, struct arena *arena)
{
	bool *outlives = ARENA_ARRAY(arena, bool, graph->ntensors + 1);
	uint32_t *made = ARENA_ARRAY(arena, uint32_t, graph->ntensors + 1);
	for (uint32_t i = 0; i < graph->nnodes; i++) {
		const struct graph_node *node = &graph->nodes[i];
		for (uint32_t k = 0; k < node->nin; k++) {
			uint32_t t = node->in[k].at;
			if (t != NO_ID && made[t] && made[t] != home_of(node) + 1)
				outlives[storage[t]] = true;
		}
		for (uint32_t k = 0; k < node->nout; k++)
			if (node->out[k].at != NO_ID)
				made[node->out[k].at] = home_of(node) + 1;
	}
	return outlives;
}

static void use_or_none(struct lower *l, struct step *step, uint32_t buffer)
{
	if (buffer == NO_ID)
		step_absent(step);
	else
		step_use(l, step, buffer, true);
}

static void load_batch(struct lower *l)
{
	struct dims dims = l->graph->tensors[l->graph->given[GIVEN_TOKENS].at].dims;
	l->node = NO_ID;
	l->span = l->plan->train.data.span;
	struct step *step = step_new(l, RT_ROW_load_batch, RT_I32, size_number(1));
	use_or_none(l, step, l->tokens);
	use_or_none(l, step, l->targets);
	step_use(l, step, l->control, true);
	step_size(step, size_of(l, dims_head(dims, 1), 1));
	step_size(step, size_of(l, dims_tail(dims, 1), 1));
}

/* Steps of one region in one direction; NO_ID if it has none. */
static uint32_t region_segment(struct lower *l, bool backward, enum region region)
{
	static const char *const names[2][REGIONS] = {
		{"embed_forward", "layer_forward", "head_forward"},
		{"embed_backward", "layer_backward", "head_backward"}};
	const struct graph *g = l->graph;
	uint32_t first = g->first[backward][region], count = g->count[backward][region];
	if (!l->has[region])
		return NO_ID;
	if (!backward && region == REGION_BEFORE && l->stages->n == 1)
		load_batch(l);
	zero_open(l, backward, region);
	for (uint32_t i = first; i < first + count; i++)
		if (g->nodes[i].op != OP_rope_table)
			lower_node(l, i);
	if (backward)
		zero_close(l, region);
	struct span span = count ? g->nodes[first].span : l->plan->span;
	return segment_end(l, names[backward][region], span,
			   backward ? PHASE_BACKWARD : PHASE_FORWARD, region,
			   region == REGION_REPEAT);
}

static struct sweep sweep_of(struct lower *l, uint32_t segment)
{
	struct call *call = ARENA_NEW(l->work->keep, struct call);
	call->segment = segment;
	return (struct sweep){.step = 1, .calls = call, .ncalls = 1};
}

/* Stages are at other micro-batches, and at another one on the way back: each turn starts with the
 * tokens, targets and dropout masks of its own. */
static uint32_t turn_segment(struct lower *l, uint32_t loads)
{
	if (l->stages->n == 1 || loads != NO_ID)
		return loads;
	load_batch(l);
	return segment_end(l, "take_batch", l->plan->train.data.span, PHASE_FORWARD, REGION_BEFORE,
			   false);
}

/* Embedding, layers up, head; or head, layers down, embedding. Outside the layers `layer` is that
 * of the neighbouring block, so that carried tensors are found by the same arithmetic. */
static struct body direction(struct lower *l, bool backward, uint32_t *loads)
{
	uint64_t last = l->layers - 1;
	struct sweep *sweeps = ARENA_ARRAY(l->work->keep, struct sweep, REGIONS + 1);
	uint32_t n = 0;
	*loads = turn_segment(l, *loads);
	if (*loads != NO_ID)
		sweeps[n++] = sweep_of(l, *loads);
	for (uint32_t i = 0; i < REGIONS; i++) {
		enum region region = backward ? REGIONS - 1 - i : i;
		uint32_t segment = region_segment(l, backward, region);
		if (segment == NO_ID)
			continue;
		struct sweep sweep = sweep_of(l, segment);
		sweep.step = backward ? -1 : 1;
		if (region == REGION_REPEAT)
			sweep.count = l->layers;
		else
			sweep.when = region == REGION_BEFORE ? FIRST_CHUNK : LAST_CHUNK;
		if (region == REGION_AFTER || (region == REGION_REPEAT && backward))
			sweep.first = last;
		sweeps[n++] = sweep;
	}
	return (struct body){sweeps, n};
}

static void number_positions(struct lower *l)
{
	uint32_t position = l->sites[l->graph->given[GIVEN_POSITION].at].buffer;
	struct dims tokens = {1, {l->model->tokens}};
	if (position == NO_ID)
		return;
	l->node = NO_ID;
	l->span = l->model->span;
	struct step *step =
		step_new(l, RT_ROW_position, l->program->compute, size_of(l, tokens, 1));
	step_use(l, step, position, true);
	step_size(step, size_number(0));
}

static void lower_start(struct lower *l, struct role *role)
{
	number_positions(l);
	for (uint32_t i = 0; i < l->graph->nnodes; i++)
		if (l->graph->nodes[i].op == OP_rope_table)
			lower_node(l, i);
	lower_masters(l, false);
	body_sweep(l, &role->start, "start", l->model->span, PHASE_INIT, false);
	lower_masters(l, true);
	body_sweep(l, &role->start, "start_layer", l->model->span, PHASE_INIT, true);
}

/* The group that splits the batch comes first: the runtime knows it by its number. */
static void data_group(struct lower *l)
{
	uint32_t mask = 0;
	for (uint32_t f = 0; f < l->flow->factors.n; f++)
		if (l->flow->factors.at[f].data)
			mask |= 1u << f;
	group_of(l, mask);
}

static uint32_t log2_of(int64_t n)
{
	uint32_t log = 0;
	while (n > 1) {
		n /= 2;
		log++;
	}
	return log;
}

static void types(struct lower *l)
{
	const struct plan_precision *p = &l->plan->precision;
	l->program->compute = flow_type(&p->compute);
	l->program->gradients = flow_type(&p->gradients);
	l->program->gradient_wire = flow_type(&p->gradient_wire);
	l->program->optimizer = flow_type(&p->optimizer);
	l->program->statistics = l->program->compute == RT_F64 ? RT_F64 : RT_F32;
}

/* What this stage sends past the layers, or gets so. */
static void past_buffers(struct lower *l, struct role *role)
{
	for (int backward = 0; backward < 2; backward++) {
		uint32_t n = l->stages->npast[backward];
		uint32_t *buffers = ARENA_ARRAY(l->work->keep, uint32_t, n + 1);
		if (!l->has[REGION_BEFORE] && !l->has[REGION_AFTER])
			n = 0;
		for (uint32_t i = 0; i < n; i++)
			buffers[i] = l->sites[l->stages->past[backward][i]].buffer;
		role->past[backward] = buffers;
		role->npast[backward] = n;
	}
}

static void finish(struct lower *l, struct role *role)
{
	struct program *p = l->program;
	role->tokens = l->tokens;
	role->targets = l->targets;
	role->control = l->control;
	role->sums = l->sums;
	role->logits = l->sites[l->graph->logits.at].buffer;
	role->carried = l->carried;
	role->adjoint = l->adjoint;
	memcpy(role->received, l->arrived, sizeof role->received);
	role->past_received = l->past_arrived;
	past_buffers(l, role);
	p->roles = role;
	p->nroles = 1;
	p->buffers = l->buffers.at;
	p->nbuffers = l->buffers.n;
	p->segments = l->segments.at;
	p->nsegments = l->segments.n;
}

/* What one stage has: regions, parameters, layers, copies. */
static struct role *cut_stage(struct lower *l, uint32_t stage)
{
	const struct stages *stages = l->stages;
	struct arena *keep = l->work->keep;
	struct role *role = ARENA_NEW(keep, struct role);
	struct chunk *chunks = ARENA_ARRAY(keep, struct chunk, stages->chunks);
	bool *here = ARENA_ARRAY(keep, bool, l->graph->nparams + 1);
	l->stage = stage;
	stage_regions(stages, stage, l->has);
	l->layers = l->deepest = 0;
	for (uint32_t c = 0; c < stages->chunks; c++) {
		chunks[c] = stages->layers[c * stages->n + stage];
		l->layers += chunks[c].count;
		l->deepest = chunks[c].count > l->deepest ? chunks[c].count : l->deepest;
	}
	for (uint32_t i = 0; i < l->graph->nparams; i++)
		for (uint32_t r = 0; r < REGIONS; r++)
			here[i] |= stages->n == 1 || (l->has[r] && stages->regions[i] >> r & 1);
	l->here = here;
	l->slots = stages->walks ? stages->walks[stage].slots : 1;
	l->head_slots = stages->head_alone ? 1 : l->slots;
	memset(l->received, 0, sizeof l->received);
	if (stages->walks)
		memcpy(l->received, stages->walks[stage].received, sizeof l->received);
	role->stage = stage;
	role->chunks = chunks;
	role->layers = l->layers;
	memcpy(role->has, l->has, sizeof role->has);
	role->schedule = stages->schedule;
	role->schedule.stage = stage;
	role->schedule.slots = l->slots;
	memcpy(role->schedule.received, l->received, sizeof l->received);
	role->name = name_of(l->work->names,
			     stages->n > 1 ? arena_text(keep, "stage %u", stage) : "all");
	return role;
}

/* The graph of a stage's ranks; stages with the same recompute share one. */
static void take_flow(struct lower *l, const struct flow *flow)
{
	l->flow = flow;
	l->graph = &flow->graph;
	l->storage = storage_of(l->graph, l->work->keep);
	l->outlives = outlives_of(l->graph, l->storage, l->work->keep);
	l->sites = ARENA_ARRAY(l->work->keep, struct site, l->graph->ntensors + 1);
}

static void flow_of_stage(struct lower *l, uint32_t stage, const struct flow **made)
{
	const struct recompute *how = recompute_of(l->plan, stage);
	if (!how)
		return;
	const struct flow **flow = &made[how - l->plan->recompute];
	if (!*flow) {
		struct flow *one = ARENA_NEW(l->work->keep, struct flow);
		flow_recompute(l->flow, how, one, l->work);
		*flow = one;
	}
	take_flow(l, *flow);
}

/* Groups are numbered alike on all stages. */
static void part_stage(struct lower *l, struct role *role)
{
	uint32_t loads = NO_ID;
	lower_buffers(l);
	lower_start(l, role);
	lower_begin(l, role);
	role->forward = direction(l, false, &loads);
	role->backward = direction(l, true, &loads);
	lower_merge(l, role);
	lower_update(l, role);
	finish(l, role);
}

/* A program a stage, in a list; false: one of them cannot be. */
static bool part_stages(const struct lower *start, uint32_t lanes, struct program *out)
{
	struct lower l = *start;
	struct arena *keep = l.work->keep;
	struct program *last = NULL;
	uint32_t errors = l.work->diags->errors;
	bool good = true;
	const struct flow **made =
		ARENA_ARRAY(keep, const struct flow *, l.plan->nrecompute + 1);
	data_group(&l);
	uint32_t pipeline = l.stages->n > 1 ? group_of(&l, pipeline_factors(&l)) : 0;
	for (uint32_t stage = 0; stage < l.stages->n && good; stage++) {
		struct lower one = *start;
		struct program *p = stage == 0 ? out : ARENA_NEW(keep, struct program);
		flow_of_stage(&one, stage, made);
		*p = (struct program){.plan = l.plan, .graph = one.graph, .flow = one.flow,
				      .stage = stage, .stages = l.stages->n,
				      .pipeline_group = pipeline};
		one.program = p;
		one.groups.at = l.groups.at;
		one.groups.n = l.groups.n;
		one.groups.room = l.groups.room;
		p->params = ARENA_ARRAY(keep, struct param_buffers, l.graph->nparams + 1);
		types(&one);
		struct role *role = cut_stage(&one, stage);
		role->lanes = lanes;
		part_stage(&one, role);
		l.groups.at = one.groups.at;
		l.groups.n = one.groups.n;
		l.groups.room = one.groups.room;
		good = !one.overflow && !one.refused;
		/* who met the size may have told its tensor's place */
		if (one.overflow && l.work->diags->errors == errors)
			diag_add(l.work->diags, E0114, l.plan->model->span,
				 "the sizes on a rank do not fit 64 bits");
		if (last)
			last->next = p;
		last = p;
	}
	for (struct program *p = out; p; p = p->next) {
		p->groups = l.groups.at;
		p->ngroups = l.groups.n;
	}
	return good;
}

/* Nothing is emitted that could wait in a circle. */
static void prove(const struct program *head, const struct stages *stages, struct arena *arena)
{
	const char *fault = NULL;
	if (stages->n > 1)
		fault = turns_fault(&stages->schedule, stages->walks, arena);
	if (!fault)
		fault = proof_collectives(head, arena);
	BUG_IF(fault, "%s", fault);
}

bool part_build(const struct graph *graph, struct program *out, struct work *work)
{
	struct flow *flow = ARENA_NEW(work->keep, struct flow);
	struct stages *stages = ARENA_NEW(work->keep, struct stages);
	*out = (struct program){.plan = graph->plan};
	if (refuse(graph->plan, work) || !flow_build(graph, flow, work))
		return false;
	if (work->check_only)
		note_inner(flow, work);
	const struct graph *local = &flow->graph;
	struct lower l = {.plan = graph->plan, .model = graph->model, .work = work, .program = out,
			  .stages = stages};
	int64_t lanes = graph->plan->train.lanes.i / graph->plan->data_ranks;
	take_flow(&l, flow);
	l.levels = log2_of(lanes) + 1;
	stages_cut(local, l.storage, stages, work);
	if (!part_stages(&l, (uint32_t)lanes, out))
		return false;
	prove(out, stages, work->scratch);
	return true;
}
