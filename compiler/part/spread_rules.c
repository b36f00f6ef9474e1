/* SPDX-License-Identifier: Apache-2.0 */
/* kept dims pass a cut on, contracted dims make the result partial, made dims cut the result. A
 * weight is never moved: operands follow it. */
#include "part/spread_rules.h"

#include "base/bug.h"

typedef bool spread_rule_fn(const struct rule_context *c, struct ask *ask);

static struct dims dims_of(const struct rule_context *c, struct tensor_id t)
{
	return c->graph->tensors[t.at].dims;
}

static struct cut wanted(const struct rule_context *c, struct tensor_id t)
{
	return t.at == NO_ID ? cut_whole : c->wanted[t.at].at[c->factor];
}

static bool is_rows(const struct rule_context *c, struct cut cut)
{
	return cut.kind == SPREAD_CUT &&
	       (cut.dim == c->graph->model->tokens || cut.dim == c->graph->model->batch);
}

/* All operands and results alike. */
static bool all(const struct rule_context *c, struct ask *ask, struct cut cut)
{
	for (uint32_t i = 0; i < c->node->nin; i++)
		ask->in[i] = cut;
	for (uint32_t i = 0; i < c->node->nout; i++)
		ask->out[i] = cut;
	return true;
}

/* The cut of `operand` if `t` can have it too, else whole. */
static struct cut as_far_as(const struct rule_context *c, struct tensor_id t, struct cut cut)
{
	if (cut.kind != SPREAD_CUT)
		return cut_whole;
	struct dims dims = dims_of(c, t);
	bool rows = is_rows(c, cut);
	const struct model *m = c->graph->model;
	if (rows)
		return dims_have(&dims, m->batch) && dims_have(&dims, m->tokens) ? cut : cut_whole;
	return dims_have(&dims, cut.dim) ? cut : cut_whole;
}

static bool rule_lookup(const struct rule_context *c, struct ask *ask)
{
	struct cut w = wanted(c, c->node->in[1]);
	bool rows = w.kind == SPREAD_CUT && dims_have(&c->node->from, w.dim);
	ask->in[0] = cut_whole;
	ask->in[1] = w;
	ask->out[0] = rows ? cut_partial : w;
	return true;
}

static bool rule_lookup_backward(const struct rule_context *c, struct ask *ask)
{
	struct cut w = wanted(c, c->node->out[0]);
	bool rows = w.kind == SPREAD_CUT && dims_have(&c->node->from, w.dim);
	ask->in[0] = cut_whole;
	ask->in[1] = rows ? cut_whole : w;
	ask->out[0] = w;
	return true;
}

/* The side of a weight that is cut: -1 contracted (from), 1 made (to), 0 neither. */
static int side(const struct rule_context *c, struct cut weight)
{
	if (weight.kind != SPREAD_CUT)
		return 0;
	return dims_have(&c->node->from, weight.dim) ? -1 : 1;
}

/* Rows of x pass where the weight is whole over the axis; another cut of x is one of a contracted
 * dim. */
static struct cut rows_only(const struct rule_context *c, struct tensor_id x,
			    struct tensor_id weight)
{
	const struct factors *factors = c->factors;
	struct cut cut = wanted(c, x);
	if (!is_rows(c, cut))
		return cut_whole;
	for (uint32_t f = 0; f < factors->n; f++)
		if (factors->at[f].axis == factors->at[c->factor].axis &&
		    c->wanted[weight.at].at[f].kind == SPREAD_CUT)
			return cut_whole;
	return cut;
}

static bool rule_linear(const struct rule_context *c, struct ask *ask)
{
	const struct graph_node *n = c->node;
	struct cut w = wanted(c, n->in[1]);
	int s = side(c, w);
	ask->in[1] = w;
	ask->in[0] = s < 0 ? w : s > 0 ? cut_whole : rows_only(c, n->in[0], n->in[1]);
	ask->in[2] = wanted(c, n->in[2]);
	ask->out[0] = s < 0 ? cut_partial : s > 0 ? w : ask->in[0];
	return true;
}

