/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of each operator: nodes that turn the gradient `dy` of its result into terms for its
 * operands and parameters. Derivatives are those of the textbook definitions in plan/operators.def;
 * tests/numeric compares every rule with finite differences. */
#include "graph/build.h"

#include <string.h>

#include "base/bug.h"

static struct graph_node forward(const struct builder *b, uint32_t node)
{
	return b->nodes.at[node];
}

/* The accumulator of this use of a weight: uses come back in reverse order of the text, so the
 * site is found by the node that reads the weight. */
static struct tensor_id gradient_of(const struct builder *b, uint32_t node, struct tensor_id weight)
{
	const struct param *param = &b->params.at[b->tensors.at[weight.at].param];
	uint32_t site = 0;
	for (uint32_t i = 0; i < node; i++)
		for (uint32_t k = 0; k < b->nodes.at[i].nin; k++)
			site += !b->nodes.at[i].backward && b->nodes.at[i].in[k].at == weight.at;
	BUG_IF(site >= param->sites, "parameter %s has no site %u", param->path, site);
	return param->gradient[site];
}

/* A node with one new result that is a term of the gradient of `of`. */
static void term(struct builder *b, enum op op, struct tensor_id of, struct span span,
		 const struct tensor_id *in, uint32_t nin)
{
	if (!adjoint_wanted(b, of))
		return;
	struct tensor_id dx = adjoint_new(b, of, span);
	struct graph_node *node = build_node(b, op, span);
	memcpy(node->in, in, nin * sizeof *in);
	node->out[0] = dx;
	adjoint_add(b, of, dx, true);
}

/* Forward, `scale` copies what enters the layers. */
void gradient_copy(struct builder *b, uint32_t node, struct tensor_id dy)
{
	struct graph_node f = forward(b, node);
	BUG_IF(f.scalar[0] != 1, "a copy times %g", f.scalar[0]);
	if (adjoint_wanted(b, f.in[0]))
		adjoint_add(b, f.in[0], dy, false);
}

void gradient_nothing(struct builder *b, uint32_t node, struct tensor_id dy)
{
	(void)b;
	(void)node;
	(void)dy;
}

void gradient_lookup(struct builder *b, uint32_t node, struct tensor_id dy)
{
	struct graph_node f = forward(b, node);
	struct tensor_id grad = gradient_of(b, node, f.in[1]);
	struct graph_node *n = build_node(b, OP_lookup_backward, f.span);
	n->in[0] = f.in[0];
	n->in[1] = dy;
	n->out[0] = grad;
}

/* dx = dy W; a second term is added in the same product, so the sum costs no pass of its own. */
static void linear_input(struct builder *b, const struct graph_node *f, struct tensor_id dy)
{
	struct tensor_id x = f->in[0];
	if (!adjoint_wanted(b, x))
		return;
	struct adjoint *sum = &b->adjoints[x.at];
	struct tensor_id so_far = sum->owned ? sum->sum : no_tensor;
	struct tensor_id dx = adjoint_new(b, x, f->span);
	struct graph_node *n = build_node(b, OP_linear_input, f->span);
	n->in[0] = dy;
	n->in[1] = f->in[1];
	n->in[2] = so_far;
	n->out[0] = dx;
	n->adds = so_far.at != NO_ID;
	if (n->adds)
		*sum = (struct adjoint){dx, true};
	else
		adjoint_add(b, x, dx, true);
}

void gradient_linear(struct builder *b, uint32_t node, struct tensor_id dy)
{
	struct graph_node f = forward(b, node);
	struct graph_node *n = build_node(b, OP_linear_weight, f.span);
	n->in[0] = dy;
	n->in[1] = f.in[0];
	n->out[0] = gradient_of(b, node, f.in[1]);
	if (f.in[2].at != NO_ID) {
		n = build_node(b, OP_linear_bias, f.span);
		n->in[0] = dy;
		n->out[0] = gradient_of(b, node, f.in[2]);
	}
	linear_input(b, &f, dy);
}

static void norm(struct builder *b, uint32_t node, struct tensor_id dy, enum op op)
{
	struct graph_node f = forward(b, node);
	struct tensor_id dx = adjoint_new(b, f.in[0], f.span);
	struct tensor_id dweight = gradient_of(b, node, f.in[1]);
	struct graph_node *n = build_node(b, op, f.span);
	uint32_t k = 0;
	n->in[k++] = f.in[0];
	n->in[k++] = f.in[1];
	for (uint32_t i = 1; i < f.nout; i++)
		n->in[k++] = f.out[i];
	n->in[k] = dy;
	n->out[0] = dx;
	n->out[1] = dweight;
	if (op == OP_layernorm_backward)
		n->out[2] = gradient_of(b, node, f.in[2]);
	adjoint_add(b, f.in[0], dx, true);
}

void gradient_layernorm(struct builder *b, uint32_t node, struct tensor_id dy)
{
	norm(b, node, dy, OP_layernorm_backward);
}

