/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes are taken again is decided once, on the forward nodes of the rolled graph; backward
 * nodes follow by what they read. As late as possible, so that a group that is needed late does not
 * lie in memory from the start. */
#include "part/recompute.h"

#include <string.h>

#include "base/bug.h"
#include "base/vec.h"

struct redo {
	const struct flow *flow;
	const struct graph *g;
	const struct recompute *how;
	struct work *work;
	uint32_t *maker;  /* by tensor: forward node, or NO_ID */
	bool *chosen;     /* by forward node */
	bool *handed;     /* by tensor: a later forward segment, or the runtime, reads it */
	uint32_t *copy;   /* by tensor: made again as, or NO_ID */
	bool *needed;     /* by forward node: to be taken again now */
	VEC(struct tensor) tensors;
	VEC(struct spread) spreads;
	VEC(struct graph_node) nodes;
};

const struct recompute *recompute_of(const struct plan *plan, uint32_t stage)
{
	for (uint32_t i = 0; i < plan->nrecompute; i++) {
		const struct recompute *one = &plan->recompute[i];
		bool all = one->first_stage < 0;
		if (all || (one->first_stage <= stage && stage <= one->last_stage))
			return one->kind == RECOMPUTE_NONE ? NULL : one;
	}
	return NULL;
}

/* ---- choice --------------------------------------------------------------------------------- */

/* From one spread, or type of a wire, to another: one tensor in, the same tensor out. */
static bool is_mend(const struct graph_node *node)
{
	switch ((int)node->op) {
	case OP_all_reduce:
	case OP_all_reduce_max:
	case OP_reduce_scatter:
	case OP_all_gather:
	case OP_slice:
	case OP_narrow:
	case OP_widen:
		return true;
	default:
		return false;
	}
}

static bool in_group(const char *group, const char *name)
{
	size_t n = strlen(name);
	return !strncmp(group, name, n) && (!group[n] || group[n] == '.');
}

static bool is_named(const struct recompute *how, const struct graph_node *node)
{
	if (how->kind == RECOMPUTE_BLOCK)
		return node->region == REGION_REPEAT;
	for (uint32_t i = 0; i < how->ngroups; i++)
		if (in_group(node->group, how->groups[i]))
			return true;
	return false;
}

/* A mend goes with the node that made its operand, whoever asked for it: a sum in place must not be
 * taken twice on one buffer. */
static void choose(struct redo *r)
{
	for (uint32_t i = 0; i < r->g->nnodes; i++) {
		const struct graph_node *node = &r->g->nodes[i];
		if (node->backward || node->op == OP_rope_table)
			continue;
		uint32_t from = is_mend(node) ? r->maker[node->in[0].at] : NO_ID;
		r->chosen[i] = is_mend(node) ? from != NO_ID && r->chosen[from]
					     : is_named(r->how, node);
		for (uint32_t k = 0; k < node->nout; k++)
			if (node->out[k].at != NO_ID)
				r->maker[node->out[k].at] = i;
	}
}

static void hand(struct redo *r, struct tensor_id t)
{
	if (t.at != NO_ID)
		r->handed[t.at] = true;
}

static void find_handed(struct redo *r)
{
	const struct graph *g = r->g;
	for (uint32_t i = 0; i < g->nnodes; i++)
		for (uint32_t k = 0; !g->nodes[i].backward && k < g->nodes[i].nin; k++) {
			struct tensor_id t = g->nodes[i].in[k];
			if (t.at != NO_ID && r->maker[t.at] != NO_ID &&
			    g->nodes[r->maker[t.at]].region != g->nodes[i].region)
				hand(r, t);
		}
	hand(r, g->carried_in);
	hand(r, g->carried_out);
	hand(r, g->logits);
}

/* There when the backward pass of `region` begins. */
static bool is_kept(const struct redo *r, struct tensor_id t, enum region region)
{
	uint32_t maker = r->maker[t.at];
	if (maker == NO_ID || r->g->nodes[maker].region != region)
		return true;
	return r->flow->settled[t.at] && (!r->chosen[maker] || r->handed[t.at]);
}

/* ---- the new graph: forward nodes keep their numbers ---------------------------------------- */

static bool is_taken(const struct redo *r, const struct name *name)
{
	for (uint32_t i = 0; i < r->tensors.n; i++)
		if (r->tensors.at[i].name == name)
			return true;
	return false;
}

static const struct name *name_again(const struct redo *r, const struct name *name)
{
	char *text = arena_text(r->work->keep, "%s_recomputed", name->text);
	while (is_taken(r, name_of(r->work->names, text)))
		text = arena_text(r->work->keep, "%s_again", text);
	return name_of(r->work->names, text);
}

static void copy_tensor(struct redo *r, struct tensor_id t)
{
	struct tensor tensor = r->g->tensors[t.at];
	struct spread spread = r->flow->spreads[t.at];
	tensor.name = name_again(r, tensor.name);
	tensor.again = true;
	tensor.carried = false;
	r->copy[t.at] = r->tensors.n;
	vec_push(r->work->keep, &r->tensors, tensor);
	vec_push(r->work->keep, &r->spreads, spread);
}

