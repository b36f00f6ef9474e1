/* SPDX-License-Identifier: Apache-2.0 */
/* Operator calls of the model to forward nodes. Nothing here knows a model: tensors get their names
 * from the text, their dims from the operators. */
#include "graph/build.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "plan/model_resolve.h"

enum rt_type build_type(const struct builder *b, enum tensor_role role)
{
	const struct plan_precision *p = &b->plan->precision;
	const struct name *word =
		role == ROLE_GRADIENT ? p->gradients.word : p->compute.word;
	if (role == ROLE_GIVEN)
		return RT_I32;
	bool wide = role == ROLE_STATISTIC || role == ROLE_CONSTANT;
	if (name_is(word, "fp64"))
		return RT_F64;
	return wide || !name_is(word, "bf16") ? RT_F32 : RT_BF16;
}

struct dims build_dims(const struct builder *b, struct tensor_id t)
{
	return b->tensors.at[t.at].dims;
}

static bool taken(const struct builder *b, const struct name *name)
{
	for (uint32_t i = 0; i < b->tensors.n; i++)
		if (b->tensors.at[i].name == name)
			return true;
	return false;
}

/* `name`, or name_clash if another tensor has it, or that with as many primes as it takes. */
static const struct name *fresh_name(struct builder *b, const char *name, const char *clash)
{
	char *text = arena_text(b->work->keep, "%s", name);
	const struct name *result = name_of(b->work->names, text);
	if (taken(b, result)) {
		text = arena_text(b->work->keep, "%s_%s", name, clash);
		result = name_of(b->work->names, text);
	}
	while (taken(b, result)) {
		text = arena_text(b->work->keep, "%s_again", text);
		result = name_of(b->work->names, text);
	}
	return result;
}

struct tensor_id build_tensor(struct builder *b, enum tensor_role role, const char *name,
			      const char *clash, struct span span, struct dims dims)
{
	struct tensor_id id = {b->tensors.n};
	struct tensor tensor = {
		.name = fresh_name(b, name, clash),
		.span = span,
		.role = role,
		.type = build_type(b, role),
		.dims = dims,
		.region = b->region,
		.param = NO_ID,
	};
	vec_push(b->work->keep, &b->tensors, tensor);
	return id;
}

struct graph_node *build_node(struct builder *b, enum op op, struct span span)
{
	struct graph_node node = {
		.op = op,
		.region = b->region,
		.backward = b->backward,
		.span = span,
		.group = "",
		.origin = b->backward ? b->origin : b->nodes.n,
		.nin = op_row(op)->ins,
		.nout = op_row(op)->outs,
	};
	for (uint32_t i = 0; i < 8; i++)
		node.in[i] = no_tensor;
	for (uint32_t i = 0; i < 4; i++)
		node.out[i] = no_tensor;
	if (b->backward) {
		const struct graph_node *from = &b->nodes.at[b->origin];
		node.group = from->group;
		node.from = from->from;
		node.to = from->to;
		node.causal = from->causal;
		node.stream = from->stream;
		memcpy(node.scalar, from->scalar, sizeof node.scalar);
	}
	vec_push(b->work->keep, &b->nodes, node);
	return &b->nodes.at[b->nodes.n - 1];
}

/* The last part of a dotted path, as an identifier: "attn.c_attn[0]" gives c_attn_0. */
static char *identifier(struct arena *arena, const char *path, bool last_part)
{
	const char *dot = last_part ? strrchr(path, '.') : NULL;
	char *text = arena_text(arena, "%s", dot ? dot + 1 : path);
	size_t n = 0;
	for (const char *c = text; *c; c++) {
		if (isalnum((unsigned char)*c))
			text[n++] = *c;
		else if (n && text[n - 1] != '_')
			text[n++] = '_';
	}
	while (n && text[n - 1] == '_')
		n--;
	text[n] = '\0';
	return text;
}

