/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of a tensor, each in one spread, and the collectives from one to another. */
#include "part/collector.h"

#include "base/bug.h"

static bool name_taken(const struct collector *c, const struct name *name)
{
	for (uint32_t i = 0; i < c->tensors.n; i++)
		if (c->tensors.at[i].name == name)
			return true;
	return false;
}

/* The plain name for the spread that is wanted, a suffix for any other and for what is sent. */
static const struct name *local_name(struct collector *c, uint32_t tensor,
				     const struct spread *spread, bool sent)
{
	const struct name *plain = c->graph->tensors[tensor].name;
	if (!sent && spread_same(spread, &c->wanted[tensor], c->factors.n) && !name_taken(c, plain))
		return plain;
	const char *what = sent					     ? "sent"
			   : spread_mask(spread, SPREAD_PARTIAL)     ? "partial"
			   : spread_mask(spread, SPREAD_PARTIAL_MAX) ? "local"
								     : "whole";
	char *text = arena_text(c->work->keep, "%s_%s", plain->text, what);
	while (name_taken(c, name_of(c->work->names, text)))
		text = arena_text(c->work->keep, "%s_again", text);
	return name_of(c->work->names, text);
}

static struct tensor_id new_typed(struct collector *c, uint32_t tensor, struct spread spread,
				  enum rt_type type, bool sent)
{
	struct tensor_id id = {c->tensors.n};
	struct tensor local = c->graph->tensors[tensor];
	local.name = local_name(c, tensor, &spread, sent);
	local.type = type;
	local.sent = sent;
	if (c->node)
		local.region = c->node->region;
	vec_push(c->work->keep, &c->tensors, local);
	vec_push(c->work->keep, &c->spreads, spread);
	struct version version = {.tensor = tensor, .local = id, .segment = c->segment};
	vec_push(c->work->scratch, &c->versions, version);
	return id;
}

struct tensor_id collector_local(struct collector *c, uint32_t tensor, struct spread spread)
{
	return new_typed(c, tensor, spread, c->graph->tensors[tensor].type, false);
}

struct version *collector_find(struct collector *c, uint32_t tensor, const struct spread *spread)
{
	for (uint32_t i = c->versions.n; i-- > 0;) {
		struct version *v = &c->versions.at[i];
		if (v->tensor == tensor && !v->dead &&
		    (v->segment == NO_SEGMENT || v->segment == c->segment) &&
		    (!spread || spread_same(&c->spreads.at[v->local.at], spread, c->factors.n)))
			return v;
	}
	return NULL;
}

struct version *collector_current(struct collector *c, uint32_t tensor)
{
	struct version *v = collector_find(c, tensor, &c->wanted[tensor]);
	if (!v)
		v = collector_find(c, tensor, NULL);
	BUG_IF(!v, "`%s` is not here", c->graph->tensors[tensor].name->text);
	return v;
}

struct graph_node *collector_node(struct collector *c, uint32_t op)
{
	struct graph_node node = *c->node;
	node.op = (enum op)op;
	node.nin = rank_op_row(op).ins;
	node.nout = rank_op_row(op).outs;
	node.adds = false;
	node.origin = c->node->backward ? c->origin : c->nodes.n;
	for (uint32_t i = 0; i < 8; i++)
		node.in[i].at = NO_ID;
	for (uint32_t i = 0; i < 4; i++)
		node.out[i].at = NO_ID;
	vec_push(c->work->keep, &c->nodes, node);
	return &c->nodes.at[c->nodes.n - 1];
}

static uint32_t mend_op(const struct collector *c, struct cut from, struct cut to)
{
	if (from.kind == SPREAD_PARTIAL_MAX)
		return OP_all_reduce_max;
	if (from.kind == SPREAD_PARTIAL)
		return to.kind == SPREAD_CUT && to.dim == c->graph->model->tokens
			       ? OP_reduce_scatter
			       : OP_all_reduce;
	BUG_IF(from.kind == SPREAD_WHOLE && to.kind != SPREAD_CUT, "a term of what is whole");
	return from.kind == SPREAD_CUT ? OP_all_gather : OP_slice;
}

/* Factors that one sum covers: all on which the tensor is as partial, and is neither scattered nor
 * stays a term. */
static uint32_t reduced_together(const struct collector *c, const struct spread *from,
				 const struct spread *to, uint32_t factor)
{
	uint32_t mask = 0;
	uint32_t op = mend_op(c, from->at[factor], to->at[factor]);
	for (uint32_t f = 0; f < c->factors.n; f++)
		if (from->at[f].kind == from->at[factor].kind &&
		    !cut_same(from->at[f], to->at[f]) &&
		    mend_op(c, from->at[f], to->at[f]) == op)
			mask |= 1u << f;
	return mask;
}

static void bury(struct collector *c, struct tensor_id local)
{
	for (uint32_t i = 0; i < c->versions.n; i++)
		if (c->versions.at[i].local.at == local.at)
			c->versions.at[i].dead = true;
}

