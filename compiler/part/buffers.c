/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and parameters to buffers: how long each lives, how many copies it has. */
#include "part/lower.h"

#include <string.h>

#include "base/bug.h"
#include "base/num.h"
#include "rt/workspace.h"

uint64_t buffer_stride(const struct buffer *buffer)
{
	struct num n = num_round_up(num_from(buffer->elements), 64);
	return num_times(n, graph_type_bytes(buffer->type)).value;
}

uint64_t buffer_tail(const struct buffer *buffer)
{
	return num_times(num_from(buffer->tail), graph_type_bytes(buffer->type)).value;
}

struct buffer buffer_new(struct lower *l, const char *name, enum item item, enum rt_type type,
			 enum life life, struct dims dims)
{
	struct buffer buffer = {
		.name = name_of(l->work->names, name),
		.span = l->span,
		.item = item,
		.type = type,
		.life = life,
		.param = NO_ID,
		.layers = 1,
		.slots = 1,
		.levels = 1,
		.segment = NO_ID,
		.dims = dims,
		.elements = graph_elements(l->graph, dims, true),
	};
	return buffer;
}

/* Elements of a tensor as this rank holds it. */
static void held_as(struct lower *l, struct buffer *buffer, struct tensor_id t)
{
	buffer->elements = (uint64_t)size_in(l, t, buffer->dims).value;
	buffer->spread = l->flow->spreads[t.at];
}

uint32_t buffer_add(struct lower *l, struct buffer buffer)
{
	struct num bytes = num_times(num_from(buffer.elements), graph_type_bytes(buffer.type));
	if (buffer.elements == UINT64_MAX || bytes.overflow) {
		if (!l->overflow)
			diag_add(l->work->diags, E0114, buffer.span,
				 "the size of `%s` does not fit 64 bits", buffer.name->text);
		l->overflow = true;
	}
	buffer.bytes = bytes.value;
	vec_push(l->work->keep, &l->buffers, buffer);
	return l->buffers.n - 1;
}

static uint32_t words(struct lower *l, const char *name, enum rt_type type, uint64_t n,
		      enum life life, uint64_t levels)
{
	struct buffer b = buffer_new(l, name, ITEM_DATA, type, life, (struct dims){0});
	b.elements = n;
	b.levels = levels;
	return buffer_add(l, b);
}

uint64_t param_layers(const struct lower *l, uint32_t param)
{
	const struct param *p = &l->graph->params[param];
	return p->region == REGION_REPEAT ? l->layers : p->layers;
}

bool param_layered(const struct lower *l, uint32_t param)
{
	const struct param *p = &l->graph->params[param];
	return p->layers > 1 || (l->stages->n > 1 && p->region == REGION_REPEAT);
}

/* Laid out only for models, and on stages, that read them. */
static bool is_read(const struct lower *l, struct tensor_id t)
{
	const struct graph *g = l->graph;
	for (uint32_t i = 0; i < g->nnodes; i++)
		for (uint32_t k = 0; k < g->nodes[i].nin; k++)
			if (g->nodes[i].in[k].at == t.at && l->has[g->nodes[i].region])
				return true;
	return false;
}

static void data_buffers(struct lower *l)
{
	const struct graph *g = l->graph;
	uint32_t *given[GIVENS] = {&l->tokens, &l->targets, NULL};
	bool piped = l->stages->n > 1;
	l->tokens = l->targets = NO_ID;
	l->span = l->plan->span;
	for (uint32_t i = 0; i < GIVENS; i++) {
		const struct tensor *t = &g->tensors[g->given[i].at];
		if ((!given[i] || piped) && !is_read(l, g->given[i]))
			continue;
		struct buffer b =
			buffer_new(l, t->name->text, ITEM_DATA, RT_I32, LIFE_RUN, t->dims);
		l->sites[g->given[i].at] = (struct site){buffer_add(l, b), 0};
		if (given[i])
			*given[i] = l->sites[g->given[i].at].buffer;
	}
	l->control = words(l, "control", RT_F64, RT_CONTROL_WORDS, LIFE_RUN, 1);
	l->sums = words(l, "loss_sums", RT_F64, 2, LIFE_STEP, l->levels);
	l->exact = words(l, "norm_words", RT_I64, RT_EXACT_WORDS, LIFE_RUN, 1);
	l->buffers.at[l->sums].common = l->buffers.at[l->exact].common = piped;
}

