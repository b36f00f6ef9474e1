/* SPDX-License-Identifier: Apache-2.0 */
#include "part/collector.h"

#include <string.h>

#include "base/bug.h"
#include "part/spread_rules.h"

struct op_row rank_op_row(uint32_t op)
{
	static const struct op_row rows[] = {
#define MEND(name, ins, outs, doc) {#name, doc, ins, outs, false},
#include "part/mends.def"
#undef MEND
	};
	return op < OPS ? *op_row((enum op)op) : rows[op - OPS];
}

enum rt_type flow_type(const struct value *word)
{
	if (name_is(word->word, "fp64"))
		return RT_F64;
	return name_is(word->word, "bf16") ? RT_BF16 : RT_F32;
}

static int segment_of(const struct graph_node *node)
{
	return node->op == OP_rope_table ? 2 * REGIONS
					 : (int)node->backward * REGIONS + (int)node->region;
}

/* What the node asks of its operands and gives, over all factors. */
struct asks {
	struct spread in[8], out[4];
};

static struct cut operand_cut(struct collector *c, const struct graph_node *node, uint32_t operand,
			      uint32_t factor)
{
	if (node->in[operand].at == NO_ID)
		return cut_whole;
	return c->spreads.at[collector_current(c, node->in[operand].at)->local.at].at[factor];
}

static bool is_partial(struct collector *c, const struct graph_node *node, uint32_t axis)
{
	for (uint32_t f = 0; f < c->factors.n; f++)
		for (uint32_t i = 0; i < node->nin; i++)
			if (c->factors.at[f].axis == axis && c->factors.at[f].size > 1 &&
			    operand_cut(c, node, i, f).kind != SPREAD_PARTIAL)
				return false;
	return true;
}

static bool ask(struct collector *c, const struct graph_node *node, struct asks *asks)
{
	struct rule_context context = {
		.graph = c->graph, .node = node, .wanted = c->wanted, .factors = &c->factors};
	for (uint32_t f = 0; f < c->factors.n; f++) {
		const struct factor *factor = &c->factors.at[f];
		struct ask one = {0};
		context.factor = f;
		context.partial = is_partial(c, node, factor->axis);
		if (factor->data || factor->pipeline || factor->size == 1) {
			for (uint32_t i = 0; i < node->nin; i++)
				one.in[i] = operand_cut(c, node, i, f);
			for (uint32_t i = 0; i < node->nout; i++)
				if (node->out[i].at != NO_ID)
					one.out[i] = c->wanted[node->out[i].at].at[f];
		} else if (!spread_rule(&context, &one)) {
			return false;
		}
		for (uint32_t i = 0; i < 8; i++)
			asks->in[i].at[f] = one.in[i];
		for (uint32_t i = 0; i < 4; i++)
			asks->out[i].at[f] = one.out[i];
	}
	return true;
}

static void refuse(struct collector *c, const struct graph_node *node)
{
	if (!c->failed)
		diag_add(c->work->diags, E0314, node->span,
			 "`%s` cannot work with a dim that it sums over cut by the split",
			 op_row(node->op)->name);
	c->failed = true;
}

/* Accumulators and weights are one version each, made before. */
static struct tensor_id result(struct collector *c, struct tensor_id t, struct spread spread)
{
	if (c->graph->tensors[t.at].role != ROLE_GRADIENT)
		return collector_local(c, t.at, spread);
	struct tensor_id local = collector_find(c, t.at, NULL)->local;
	c->spreads.at[local.at] = spread;
	return local;
}

/* Operators that give terms of a sum in the type that terms are kept in; others give them as they
 * compute. */
static bool gives_terms(enum op op)
{
	return op == OP_linear || op == OP_linear_input || op == OP_add || op == OP_sub ||
	       op == OP_scale || op == OP_reduce;
}

/* The result of a node just placed, where it is a term of a sum. */
static void settle_term(struct collector *c, struct tensor_id of, struct tensor_id local)
{
	struct tensor *t = &c->tensors.at[local.at];
	if (!collector_is_value(c, of.at) || !spread_mask(&c->spreads.at[local.at], SPREAD_PARTIAL))
		return;
	if (gives_terms(c->node->op))
		t->type = c->term;
	else
		collector_convert(c, of.at, local, c->term, false);
}

