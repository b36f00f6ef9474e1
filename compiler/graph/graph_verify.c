/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"

#include <string.h>

#include "base/bug.h"

struct seen {
	const struct graph *graph;
	bool *made; /* by tensor */
};

static const char *tensor_name(const struct graph *graph, struct tensor_id t)
{
	return graph->tensors[t.at].name->text;
}

static bool is_source(enum tensor_role role)
{
	return role == ROLE_GIVEN || role == ROLE_PARAM || role == ROLE_GRADIENT;
}

static void verify_reads(const struct seen *seen, uint32_t at)
{
	const struct graph *g = seen->graph;
	const struct graph_node *node = &g->nodes[at];
	for (uint32_t i = 0; i < node->nin; i++) {
		struct tensor_id t = node->in[i];
		if (t.at == NO_ID)
			continue;
		BUG_IF(t.at >= g->ntensors, "node %u reads tensor %u of %u", at, t.at, g->ntensors);
		bool ready = is_source(g->tensors[t.at].role) || seen->made[t.at];
		BUG_IF(!ready, "node %u (%s) reads `%s` before it is made", at,
		       op_row(node->op)->name, tensor_name(g, t));
	}
}

static void verify_writes(const struct seen *seen, uint32_t at)
{
	const struct graph *g = seen->graph;
	const struct graph_node *node = &g->nodes[at];
	for (uint32_t i = 0; i < node->nout; i++) {
		struct tensor_id t = node->out[i];
		if (t.at == NO_ID)
			continue;
		BUG_IF(t.at >= g->ntensors, "node %u makes tensor %u of %u", at, t.at, g->ntensors);
		enum tensor_role role = g->tensors[t.at].role;
		BUG_IF(role == ROLE_GIVEN || role == ROLE_PARAM, "node %u writes `%s`", at,
		       tensor_name(g, t));
		BUG_IF(role != ROLE_GRADIENT && seen->made[t.at], "`%s` is made twice",
		       tensor_name(g, t));
		seen->made[t.at] = true;
	}
}

static void verify_region(const struct graph *g, uint32_t at)
{
	const struct graph_node *node = &g->nodes[at];
	uint32_t first = g->first[node->backward][node->region];
	uint32_t count = g->count[node->backward][node->region];
	BUG_IF(at < first || at >= first + count, "node %u lies outside its region", at);
	BUG_IF(node->backward && g->nodes[node->origin].backward,
	       "node %u stems from a backward node", at);
	BUG_IF(node->backward != op_row(node->op)->backward && !node->backward,
	       "node %u (%s) is in the wrong phase", at, op_row(node->op)->name);
}

static void verify_params(const struct graph *g, const bool *made)
{
	for (uint32_t i = 0; i < g->nparams; i++) {
		const struct param *p = &g->params[i];
		BUG_IF(p->sites == 0 || p->sites > SITES_MAX, "%s has %u uses", p->path, p->sites);
		for (uint32_t k = 0; k < p->sites; k++) {
			const struct tensor *grad = &g->tensors[p->gradient[k].at];
			BUG_IF(grad->role != ROLE_GRADIENT || grad->param != i || grad->site != k,
			       "%s: accumulator %u is another's", p->path, k);
			BUG_IF(!made[p->gradient[k].at] && g->loss_rows.at == NO_ID,
			       "%s: use %u gets no gradient", p->path, k);
		}
	}
}

void graph_verify(const struct graph *graph)
{
	struct arena *arena = arena_new();
	struct seen seen = {graph, ARENA_ARRAY(arena, bool, graph->ntensors + 1)};
	for (uint32_t i = 0; i < graph->nnodes; i++) {
		verify_region(graph, i);
		verify_reads(&seen, i);
		verify_writes(&seen, i);
	}
	verify_params(graph, seen.made);
	arena_delete(arena);
}