/* What lies behind the last layer so that all slices are of equal size. */
static uint64_t tail_of(struct lower *l, uint32_t param, const struct buffer *b)
{
	const struct param_buffers *p = &l->program->params[param];
	if (p->flat == 0 || p->layered)
		return 0;
	uint64_t one = b->elements, slices = zero_flat(l, param);
	struct num elements = num_times(num_round_up(num_from(one), 64), b->layers);
	l->overflow |= elements.overflow;
	return slices > elements.value ? slices - elements.value : 0;
}

/* Whether the buffers of an item hold a slice of a parameter that is sliced at all. */
static bool holds_slice(const struct lower *l, enum item item)
{
	if (item == ITEM_WEIGHTS)
		return zero_stage(l) == 3;
	return item == ITEM_GRADIENTS ? zero_cuts_gradients(l) : true;
}

static uint32_t param_buffer(struct lower *l, uint32_t param, const char *name, enum item item,
			     enum rt_type type, enum life life)
{
	const struct param *p = &l->graph->params[param];
	const struct param_buffers *cut = &l->program->params[param];
	struct dims dims = dims_join(p->rows, p->columns);
	struct buffer b = buffer_new(l, name, item, type, life, dims);
	held_as(l, &b, p->weight);
	b.param = param;
	b.layers = param_layers(l, param);
	b.levels = life == LIFE_STEP ? l->levels : 1;
	if (cut->flat && holds_slice(l, item)) {
		b.dims.n = 0;
		b.elements = cut->shard;
		b.flat = cut->flat;
		b.layers = cut->layered ? param_layers(l, param) : 1;
	} else {
		b.tail = tail_of(l, param, &b);
		if (cut->layered)
			b.elements = zero_flat(l, param);
	}
	return buffer_add(l, b);
}

static char *suffixed(struct lower *l, const struct param *p, const char *suffix)
{
	return arena_text(l->work->keep, "%s_%s", p->name->text, suffix);
}

static void weights_and_gradients(struct lower *l, uint32_t i)
{
	const struct param *p = &l->graph->params[i];
	struct param_buffers *out = &l->program->params[i];
	l->span = p->span;
	zero_slice(l, i);
	out->weight = param_buffer(l, i, p->name->text, ITEM_WEIGHTS, l->program->compute,
				   LIFE_RUN);
	l->sites[p->weight.at] = (struct site){out->weight, 0};
	zero_window(l, i);
	if (spread_mask(&l->flow->spreads[p->weight.at], SPREAD_CUT))
		group_of(l, spread_mask(&l->flow->spreads[p->weight.at], SPREAD_CUT));
	for (uint32_t k = 0; k < p->sites; k++) {
		const char *name = l->graph->tensors[p->gradient[k].at].name->text;
		out->gradient[k] = param_buffer(l, i, name, ITEM_GRADIENTS,
						l->program->gradients, LIFE_STEP);
		if (!sums_here(l, i, k))
			l->buffers.at[out->gradient[k]].levels = 1;
		l->buffers.at[out->gradient[k]].part = k ? "tied, second accumulator" : NULL;
		l->sites[p->gradient[k].at] = (struct site){out->gradient[k], 0};
	}
}

static void optimizer_state(struct lower *l, uint32_t i)
{
	const struct param *p = &l->graph->params[i];
	struct param_buffers *out = &l->program->params[i];
	enum rt_type type = l->program->optimizer;
	l->span = p->span;
	out->master = NO_ID;
	if (type != l->program->compute) {
		out->master = param_buffer(l, i, suffixed(l, p, "master"), ITEM_OPTIMIZER, type,
					   LIFE_RUN);
		l->buffers.at[out->master].part = "master copy";
	}
	out->moment1 =
		param_buffer(l, i, suffixed(l, p, "moment1"), ITEM_OPTIMIZER, type, LIFE_RUN);
	out->moment2 =
		param_buffer(l, i, suffixed(l, p, "moment2"), ITEM_OPTIMIZER, type, LIFE_RUN);
	l->buffers.at[out->moment1].part = l->buffers.at[out->moment2].part = "moments";
}