static void place_node(struct collector *c, const struct graph_node *node, const struct asks *asks)
{
	struct tensor_id in[8], out[4];
	for (uint32_t i = 0; i < node->nin; i++)
		in[i] = node->in[i].at == NO_ID ? node->in[i]
						: collector_need(c, node->in[i], &asks->in[i]);
	for (uint32_t i = 0; i < node->nout; i++)
		out[i] = node->out[i].at == NO_ID ? node->out[i]
						  : result(c, node->out[i], asks->out[i]);
	c->placed = c->nodes.n;
	struct graph_node *local = collector_node(c, node->op);
	local->adds = node->adds;
	memcpy(local->in, in, node->nin * sizeof *in);
	memcpy(local->out, out, node->nout * sizeof *out);
	for (uint32_t i = 0; i < node->nout; i++)
		if (node->out[i].at != NO_ID)
			settle_term(c, node->out[i], out[i]);
}

/* A product that was to be added to a sum of another spread: made alone, then added. */
static void place_apart(struct collector *c, const struct graph_node *node, struct asks *asks)
{
	struct graph_node alone = *node, sum = *node;
	struct tensor_id so_far = node->in[2];
	alone.in[2].at = NO_ID;
	alone.adds = false;
	c->node = &alone;
	place_node(c, &alone, asks);
	sum.op = OP_add;
	sum.nin = 2;
	sum.in[0] = so_far;
	sum.in[1] = node->out[0];
	c->node = &sum;
	BUG_IF(!ask(c, &sum, asks), "a sum that cannot be made");
	place_node(c, &sum, asks);
}

/* Factors other than those of the data that cut a tensor. */
static uint32_t cut_factors(const struct collector *c, const struct spread *spread)
{
	uint32_t mask = 0;
	for (uint32_t f = 0; f < c->factors.n; f++)
		if (spread->at[f].kind == SPREAD_CUT && !c->factors.at[f].data)
			mask |= 1u << f;
	return mask;
}

/* A figure of rows on the way to the loss, not a tensor of the whole graph. */
static struct tensor_id figure(struct collector *c, struct tensor_id like, const char *what,
			       struct spread spread)
{
	struct tensor_id id = {c->tensors.n};
	struct tensor tensor = c->graph->tensors[like.at];
	tensor.name = name_of(c->work->names,
			      arena_text(c->work->keep, "%s_%s", tensor.name->text, what));
	vec_push(c->work->keep, &c->tensors, tensor);
	vec_push(c->work->keep, &c->spreads, spread);
	return id;
}

static struct tensor_id reduced(struct collector *c, struct tensor_id from, struct tensor_id like,
				const char *what, uint32_t op, uint32_t mask)
{
	struct spread whole = c->spreads.at[from.at];
	for (uint32_t f = 0; f < c->factors.n; f++)
		if (mask >> f & 1)
			whole.at[f] = cut_whole;
	struct tensor_id to = figure(c, like, what, whole);
	struct graph_node *node = collector_node(c, op);
	node->in[0] = from;
	node->out[0] = to;
	node->adds = true;
	node->factors = mask;
	return to;
}

/* Logits in blocks of the vocabulary: the maximum of a row, then its sum of exponentials and the
 * label's logit, go over the ranks; every rank ends with the same loss. */
static void place_cut_entropy(struct collector *c, const struct graph_node *node,
			      const struct asks *asks, uint32_t mask)
{
	struct tensor_id logits = collector_need(c, node->in[0], &asks->in[0]);
	struct tensor_id target = collector_need(c, node->in[1], &asks->in[1]), like = node->out[0];
	struct spread whole = asks->out[0], local = whole, partial = whole;
	for (uint32_t f = 0; f < c->factors.n; f++) {
		if (mask >> f & 1) {
			local.at[f] = cut_maximum;
			partial.at[f] = cut_partial;
		}
	}
	struct tensor_id max = figure(c, like, "local_max", local);
	struct graph_node *n = collector_node(c, OP_vocab_max);
	n->in[0] = logits;
	n->out[0] = max;
	max = reduced(c, max, like, "max", OP_all_reduce_max, mask);
	struct tensor_id sum = figure(c, like, "local_sum", partial);
	struct tensor_id label = figure(c, like, "local_label", partial);
	n = collector_node(c, OP_vocab_sum);
	n->in[0] = logits;
	n->in[1] = max;
	n->in[2] = target;
	n->out[0] = sum;
	n->out[1] = label;
	sum = reduced(c, sum, like, "sum", OP_all_reduce, mask);
	label = reduced(c, label, like, "label", OP_all_reduce, mask);
	struct tensor_id lse = result(c, node->out[0], whole);
	struct tensor_id loss = result(c, node->out[1], whole);
	c->placed = c->nodes.n;
	n = collector_node(c, OP_vocab_loss);
	const struct tensor_id in[4] = {max, sum, label, target};
	memcpy(n->in, in, sizeof in);
	n->out[0] = lse;
	n->out[1] = loss;
}