static bool rule_linear_input(const struct rule_context *c, struct ask *ask)
{
	const struct graph_node *n = c->node;
	struct cut w = wanted(c, n->in[1]);
	int s = side(c, w);
	ask->in[1] = w;
	ask->in[0] = s > 0 ? w : s < 0 ? cut_whole : rows_only(c, n->in[0], n->in[1]);
	ask->out[0] = s > 0 ? cut_partial : s < 0 ? w : ask->in[0];
	ask->in[2] = ask->out[0];
	return true;
}

static bool rule_linear_weight(const struct rule_context *c, struct ask *ask)
{
	const struct graph_node *n = c->node;
	struct cut w = wanted(c, n->out[0]);
	int s = side(c, w);
	struct cut rows = rows_only(c, n->in[1], n->out[0]);
	ask->in[0] = s > 0 ? w : s < 0 ? cut_whole : rows;
	ask->in[1] = s < 0 ? w : s > 0 ? cut_whole : rows;
	ask->out[0] = s ? w : rows.kind == SPREAD_CUT ? cut_partial : cut_whole;
	return true;
}

static bool rule_linear_bias(const struct rule_context *c, struct ask *ask)
{
	struct cut b = wanted(c, c->node->out[0]);
	struct cut rows = rows_only(c, c->node->in[0], c->node->out[0]);
	ask->in[0] = b.kind == SPREAD_CUT ? b : rows;
	ask->out[0] = b.kind == SPREAD_CUT ? b : rows.kind == SPREAD_CUT ? cut_partial : cut_whole;
	return true;
}

/* The dim that a norm reduces is never cut; any other cut of x passes, and its weight sums over
 * it. */
static bool rule_norm(const struct rule_context *c, struct ask *ask)
{
	struct dims x = dims_of(c, c->node->in[0]);
	struct cut cut = wanted(c, c->node->in[0]);
	if (cut.kind == SPREAD_CUT && cut.dim == x.at[x.n - 1])
		return false;
	all(c, ask, cut);
	ask->in[1] = cut_whole;
	ask->in[2] = cut_whole;
	return wanted(c, c->node->in[1]).kind == SPREAD_WHOLE;
}

static bool rule_norm_backward(const struct rule_context *c, struct ask *ask)
{
	struct cut cut = wanted(c, c->node->in[0]);
	all(c, ask, cut);
	ask->in[1] = cut_whole;
	for (uint32_t i = 1; i < c->node->nout; i++)
		ask->out[i] = cut.kind == SPREAD_CUT ? cut_partial : cut_whole;
	return true;
}

/* Positions are those of whole rows. */
static bool rule_rope(const struct rule_context *c, struct ask *ask)
{
	struct dims x = dims_of(c, c->node->in[0]);
	struct cut cut = wanted(c, c->node->in[0]);
	if (cut.kind == SPREAD_CUT && cut.dim == x.at[x.n - 1])
		return false;
	cut = is_rows(c, cut) ? cut_whole : cut;
	ask->in[0] = ask->out[0] = cut;
	ask->in[1] = cut_whole;
	return true;
}

static struct cut heads_cut(const struct rule_context *c, struct tensor_id t)
{
	struct dims dims = dims_of(c, t);
	struct cut cut = wanted(c, t);
	return cut.kind == SPREAD_CUT && cut.dim == dims.at[dims.n - 2] ? cut : cut_whole;
}

static bool rule_attend(const struct rule_context *c, struct ask *ask)
{
	const struct graph_node *n = c->node;
	for (int i = 0; i < 3; i++)
		ask->in[i] = heads_cut(c, n->in[i]);
	for (uint32_t i = 0; i < n->nout; i++)
		ask->out[i] = ask->in[0];
	return ask->in[1].kind == SPREAD_WHOLE || ask->in[0].kind == SPREAD_CUT;
}

static bool rule_attend_backward(const struct rule_context *c, struct ask *ask)
{
	const struct graph_node *n = c->node;
	bool good = rule_attend(c, ask);
	struct cut q = ask->in[0], k = ask->in[1];
	struct cut dk = k.kind == SPREAD_CUT || q.kind == SPREAD_WHOLE ? k : cut_partial;
	for (uint32_t i = 3; i < n->nin; i++)
		ask->in[i] = q;
	ask->out[0] = q;
	ask->out[1] = ask->out[2] = dk;
	BUG_IF(n->nout != 3, "attend_backward with %u results", n->nout);
	return good;
}