/* Where a message waits for its turn; NO_ID: none has to. */
static uint32_t arrived_buffer(struct lower *l, const struct buffer *of, uint32_t copies)
{
	struct buffer b = *of;
	if (copies == 0)
		return NO_ID;
	b.name = name_of(l->work->names, arena_text(l->work->keep, "%s_received", b.name->text));
	b.item = ITEM_COMM;
	b.part = NULL;
	b.life = LIFE_RUN;
	b.layers = 1;
	b.slots = copies;
	return buffer_add(l, b);
}

/* What is kept for a part that is computed again, and what that part makes. */
static void file_recompute(struct buffer *b, const struct tensor *tensor)
{
	bool kept = b->life == LIFE_SLOT && tensor->instead;
	if (!kept && !tensor->again)
		return;
	b->item = ITEM_RECOMPUTE;
	b->part = kept ? "kept instead" : "made again";
}

/* The tensors that blocks hand on: one copy a block boundary; its gradient: two, in turns. */
static void carried_buffers(struct lower *l)
{
	const struct graph *g = l->graph;
	if (g->carried_in.at == NO_ID)
		return;
	const struct tensor *x = &g->tensors[g->carried_out.at];
	const struct tensor *dx = &g->tensors[g->adjoint_in.at];
	l->span = x->span;
	struct buffer b = buffer_new(l, arena_text(l->work->keep, "carried_%s", x->name->text),
				     ITEM_ACTIVATIONS, x->type, LIFE_SLOT, x->dims);
	held_as(l, &b, g->carried_out);
	file_recompute(&b, &g->tensors[g->carried_in.at]);
	if (!num_add(l->deepest, 1, &b.layers))
		l->overflow = true;
	b.slots = l->slots;
	uint32_t value = l->carried = buffer_add(l, b);
	b = buffer_new(l, arena_text(l->work->keep, "carried_%s_grad", x->name->text), ITEM_WORKING,
		       dx->type, LIFE_TURN, dx->dims);
	held_as(l, &b, g->adjoint_in);
	b.layers = 2;
	uint32_t adjoint = l->adjoint = buffer_add(l, b);
	l->arrived[0] = arrived_buffer(l, &l->buffers.at[value], l->received[0]);
	l->arrived[1] = arrived_buffer(l, &l->buffers.at[adjoint], l->received[1]);
	l->sites[l->storage[g->carried_in.at]] = (struct site){value, 0};
	l->sites[l->storage[g->carried_out.at]] = (struct site){value, 1};
	l->sites[l->storage[g->adjoint_in.at]] = (struct site){adjoint, 0};
	l->sites[l->storage[g->adjoint_out.at]] = (struct site){adjoint, 1};
}

/* Whether a tensor is made on this stage, or comes to it. */
static bool is_here(const struct lower *l, uint32_t t)
{
	const struct tensor *tensor = &l->graph->tensors[t];
	bool past = stage_past(l->stages, tensor->role == ROLE_ADJOINT, t);
	if (past)
		return l->has[REGION_BEFORE] || l->has[REGION_AFTER];
	return tensor->role == ROLE_CONSTANT || l->has[tensor->region];
}

/* A gradient that has passed by the layers waits for its micro-batch. */
static bool waits(const struct lower *l, uint32_t t)
{
	return stage_past(l->stages, true, t) && l->has[REGION_BEFORE];
}