static void handle(struct collector *c, uint32_t at)
{
	const struct graph_node *node = &c->graph->nodes[at];
	struct asks asks = {0};
	c->node = node;
	c->origin = node->backward ? c->moved[node->origin] : c->nodes.n;
	if (!ask(c, node, &asks)) {
		refuse(c, node);
		return;
	}
	bool apart = node->adds &&
		     !spread_same(&c->spreads.at[collector_current(c, node->in[2].at)->local.at],
				  &asks.out[0], c->factors.n);
	uint32_t vocab = node->op == OP_cross_entropy ? cut_factors(c, &asks.in[0]) : 0;
	if (vocab)
		place_cut_entropy(c, node, &asks, vocab);
	else if (apart)
		place_apart(c, node, &asks);
	else
		place_node(c, node, &asks);
	c->moved[at] = c->placed;
}

/* What later segments read is left in its wanted spread. */
static void end_segment(struct collector *c, uint32_t last)
{
	if (c->segment == NO_SEGMENT || c->failed)
		return;
	c->node = &c->graph->nodes[last];
	for (uint32_t t = 0; t < c->graph->ntensors; t++) {
		if (!c->outlives[t] || !collector_find(c, t, NULL))
			continue;
		struct tensor_id id = {t};
		struct tensor_id local = collector_need(c, id, &c->wanted[t]);
		for (uint32_t i = 0; i < c->versions.n; i++)
			if (c->versions.at[i].local.at == local.at)
				c->versions.at[i].segment = NO_SEGMENT;
	}
}

static void find_outliving(struct collector *c)
{
	const struct graph *g = c->graph;
	int *made = ARENA_ARRAY(c->work->scratch, int, g->ntensors + 1);
	for (uint32_t i = 0; i < g->nnodes; i++) {
		const struct graph_node *node = &g->nodes[i];
		for (uint32_t k = 0; k < node->nin; k++)
			if (node->in[k].at != NO_ID && made[node->in[k].at] &&
			    made[node->in[k].at] != segment_of(node) + 1)
				c->outlives[node->in[k].at] = true;
		for (uint32_t k = 0; k < node->nout; k++)
			if (node->out[k].at != NO_ID)
				made[node->out[k].at] = segment_of(node) + 1;
	}
	const struct tensor_id ends[] = {g->carried_in, g->carried_out, g->adjoint_in,
					 g->adjoint_out, g->logits};
	for (uint32_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends[i].at != NO_ID)
			c->outlives[ends[i].at] = true;
}

static void keep_whole(struct collector *c, struct tensor_id t, bool rows_only)
{
	struct spread *wanted = &c->wanted[t.at];
	for (uint32_t f = 0; f < c->factors.n; f++) {
		bool rows = cut_same(wanted->at[f], cut_along(c->graph->model->tokens));
		if (!c->factors.at[f].data && (rows || !rows_only))
			wanted->at[f] = cut_whole;
	}
}

/* The figures of the loss are the same on every rank; logits have all rows. */
static void keep_loss_whole(struct collector *c)
{
	for (uint32_t i = 0; i < c->graph->nnodes; i++) {
		const struct graph_node *node = &c->graph->nodes[i];
		if (node->op != OP_cross_entropy)
			continue;
		keep_whole(c, node->in[0], true);
		for (uint32_t k = 0; k < node->nout; k++)
			keep_whole(c, node->out[k], false);
	}
}