static bool rule_each(const struct rule_context *c, struct ask *ask)
{
	return all(c, ask, wanted(c, c->node->in[0]));
}

/* Sums of partial terms stay partial; else all operands as the result is wanted. */
static bool rule_sum(const struct rule_context *c, struct ask *ask)
{
	const struct graph_node *n = c->node;
	if (c->partial)
		return all(c, ask, cut_partial);
	struct cut y = wanted(c, n->out[0]);
	for (uint32_t i = 0; i < n->nin; i++)
		if (is_rows(c, y) && as_far_as(c, n->in[i], y).kind == SPREAD_WHOLE)
			y = cut_whole;
	for (uint32_t i = 0; i < n->nin; i++)
		ask->in[i] = as_far_as(c, n->in[i], y);
	ask->out[0] = y;
	return true;
}

static bool rule_product(const struct rule_context *c, struct ask *ask)
{
	struct rule_context whole = *c;
	whole.partial = false;
	return rule_sum(&whole, ask);
}

/* Summed over dims that y lacks: a cut of such a dim makes y partial. */
static bool rule_reduce(const struct rule_context *c, struct ask *ask)
{
	struct tensor_id x = c->node->in[0], y = c->node->out[0];
	struct cut cut = wanted(c, x);
	if (is_rows(c, cut))
		cut = cut_whole;
	bool keeps = as_far_as(c, y, cut).kind == SPREAD_CUT;
	ask->in[0] = cut;
	ask->out[0] = cut.kind != SPREAD_CUT ? cut_whole : keeps ? cut : cut_partial;
	return true;
}

/* Logits are whole or cut along their last dim. */
static struct cut logits_cut(const struct rule_context *c, struct tensor_id logits)
{
	struct dims dims = dims_of(c, logits);
	struct cut cut = wanted(c, logits);
	return cut.kind == SPREAD_CUT && cut.dim == dims.at[dims.n - 1] ? cut : cut_whole;
}

static bool rule_cross_entropy(const struct rule_context *c, struct ask *ask)
{
	all(c, ask, cut_whole);
	ask->in[0] = logits_cut(c, c->node->in[0]);
	return true;
}

static bool rule_cross_entropy_backward(const struct rule_context *c, struct ask *ask)
{
	all(c, ask, cut_whole);
	ask->in[0] = ask->out[0] = logits_cut(c, c->node->in[0]);
	return true;
}

static bool rule_whole(const struct rule_context *c, struct ask *ask)
{
	return all(c, ask, cut_whole);
}

static spread_rule_fn *const rules[] = {
	[OP_lookup] = rule_lookup,
	[OP_linear] = rule_linear,
	[OP_layernorm] = rule_norm,
	[OP_rmsnorm] = rule_norm,
	[OP_rope] = rule_rope,
	[OP_attend] = rule_attend,
	[OP_attend_stored] = rule_attend,
	[OP_gelu] = rule_each,
	[OP_gelu_erf] = rule_each,
	[OP_silu] = rule_each,
	[OP_relu] = rule_each,
	[OP_add] = rule_sum,
	[OP_sub] = rule_sum,
	[OP_mul] = rule_product,
	[OP_dropout] = rule_each,
	[OP_cross_entropy] = rule_cross_entropy,
	[OP_rope_table] = rule_whole,
	[OP_lookup_backward] = rule_lookup_backward,
	[OP_linear_input] = rule_linear_input,
	[OP_linear_weight] = rule_linear_weight,
	[OP_linear_bias] = rule_linear_bias,
	[OP_layernorm_backward] = rule_norm_backward,
	[OP_rmsnorm_backward] = rule_norm_backward,
	[OP_rope_backward] = rule_rope,
	[OP_attend_backward] = rule_attend_backward,
	[OP_attend_stored_backward] = rule_attend_backward,
	[OP_gelu_backward] = rule_each,
	[OP_gelu_erf_backward] = rule_each,
	[OP_silu_backward] = rule_each,
	[OP_relu_backward] = rule_each,
	[OP_scale] = rule_sum,
	[OP_reduce] = rule_reduce,
	[OP_cross_entropy_backward] = rule_cross_entropy_backward,
};

bool spread_rule(const struct rule_context *context, struct ask *ask)
{
	*ask = (struct ask){0};
	return rules[context->node->op](context, ask);
}