void gradient_rmsnorm(struct builder *b, uint32_t node, struct tensor_id dy)
{
	norm(b, node, dy, OP_rmsnorm_backward);
}

void gradient_rope(struct builder *b, uint32_t node, struct tensor_id dy)
{
	struct graph_node f = forward(b, node);
	term(b, OP_rope_backward, f.in[0], f.span, (struct tensor_id[]){dy, f.in[1]}, 2);
}

/* Backward of `op` reads q, k, v, what forward made (`made` tensors of it) and dy. */
static void attend(struct builder *b, uint32_t node, struct tensor_id dy, enum op op, int made)
{
	struct graph_node f = forward(b, node);
	struct tensor_id d[3];
	for (int i = 0; i < 3; i++)
		d[i] = adjoint_new(b, f.in[i], f.span);
	struct graph_node *n = build_node(b, op, f.span);
	memcpy(n->in, f.in, 3 * sizeof f.in[0]);
	memcpy(n->in + 3, f.out, (size_t)made * sizeof f.out[0]);
	n->in[3 + made] = dy;
	memcpy(n->out, d, sizeof d);
	for (int i = 0; i < 3; i++)
		adjoint_add(b, f.in[i], d[i], true);
}

void gradient_attend(struct builder *b, uint32_t node, struct tensor_id dy)
{
	attend(b, node, dy, OP_attend_backward, 2);
}

void gradient_attend_stored(struct builder *b, uint32_t node, struct tensor_id dy)
{
	attend(b, node, dy, OP_attend_stored_backward, 4);
}

void gradient_unary(struct builder *b, uint32_t node, struct tensor_id dy)
{
	struct graph_node f = forward(b, node);
	enum op op = f.op == OP_gelu	   ? OP_gelu_backward
		     : f.op == OP_gelu_erf ? OP_gelu_erf_backward
		     : f.op == OP_silu	   ? OP_silu_backward
					   : OP_relu_backward;
	term(b, op, f.in[0], f.span, (struct tensor_id[]){f.in[0], dy}, 2);
}

/* A term for an operand that may lack dims of the result: summed over them. owned: `dy` was made
 * for this operand alone. */
static void broadcast_term(struct builder *b, struct tensor_id of, struct tensor_id dy, bool owned)
{
	if (!adjoint_wanted(b, of))
		return;
	struct span span = b->nodes.at[b->origin].span;
	if (build_dims(b, of).n == build_dims(b, dy).n)
		adjoint_add(b, of, dy, owned);
	else
		term(b, OP_reduce, of, span, &dy, 1);
}

void gradient_add(struct builder *b, uint32_t node, struct tensor_id dy)
{
	struct graph_node f = forward(b, node);
	broadcast_term(b, f.in[0], dy, false);
	broadcast_term(b, f.in[1], dy, false);
}

/* A tensor like dy, the result of an operator on dy: a step on the way to a term. */
static struct tensor_id like(struct builder *b, struct tensor_id dy, const char *what,
			     struct span span)
{
	char *name = arena_text(b->work->keep, "%s_%s", b->tensors.at[dy.at].name->text, what);
	return build_tensor(b, ROLE_ADJOINT, name, "step", span, build_dims(b, dy));
}

void gradient_sub(struct builder *b, uint32_t node, struct tensor_id dy)
{
	struct graph_node f = forward(b, node);
	broadcast_term(b, f.in[0], dy, false);
	if (!adjoint_wanted(b, f.in[1]))
		return;
	struct tensor_id minus = like(b, dy, "negated", f.span);
	struct graph_node *n = build_node(b, OP_scale, f.span);
	n->in[0] = dy;
	n->out[0] = minus;
	n->scalar[0] = -1;
	broadcast_term(b, f.in[1], minus, true);
}

void gradient_mul(struct builder *b, uint32_t node, struct tensor_id dy)
{
	struct graph_node f = forward(b, node);
	for (int i = 0; i < 2; i++) {
		if (!adjoint_wanted(b, f.in[i]))
			continue;
		struct tensor_id product = like(b, dy, i ? "times_left" : "times_right", f.span);
		struct graph_node *n = build_node(b, OP_mul, f.span);
		n->in[0] = dy;
		n->in[1] = f.in[!i];
		n->out[0] = product;
		broadcast_term(b, f.in[i], product, true);
	}
}

void gradient_dropout(struct builder *b, uint32_t node, struct tensor_id dy)
{
	struct graph_node f = forward(b, node);
	term(b, OP_dropout, f.in[0], f.span, &dy, 1);
}

void gradient_cross_entropy(struct builder *b, uint32_t node, struct tensor_id dy)
{
	struct graph_node f = forward(b, node);
	struct tensor_id in[3] = {f.in[0], f.in[1], f.out[0]};
	(void)dy;
	term(b, OP_cross_entropy_backward, f.in[0], f.span, in, 3);
}