static struct tensor_id as_read(const struct redo *r, struct tensor_id t, enum region region)
{
	if (t.at == NO_ID || is_kept(r, t, region))
		return t;
	BUG_IF(r->copy[t.at] == NO_ID, "`%s` is neither kept nor made again",
	       r->g->tensors[t.at].name->text);
	return (struct tensor_id){r->copy[t.at]};
}

static void push_node(struct redo *r, uint32_t at)
{
	struct graph_node node = r->g->nodes[at];
	for (uint32_t k = 0; node.backward && k < node.nin; k++)
		node.in[k] = as_read(r, node.in[k], node.region);
	vec_push(r->work->keep, &r->nodes, node);
}

static void take_again(struct redo *r, uint32_t at)
{
	struct graph_node node = r->g->nodes[at];
	node.again = node.backward = true;
	node.origin = at;
	for (uint32_t k = 0; k < node.nin; k++)
		node.in[k] = as_read(r, node.in[k], node.region);
	for (uint32_t k = 0; k < node.nout; k++)
		if (node.out[k].at != NO_ID) {
			copy_tensor(r, node.out[k]);
			node.out[k].at = r->copy[node.out[k].at];
		}
	vec_push(r->work->keep, &r->nodes, node);
}

static bool demand(struct redo *r, const struct graph_node *node, enum region region)
{
	bool any = false;
	for (uint32_t k = 0; k < node->nin; k++) {
		struct tensor_id t = node->in[k];
		if (t.at == NO_ID || is_kept(r, t, region) || r->copy[t.at] != NO_ID)
			continue;
		r->needed[r->maker[t.at]] = any = true;
	}
	return any;
}

/* Before a backward node: what it reads and is gone, and what that takes. Makers stand in front of
 * their readers, so one way back over the region finds all. */
static void make_operands(struct redo *r, uint32_t at)
{
	const struct graph_node *node = &r->g->nodes[at];
	uint32_t first = r->g->first[false][node->region];
	uint32_t count = r->g->count[false][node->region];
	if (!demand(r, node, node->region))
		return;
	for (uint32_t i = first + count; i-- > first;)
		if (r->needed[i])
			demand(r, &r->g->nodes[i], node->region);
	for (uint32_t i = first; i < first + count; i++) {
		if (r->needed[i])
			take_again(r, i);
		r->needed[i] = false;
	}
}

/* Kept for nodes that are taken again and for their gradients, and for nobody else. */
static void find_instead(struct redo *r)
{
	bool *others = ARENA_ARRAY(r->work->scratch, bool, r->tensors.n + 1);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < r->nodes.n; i++) {
			const struct graph_node *node = &r->nodes.at[i];
			bool own = node->again || r->chosen[node->origin];
			for (uint32_t k = 0; node->backward && k < node->nin; k++) {
				uint32_t t = node->in[k].at;
				if (t == NO_ID)
					continue;
				others[t] |= !own;
				r->tensors.at[t].instead |= pass && node->again && !others[t];
			}
		}
}

static void number_regions(struct graph *g)
{
	memset(g->first, 0, sizeof g->first);
	memset(g->count, 0, sizeof g->count);
	for (uint32_t i = g->nnodes; i-- > 0;) {
		g->first[g->nodes[i].backward][g->nodes[i].region] = i;
		g->count[g->nodes[i].backward][g->nodes[i].region]++;
	}
}

static void start(struct redo *r)
{
	struct arena *scratch = r->work->scratch;
	const struct graph *g = r->g;
	r->maker = ARENA_ARRAY(scratch, uint32_t, g->ntensors + 1);
	r->copy = ARENA_ARRAY(scratch, uint32_t, g->ntensors + 1);
	r->handed = ARENA_ARRAY(scratch, bool, g->ntensors + 1);
	r->chosen = ARENA_ARRAY(scratch, bool, g->nnodes + 1);
	r->needed = ARENA_ARRAY(scratch, bool, g->nnodes + 1);
	for (uint32_t t = 0; t < g->ntensors; t++) {
		r->maker[t] = r->copy[t] = NO_ID;
		vec_push(r->work->keep, &r->tensors, g->tensors[t]);
		vec_push(r->work->keep, &r->spreads, r->flow->spreads[t]);
	}
	choose(r);
	find_handed(r);
}

void flow_recompute(const struct flow *flow, const struct recompute *how, struct flow *out,
		    struct work *work)
{
	struct redo r = {.flow = flow, .g = &flow->graph, .how = how, .work = work};
	start(&r);
	for (uint32_t i = 0; i < r.g->nnodes; i++) {
		if (r.g->nodes[i].backward)
			make_operands(&r, i);
		push_node(&r, i);
	}
	find_instead(&r);
	*out = *flow;
	out->spreads = r.spreads.at;
	out->settled = NULL;
	out->graph.tensors = r.tensors.at;
	out->graph.ntensors = r.tensors.n;
	out->graph.nodes = r.nodes.at;
	out->graph.nnodes = r.nodes.n;
	number_regions(&out->graph);
}