bool collector_is_value(const struct collector *c, uint32_t tensor)
{
	enum tensor_role role = c->graph->tensors[tensor].role;
	return role == ROLE_VALUE || role == ROLE_ADJOINT;
}

struct tensor_id collector_convert(struct collector *c, uint32_t tensor, struct tensor_id from,
				   enum rt_type type, bool sent)
{
	if (c->tensors.at[from.at].type == type)
		return from;
	struct tensor_id to = new_typed(c, tensor, c->spreads.at[from.at], type, sent);
	struct graph_node *node = collector_node(c, type == RT_BF16 ? OP_narrow : OP_widen);
	node->in[0] = from;
	node->out[0] = to;
	bury(c, from);
	return to;
}

/* What a sum gives: one to compute with, or a term of a further sum. */
static struct tensor_id summed(struct collector *c, uint32_t tensor, struct tensor_id sum)
{
	bool term = spread_mask(&c->spreads.at[sum.at], SPREAD_PARTIAL) != 0;
	if (!collector_is_value(c, tensor))
		return sum;
	return collector_convert(c, tensor, sum, term ? c->term : c->compute, false);
}

/* One factor (a sum: all its factors) nearer to what is asked. */
static struct tensor_id mend_factor(struct collector *c, uint32_t tensor, struct tensor_id from,
				    uint32_t factor, const struct spread *to)
{
	struct spread spread = c->spreads.at[from.at];
	uint32_t op = mend_op(c, spread.at[factor], to->at[factor]);
	bool sums = op == OP_all_reduce || op == OP_reduce_scatter;
	if (sums && collector_is_value(c, tensor))
		from = collector_convert(c, tensor, from, c->wire, true);
	enum rt_type type = c->tensors.at[from.at].type;
	bool sent = sums && collector_is_value(c, tensor) && type != c->compute;
	bool in_place = op == OP_all_reduce || op == OP_all_reduce_max;
	bool cuts = op == OP_reduce_scatter || op == OP_slice;
	struct cut cut = op == OP_all_gather ? spread.at[factor] : to->at[factor];
	uint32_t mask = in_place ? reduced_together(c, &spread, to, factor) : 1u << factor;
	for (uint32_t f = 0; f < c->factors.n; f++)
		if (mask >> f & 1)
			spread.at[f] = cuts ? to->at[factor] : cut_whole;
	struct tensor_id local = new_typed(c, tensor, spread, type, sent);
	struct graph_node *node = collector_node(c, op);
	node->in[0] = from;
	node->out[0] = local;
	node->adds = in_place;
	node->factors = mask;
	node->from = (struct dims){cut.kind == SPREAD_CUT, {cut.dim}};
	if (in_place)
		bury(c, from);
	return sums ? summed(c, tensor, local) : local;
}

/* Blocks of nested cuts stay in order only if the inner cut is made after the outer one and undone
 * before it: a cut that may stay is undone where one outside it comes or goes. */
static bool must_gather(const struct spread *now, const struct spread *to, uint32_t factor)
{
	struct cut cut = now->at[factor];
	if (cut.kind != SPREAD_CUT)
		return false;
	for (uint32_t f = 0; f <= factor; f++)
		if (cut_same(now->at[f], cut) != cut_same(to->at[f], cut))
			return true;
	return false;
}

/* A sum over the factor that needs no other step before it. One that leaves a cut waits for the
 * cuts outside it. */
static bool may_sum(const struct collector *c, const struct spread *now, const struct spread *to,
		    uint32_t factor)
{
	struct cut from = now->at[factor], cut = to->at[factor];
	if (cut_same(from, cut) ||
	    (from.kind != SPREAD_PARTIAL && from.kind != SPREAD_PARTIAL_MAX))
		return false;
	for (uint32_t f = 0; f < factor && mend_op(c, from, cut) == OP_reduce_scatter; f++)
		if (cut_same(to->at[f], cut) && !cut_same(now->at[f], cut))
			return false;
	return true;
}

/* Gathers from the innermost factor outwards, sums, then cuts from the outermost inwards. */
struct tensor_id collector_need(struct collector *c, struct tensor_id t,
				const struct spread *spread)
{
	struct version *have = collector_find(c, t.at, spread);
	if (have)
		return have->local;
	struct tensor_id local = collector_current(c, t.at)->local;
	for (uint32_t f = c->factors.n; f-- > 0;)
		if (must_gather(&c->spreads.at[local.at], spread, f))
			local = mend_factor(c, t.at, local, f, spread);
	for (uint32_t f = 0; f < c->factors.n; f++)
		if (may_sum(c, &c->spreads.at[local.at], spread, f))
			local = mend_factor(c, t.at, local, f, spread);
	for (uint32_t f = 0; f < c->factors.n; f++)
		if (!cut_same(c->spreads.at[local.at].at[f], spread->at[f]))
			local = mend_factor(c, t.at, local, f, spread);
	BUG_IF(!spread_same(&c->spreads.at[local.at], spread, c->factors.n),
	       "`%s` cannot be mended", c->graph->tensors[t.at].name->text);
	return local;
}