/* group_binding; an inner expression is called by its weight, else by its operator and operand. */
static char *result_name(struct builder *b, const struct model_call *call)
{
	struct arena *arena = b->work->keep;
	const char *name = call->binding ? call->binding->text : NULL;
	const char *group = identifier(arena, call->group, false);
	if (!name && (call->as || call->tied)) {
		name = identifier(arena, (call->as ? call->as : call->tied)->path, true);
	} else if (!name) {
		const struct tensor *x = &b->tensors.at[b->values[call->operands[0]].at];
		const char *operand = x->name->text;
		size_t n = strlen(group);
		if (n && !strncmp(operand, group, n) && operand[n] == '_')
			operand += n + 1;
		name = arena_text(arena, "%s_%s", operator_row(call->op)->name, operand);
	}
	return *group ? arena_text(arena, "%s_%s", group, name) : arena_text(arena, "%s", name);
}

static struct dims without_last(struct dims dims)
{
	dims.n--;
	return dims;
}

static struct tensor_id statistic(struct builder *b, const struct model_call *call,
				  const char *result, const char *what, struct dims dims)
{
	char *name = arena_text(b->work->keep, "%s_%s", result, what);
	const char *op = operator_row(call->op)->name;
	return build_tensor(b, ROLE_STATISTIC, name, op, call->span, dims);
}

static struct dims with(struct dims dims, uint32_t dim)
{
	BUG_IF(dims.n == DIM_MAX, "a tensor of %u dims", dims.n + 1);
	dims.at[dims.n++] = dim;
	return dims;
}

/* Probabilities, of each query over all keys; with dropout what is left of them, and a byte for
 * each: kept or not. */
static void stored(struct builder *b, const struct model_call *call, const char *result,
		   struct dims x, struct tensor_id extra[3])
{
	static const char *const names[] = {"probabilities", "dropped", "mask"};
	struct dims dims = with(without_last(x), b->keys);
	for (uint32_t i = 0; i < (call->rate > 0 ? 3 : 1); i++) {
		char *name = arena_text(b->work->keep, "%s_%s", result, names[i]);
		extra[i] = build_tensor(b, ROLE_VALUE, name, "stored", call->span, dims);
	}
	if (call->rate > 0)
		b->tensors.at[extra[2].at].type = RT_U8;
}

/* One table for equal attributes, made once and shared by every rope that wants it. */
static struct tensor_id rope_table(struct builder *b, const struct model_call *call, struct dims x)
{
	double want[5] = {call->base, call->scaling[0], call->scaling[1], call->scaling[2],
			  call->scaling[3]};
	uint32_t head = x.at[x.n - 1];
	for (uint32_t i = 0; i < b->nodes.n; i++) {
		const struct graph_node *node = &b->nodes.at[i];
		if (node->op == OP_rope_table && node->from.at[0] == head &&
		    !memcmp(node->scalar, want, sizeof want))
			return node->out[0];
	}
	struct dims dims = {2, {b->model->tokens, head}};
	struct tensor_id table =
		build_tensor(b, ROLE_CONSTANT, "rope_table", "scaled", call->span, dims);
	struct graph_node *node = build_node(b, OP_rope_table, call->span);
	node->from = (struct dims){1, {head}};
	node->out[0] = table;
	memcpy(node->scalar, want, sizeof want);
	return table;
}

/* Tables come first, so that the nodes of a region stay together. */
static void build_tables(struct builder *b)
{
	b->region = REGION_BEFORE;
	for (uint32_t i = 0; i < b->model->ncalls; i++) {
		const struct model_call *call = &b->model->calls[i];
		if (call->op == OPERATOR_rope)
			rope_table(b, call, b->dims[call->operands[0]]);
	}
}