static void start(struct collector *c)
{
	const struct graph *g = c->graph;
	const struct plan_precision *p = &g->plan->precision;
	c->compute = flow_type(&p->compute);
	c->wire = flow_type(&p->partial_wire);
	c->term = c->compute == RT_BF16 ? c->wire : c->compute;
	c->wanted = ARENA_ARRAY(c->work->scratch, struct spread, g->ntensors + 1);
	c->outlives = ARENA_ARRAY(c->work->scratch, bool, g->ntensors + 1);
	c->moved = ARENA_ARRAY(c->work->scratch, uint32_t, g->nnodes + 1);
	c->segment = NO_SEGMENT;
	for (uint32_t t = 0; t < g->ntensors; t++)
		c->wanted[t] = spread_wanted(g, &c->factors, (struct tensor_id){t});
	keep_loss_whole(c);
	for (uint32_t t = 0; t < g->ntensors; t++) {
		enum tensor_role role = g->tensors[t].role;
		if (role == ROLE_GIVEN || role == ROLE_PARAM || role == ROLE_GRADIENT)
			collector_local(c, t, c->wanted[t]);
	}
	find_outliving(c);
}

static struct tensor_id kept(struct collector *c, struct tensor_id t)
{
	if (t.at == NO_ID)
		return t;
	struct version *v = collector_find(c, t.at, &c->wanted[t.at]);
	return v ? v->local : (struct tensor_id){NO_ID};
}

/* A version belongs to where it is made, which may be after the tensor it came from. */
static void regions_of_makers(struct graph *g)
{
	for (uint32_t i = 0; i < g->nnodes; i++)
		for (uint32_t k = 0; k < g->nodes[i].nout; k++) {
			uint32_t t = g->nodes[i].out[k].at;
			if (t != NO_ID && g->tensors[t].param == NO_ID)
				g->tensors[t].region = g->nodes[i].region;
		}
}

static const bool *settled(const struct collector *c)
{
	bool *out = ARENA_ARRAY(c->work->keep, bool, c->tensors.n + 1);
	for (uint32_t i = 0; i < c->versions.n; i++) {
		const struct version *v = &c->versions.at[i];
		out[v->local.at] = !v->dead && spread_same(&c->spreads.at[v->local.at],
							   &c->wanted[v->tensor],
							   c->factors.n);
	}
	return out;
}

static void finish(struct collector *c, struct flow *out)
{
	struct graph *g = &out->graph;
	*g = *c->graph;
	g->tensors = c->tensors.at;
	g->ntensors = c->tensors.n;
	g->nodes = c->nodes.at;
	g->nnodes = c->nodes.n;
	g->params = ARENA_ARRAY(c->work->keep, struct param, g->nparams + 1);
	memcpy(g->params, c->graph->params, g->nparams * sizeof *g->params);
	for (uint32_t i = 0; i < g->nparams; i++) {
		struct param *p = &g->params[i];
		p->weight = kept(c, p->weight);
		for (uint32_t k = 0; k < p->sites; k++)
			p->gradient[k] = collector_find(c, p->gradient[k].at, NULL)->local;
	}
	for (uint32_t i = 0; i < GIVENS; i++)
		g->given[i] = kept(c, g->given[i]);
	g->carried_in = kept(c, g->carried_in);
	g->carried_out = kept(c, g->carried_out);
	g->adjoint_in = kept(c, g->adjoint_in);
	g->adjoint_out = kept(c, g->adjoint_out);
	g->logits = kept(c, g->logits);
	memset(g->first, 0, sizeof g->first);
	memset(g->count, 0, sizeof g->count);
	for (uint32_t i = g->nnodes; i-- > 0;) {
		g->first[g->nodes[i].backward][g->nodes[i].region] = i;
		g->count[g->nodes[i].backward][g->nodes[i].region]++;
	}
	regions_of_makers(g);
	out->spreads = c->spreads.at;
	out->settled = settled(c);
	out->factors = c->factors;
}

bool flow_build(const struct graph *graph, struct flow *out, struct work *work)
{
	struct collector c = {.graph = graph, .work = work};
	c.factors = factors_of(graph->plan, work);
	start(&c);
	for (uint32_t i = 0; i < graph->nnodes && !c.failed; i++) {
		int segment = segment_of(&graph->nodes[i]);
		if (segment != c.segment && i)
			end_segment(&c, i - 1);
		c.segment = segment;
		handle(&c, i);
	}
	if (graph->nnodes)
		end_segment(&c, graph->nnodes - 1);
	if (!c.failed)
		finish(&c, out);
	return !c.failed;
}

uint32_t flow_partial(const struct flow *flow, struct tensor_id gradient)
{
	uint32_t mask = spread_mask(&flow->spreads[gradient.at], SPREAD_PARTIAL);
	for (uint32_t f = 0; f < flow->factors.n; f++)
		if (flow->factors.at[f].data)
			mask |= 1u << f;
	return mask;
}
