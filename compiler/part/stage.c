/* SPDX-License-Identifier: Apache-2.0 */
#include "part/stage.h"

#include "base/bug.h"
#include "part/turns.h"

/* `even` and `spread`: equal runs, the first ones a layer longer where they do not divide. */
static const struct chunk *cut_layers(const struct graph *graph, uint32_t parts,
				      struct arena *arena)
{
	struct chunk *chunks = ARENA_ARRAY(arena, struct chunk, parts);
	const struct plan *plan = graph->plan;
	uint64_t layers = graph->model->layers, first = 0;
	for (uint32_t v = 0; v < parts; v++) {
		uint64_t count = layers / parts + (v < layers % parts);
		if (plan->nlayer_list == parts && parts > 1)
			count = (uint64_t)plan->layer_list[v].i;
		chunks[v] = (struct chunk){first, count};
		first += count;
	}
	return chunks;
}

static void cut_schedule(const struct graph *graph, struct stages *out, struct arena *arena)
{
	const struct plan *plan = graph->plan;
	bool gpipe = out->n > 1 && name_is(plan->pipeline.schedule.word, "gpipe");
	bool past = out->npast[false] || out->npast[true];
	out->schedule = (struct rt_schedule){.kind = gpipe ? RT_GPIPE : RT_1F1B,
					     .micro_batches = (uint32_t)plan->micro_batches,
					     .stages = out->n,
					     .chunks = out->chunks,
					     .past = past};
	if (out->n > 1)
		out->walks = turns_walks(&out->schedule, arena);
	out->head_alone = out->n > 1 &&
			  turns_head_alone(&out->schedule, &out->walks[out->n - 1]);
}

/* Where parameters are used: forward reads the weight, backward adds to the gradient of its use. */
static void find_uses(const struct graph *graph, struct stages *out, struct arena *arena)
{
	uint8_t *regions = ARENA_ARRAY(arena, uint8_t, graph->nparams + 1);
	uint8_t(*sites)[SITES_MAX] = arena_array(arena, graph->nparams + 1, sizeof *sites);
	for (uint32_t i = 0; i < graph->nnodes; i++) {
		const struct graph_node *node = &graph->nodes[i];
		for (uint32_t k = 0; k < node->nin + node->nout; k++) {
			struct tensor_id id =
				k < node->nin ? node->in[k] : node->out[k - node->nin];
			if (id.at == NO_ID || graph->tensors[id.at].param == NO_ID)
				continue;
			const struct tensor *t = &graph->tensors[id.at];
			regions[t->param] |= (uint8_t)(1u << node->region);
			if (t->role == ROLE_GRADIENT)
				sites[t->param][t->site] = (uint8_t)node->region;
		}
	}
	out->regions = regions;
	out->sites = sites;
}

static bool handed_on(const struct graph *g, const uint32_t *storage, uint32_t t)
{
	const struct tensor_id ends[] = {g->carried_in, g->carried_out, g->adjoint_in,
					 g->adjoint_out};
	for (uint32_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends[i].at != NO_ID && storage[ends[i].at] == storage[t])
			return true;
	return false;
}

bool stage_past(const struct stages *stages, bool backward, uint32_t tensor)
{
	for (uint32_t i = 0; i < stages->npast[backward]; i++)
		if (stages->past[backward][i] == tensor)
			return true;
	return false;
}

/* The language lets nothing but the carried tensor into the layers or out of them (E0214). */
static void find_past_of(const struct graph *g, const uint32_t *storage, bool backward,
			 struct stages *out, struct arena *arena)
{
	enum region from = backward ? REGION_AFTER : REGION_BEFORE;
	enum region to = backward ? REGION_BEFORE : REGION_AFTER;
	uint32_t *past = ARENA_ARRAY(arena, uint32_t, g->ntensors + 1);
	out->past[backward] = past;
	for (uint32_t i = 0; i < g->nnodes; i++)
		for (uint32_t k = 0; k < g->nodes[i].nin; k++) {
			struct tensor_id in = g->nodes[i].in[k];
			if (in.at == NO_ID)
				continue;
			const struct tensor *t = &g->tensors[in.at];
			bool adjoint = t->role == ROLE_ADJOINT;
			bool made = adjoint || t->role == ROLE_VALUE || t->role == ROLE_STATISTIC;
			if (!made || adjoint != backward || t->region == g->nodes[i].region ||
			    handed_on(g, storage, in.at) ||
			    stage_past(out, backward, storage[in.at]))
				continue;
			BUG_IF(t->region != from || g->nodes[i].region != to,
			       "`%s` crosses the border of the layers", t->name->text);
			past[out->npast[backward]++] = storage[in.at];
		}
}

static void find_past(const struct graph *g, const uint32_t *storage, struct stages *out,
		      struct arena *arena)
{
	if (out->n == 1)
		return;
	find_past_of(g, storage, false, out, arena);
	find_past_of(g, storage, true, out, arena);
}

/* No tie crosses the border of the repeated block (E0217). */
static void verify_uses(const struct graph *g, const struct stages *stages)
{
	for (uint32_t i = 0; i < g->nparams; i++) {
		uint32_t regions = stages->regions[i];
		BUG_IF(regions >> REGION_REPEAT & 1 && (regions & (regions - 1)) != 0,
		       "`%s` is used by the layers and outside of them", g->params[i].path);
	}
}

void stages_cut(const struct graph *local, const uint32_t *storage, struct stages *out,
		struct work *work)
{
	const struct plan *plan = local->plan;
	*out = (struct stages){.n = plan->stages > 1 ? (uint32_t)plan->stages : 1, .chunks = 1};
	if (out->n > 1)
		out->chunks = (uint32_t)plan->pipeline.chunks.i;
	out->layers = cut_layers(local, out->n * out->chunks, work->keep);
	find_uses(local, out, work->keep);
	verify_uses(local, out);
	find_past(local, storage, out, work->keep);
	cut_schedule(local, out, work->keep);
}

void stage_regions(const struct stages *stages, uint32_t stage, bool has[REGIONS])
{
	has[REGION_BEFORE] = stage == 0;
	has[REGION_REPEAT] = true;
	has[REGION_AFTER] = stage + 1 == stages->n;
}

uint32_t stage_of_region(const struct stages *stages, enum region region)
{
	return region == REGION_AFTER ? stages->n - 1 : 0;
}