static void tensor_buffer(struct lower *l, uint32_t t)
{
	const struct tensor *tensor = &l->graph->tensors[t];
	bool adjoint = tensor->role == ROLE_ADJOINT, constant = tensor->role == ROLE_CONSTANT;
	enum item item = constant ? ITEM_DATA : ITEM_ACTIVATIONS;
	enum life life = constant ? LIFE_RUN : adjoint ? LIFE_TURN : LIFE_SLOT;
	if (l->sites[t].buffer != NO_ID || l->storage[t] != t || tensor->role == ROLE_GIVEN ||
	    tensor->param != NO_ID || !is_here(l, t))
		return;
	if (!constant && !l->outlives[t]) {
		life = LIFE_SEGMENT;
		item = ITEM_WORKING;
	} else if (adjoint) {
		item = ITEM_WORKING;
	}
	if (waits(l, t)) {
		life = LIFE_SLOT;
		item = ITEM_COMM;
	}
	l->span = tensor->span;
	struct buffer b = buffer_new(l, tensor->name->text, item, tensor->type, life, tensor->dims);
	held_as(l, &b, (struct tensor_id){t});
	if (life == LIFE_SLOT)
		b.slots = tensor->region == REGION_AFTER && !waits(l, t) ? l->head_slots
									   : l->slots;
	if (life == LIFE_SLOT && tensor->region == REGION_REPEAT)
		b.layers = l->deepest;
	if (t == l->graph->logits.at)
		b.part = "logits";
	if (tensor->sent && item == ITEM_WORKING) {
		b.item = ITEM_COMM;
		b.part = "staging";
	}
	file_recompute(&b, tensor);
	b.from = NO_ID;
	l->sites[t].buffer = buffer_add(l, b);
}

/* What passes by the layers waits on the last stage beside the operand of its turn. */
static void past_arrived(struct lower *l)
{
	uint32_t n = l->has[REGION_AFTER] ? l->stages->npast[0] : 0;
	l->past_arrived = ARENA_ARRAY(l->work->keep, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t buffer = l->sites[l->stages->past[0][i]].buffer;
		l->past_arrived[i] =
			arrived_buffer(l, &l->buffers.at[buffer], l->received[0]);
	}
}

/* The largest scratch of any matmul; known before the steps are, so that it has its place. */
static void workspace_buffer(struct lower *l)
{
	l->span = l->plan->span;
	l->workspace = words(l, "workspace", RT_I64, 0, LIFE_RUN, 1);
	l->buffers.at[l->workspace].item = ITEM_WORKSPACE;
}

void lower_buffers(struct lower *l)
{
	const struct graph *g = l->graph;
	for (uint32_t i = 0; i < g->ntensors; i++)
		l->sites[i] = (struct site){NO_ID, 0};
	l->carried = l->adjoint = l->arrived[0] = l->arrived[1] = NO_ID;
	for (uint32_t i = 0; i < g->nparams; i++) {
		struct param_buffers *p = &l->program->params[i];
		p->weight = p->master = p->moment1 = p->moment2 = p->window = NO_ID;
		for (uint32_t k = 0; k < SITES_MAX; k++)
			p->gradient[k] = NO_ID;
	}
	for (uint32_t i = 0; i < g->nparams; i++)
		if (l->here[i])
			weights_and_gradients(l, i);
	for (uint32_t i = 0; i < g->nparams; i++)
		if (l->here[i])
			optimizer_state(l, i);
	data_buffers(l);
	workspace_buffer(l);
	carried_buffers(l);
	for (uint32_t t = 0; t < g->ntensors; t++)
		tensor_buffer(l, t);
	past_arrived(l);
	for (uint32_t t = 0; t < g->ntensors; t++)
		l->sites[t] = l->sites[l->storage[t]];
}

uint32_t buffer_scratch(struct lower *l, const char *what, struct size size, enum rt_type type)
{
	const struct graph_node *node = &l->graph->nodes[l->node];
	uint32_t last = node->nout - 1;
	while (node->out[last].at == NO_ID)
		last--;
	const struct name *of = l->graph->tensors[node->out[last].at].name;
	char *name = arena_text(l->work->keep, "%s_%s", of->text, what);
	struct buffer b =
		buffer_new(l, name, ITEM_WORKING, type, LIFE_SEGMENT, (struct dims){0});
	b.elements = (uint64_t)size.value;
	b.from = NO_ID;
	return buffer_add(l, b);
}
