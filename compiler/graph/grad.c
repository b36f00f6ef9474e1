/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse mode over the rolled graph: after, repeat, before. The gradient of the tensor that the
 * repeated block carries is one buffer between blocks, so it is always a tensor of its own. */
#include "graph/build.h"

#include <string.h>

#include "base/bug.h"

typedef void gradient_rule(struct builder *b, uint32_t node, struct tensor_id dy);

static gradient_rule *const rules[] = {
#define OP(name, ins, outs, gradient, backward, doc) gradient_##gradient,
#include "graph/ops.def"
#undef OP
};

bool adjoint_wanted(const struct builder *b, struct tensor_id of)
{
	return of.at != NO_ID && b->tensors.at[of.at].role == ROLE_VALUE;
}

struct tensor_id adjoint_new(struct builder *b, struct tensor_id of, struct span span)
{
	const struct graph_node *from = &b->nodes.at[b->origin];
	const char *of_name = b->tensors.at[of.at].name->text;
	const char *by = b->tensors.at[from->out[0].at].name->text;
	char *name = arena_text(b->work->keep, "%s_grad", of_name);
	return build_tensor(b, ROLE_ADJOINT, name, by, span, build_dims(b, of));
}

void adjoint_add(struct builder *b, struct tensor_id of, struct tensor_id term, bool owned)
{
	struct adjoint *sum = &b->adjoints[of.at];
	if (sum->sum.at == NO_ID) {
		*sum = (struct adjoint){term, owned};
		return;
	}
	struct span span = b->nodes.at[b->origin].span;
	struct tensor_id y = adjoint_new(b, of, span);
	struct graph_node *node = build_node(b, OP_add, span);
	node->in[0] = sum->sum;
	node->in[1] = term;
	node->out[0] = y;
	*sum = (struct adjoint){y, true};
}

/* Makes the gradient of `of` a tensor of its own. */
static struct tensor_id own(struct builder *b, struct tensor_id of)
{
	struct adjoint *sum = &b->adjoints[of.at];
	if (sum->owned)
		return sum->sum;
	struct span span = b->tensors.at[of.at].span;
	struct tensor_id y = adjoint_new(b, of, span);
	struct graph_node *node = build_node(b, OP_scale, span);
	node->in[0] = sum->sum;
	node->out[0] = y;
	node->scalar[0] = 1;
	*sum = (struct adjoint){y, true};
	return y;
}

static void backward_region(struct builder *b, enum region region, uint32_t forward_nodes)
{
	b->region = region;
	for (uint32_t i = forward_nodes; i-- > 0;) {
		const struct graph_node *node = &b->nodes.at[i];
		if (node->backward || node->region != region)
			continue;
		b->origin = i;
		struct tensor_id dy = b->adjoints[node->out[0].at].sum;
		if (dy.at != NO_ID || node->op == OP_cross_entropy)
			rules[node->op](b, i, dy);
	}
}

void build_backward(struct builder *b)
{
	struct graph *g = b->graph;
	uint32_t forward_nodes = b->nodes.n;
	b->nadjoints = b->tensors.n;
	b->adjoints = ARENA_ARRAY(b->work->scratch, struct adjoint, b->nadjoints + 1);
	for (uint32_t i = 0; i < b->nadjoints; i++)
		b->adjoints[i] = (struct adjoint){no_tensor, false};
	b->backward = true;
	backward_region(b, REGION_AFTER, forward_nodes);
	if (g->carried_out.at != NO_ID) {
		g->adjoint_out = own(b, g->carried_out);
		b->tensors.at[g->adjoint_out.at].carried = true;
		b->adjoints[g->carried_out.at].owned = false;
		backward_region(b, REGION_REPEAT, forward_nodes);
		g->adjoint_in = own(b, g->carried_in);
		b->tensors.at[g->adjoint_in.at].carried = true;
		b->adjoints[g->carried_in.at].owned = false;
	}
	backward_region(b, REGION_BEFORE, forward_nodes);
}