/* Operands, parameters and further results of a call, by its operator. */
static void fill_call(struct builder *b, const struct model_call *call, uint32_t at,
		      const char *name, struct dims x)
{
	struct tensor_id weight = no_tensor, bias = no_tensor, table = no_tensor;
	struct tensor_id extra[3] = {no_tensor, no_tensor, no_tensor};
	double scalar = 0;
	build_params(b, call, &weight, &bias);
	switch (call->op) {
	case OPERATOR_layernorm:
	case OPERATOR_rmsnorm:
		if (call->op == OPERATOR_layernorm)
			extra[0] = statistic(b, call, name, "mean", without_last(x));
		extra[call->op == OPERATOR_layernorm] =
			statistic(b, call, name, "rstd", without_last(x));
		scalar = call->eps;
		break;
	case OPERATOR_attend:
		if (b->keys != NO_ID)
			stored(b, call, name, x, extra);
		else
			extra[0] = statistic(b, call, name, "lse", without_last(x));
		scalar = call->rate;
		break;
	case OPERATOR_rope:
		table = rope_table(b, call, x);
		break;
	case OPERATOR_dropout:
		scalar = call->rate;
		break;
	default:
		break;
	}
	struct graph_node *node = &b->nodes.at[at];
	uint32_t n = call->noperands;
	for (uint32_t i = 0; i < n; i++)
		node->in[i] = b->values[call->operands[i]];
	if (weight.at != NO_ID)
		node->in[n++] = weight;
	if (bias.at != NO_ID)
		node->in[n++] = bias;
	if (table.at != NO_ID)
		node->in[n] = table;
	memcpy(node->out + 1, extra, sizeof extra);
	node->scalar[0] = scalar;
}

static uint32_t copies(const struct builder *b)
{
	return b->region == REGION_REPEAT ? (uint32_t)b->model->layers : 1;
}

static enum op op_of(const struct builder *b, const struct model_call *call)
{
	bool stores = call->op == OPERATOR_attend && b->keys != NO_ID;
	return stores ? OP_attend_stored : (enum op)call->op;
}

static void build_call(struct builder *b, const struct model_call *call)
{
	b->region = call->region;
	char *name = result_name(b, call);
	struct dims x = b->dims[call->operands[0]];
	uint32_t at = b->nodes.n;
	struct graph_node *node = build_node(b, op_of(b, call), call->span);
	node->group = call->group;
	node->from = call->from;
	node->to = call->to;
	node->causal = call->causal;
	if (call->rate > 0) {
		node->stream = b->streams;
		b->streams += copies(b);
	}
	if (call->op == OPERATOR_cross_entropy) {
		struct dims rows = dims_without(x, x.at[x.n - 1]);
		struct tensor_id lse = statistic(b, call, name, "lse", rows);
		struct tensor_id loss = statistic(b, call, name, "rows", rows);
		fill_call(b, call, at, name, x);
		b->tensors.at[lse.at].type = b->tensors.at[loss.at].type = RT_F64;
		b->nodes.at[at].out[0] = lse;
		b->nodes.at[at].out[1] = loss;
		b->values[call->result] = loss;
		b->graph->logits = b->nodes.at[at].in[0];
		b->graph->loss_rows = loss;
		return;
	}
	struct tensor_id y = build_tensor(b, ROLE_VALUE, name, operator_row(call->op)->name,
					  call->span, b->dims[call->result]);
	fill_call(b, call, at, b->tensors.at[y.at].name->text, x);
	b->nodes.at[at].out[0] = y;
	b->values[call->result] = y;
}

static void build_given(struct builder *b)
{
	const struct model *m = b->model;
	const char *names[GIVENS] = {"tokens", "targets", "position"};
	for (uint32_t i = 0; i < GIVENS; i++) {
		struct dims dims = {2, {m->batch, m->tokens}};
		if (i == GIVEN_POSITION)
			dims = (struct dims){1, {m->tokens}};
		b->values[i] = build_tensor(b, ROLE_GIVEN, names[i], "given", m->span, dims);
		b->graph->given[i] = b->values[i];
	}
}

static void build_carried(struct builder *b)
{
	const struct model *m = b->model;
	struct graph *g = b->graph;
	g->carried_out = g->adjoint_in = g->adjoint_out = no_tensor;
	if (m->carried_in == NO_ID)
		return;
	if (g->carried_in.at == NO_ID)
		g->carried_in = b->values[m->carried_in];
	g->carried_out = b->values[m->carried_out];
	b->tensors.at[g->carried_in.at].carried = true;
	b->tensors.at[g->carried_out.at].carried = true;
}

static void count_regions(struct graph *graph)
{
	for (uint32_t i = graph->nnodes; i-- > 0;) {
		const struct graph_node *node = &graph->nodes[i];
		graph->first[node->backward][node->region] = i;
		graph->count[node->backward][node->region]++;
	}
}

/* A dim for the keys of each query, beside that of the queries: a tensor has a dim once. */
static const struct model *with_keys(const struct model *model, struct work *work)
{
	struct model *out = ARENA_NEW(work->keep, struct model);
	struct dim *dims = ARENA_ARRAY(work->keep, struct dim, model->ndims + 1);
	char *name = arena_text(work->keep, "keys");
	while (model_dim(model, name_of(work->names, name)) != NO_ID)
		name = arena_text(work->keep, "%s_seen", name);
	memcpy(dims, model->dims, model->ndims * sizeof *dims);
	dims[model->ndims] = model->dims[model->tokens];
	dims[model->ndims].name = name_of(work->names, name);
	*out = *model;
	out->dims = dims;
	out->ndims++;
	return out;
}

static bool stores_attention(const struct plan *plan)
{
	bool any = false;
	for (uint32_t i = 0; i < plan->model->ncalls; i++)
		any |= plan->model->calls[i].op == OPERATOR_attend;
	return any && name_is(plan->memory.attention.word, "stored");
}

/* What enters the layers and is read behind them too is not what they carry: its gradient from
 * there passes them by. */
static bool read_behind(const struct builder *b, uint32_t value)
{
	const struct model *m = b->model;
	for (uint32_t i = 0; value != NO_ID && i < m->ncalls; i++)
		for (uint32_t k = 0; k < m->calls[i].noperands; k++)
			if (m->calls[i].region == REGION_AFTER && m->calls[i].operands[k] == value)
				return true;
	return false;
}

/* The layers get a copy. */
static struct tensor_id build_entry(struct builder *b, struct tensor_id from, struct span span)
{
	const struct name *name = b->tensors.at[from.at].name;
	b->region = REGION_BEFORE;
	struct tensor_id entry =
		build_tensor(b, ROLE_VALUE, arena_text(b->work->keep, "%s_entering", name->text),
			     "layers", span, build_dims(b, from));
	struct graph_node *node = build_node(b, OP_scale, span);
	node->in[0] = from;
	node->out[0] = entry;
	node->scalar[0] = 1;
	return entry;
}

static void build_calls(struct builder *b)
{
	const struct model *m = b->model;
	bool copied = read_behind(b, m->carried_in);
	struct tensor_id first = no_tensor;
	for (uint32_t i = 0; i < m->ncalls && !b->failed; i++) {
		enum region region = m->calls[i].region;
		if (copied && first.at == NO_ID && region == REGION_REPEAT) {
			first = b->values[m->carried_in];
			b->values[m->carried_in] = build_entry(b, first, m->calls[i].span);
			b->graph->carried_in = b->values[m->carried_in];
		} else if (first.at != NO_ID && region == REGION_AFTER) {
			b->values[m->carried_in] = first;
		}
		build_call(b, &m->calls[i]);
	}
}

bool graph_build(const struct plan *plan, struct graph *out, struct work *work)
{
	bool stores = stores_attention(plan);
	const struct model *model = stores ? with_keys(plan->model, work) : plan->model;
	struct builder b = {.plan = plan, .model = model, .work = work, .graph = out};
	b.keys = stores ? model->ndims - 1 : NO_ID;
	struct dims *dims = ARENA_ARRAY(work->keep, struct dims, model->nvalues + 1);
	*out = (struct graph){.plan = plan, .model = model};
	b.values = ARENA_ARRAY(work->keep, struct tensor_id, model->nvalues + 1);
	if (!model_infer(model, dims, work))
		return false;
	b.dims = dims;
	build_given(&b);
	build_tables(&b);
	out->carried_in = no_tensor;
	build_calls(&b);
	if (b.failed)
		return false;
	build_carried(&b);
	build_backward(&b);
	out->tensors = b.tensors.at;
	out->ntensors = b.tensors.n;
	out->nodes = b.nodes.at;
	out->nnodes = b.nodes.n;
	out->params = b.params.at;
	out->nparams = b.params.n;
	out->nstreams = b.streams;
	count_regions(out);
	return true;
}
