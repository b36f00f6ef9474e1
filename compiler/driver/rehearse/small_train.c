/* SPDX-License-Identifier: Apache-2.0 */
/* Layers and batches of a small plan. */
#include "driver/rehearse/small.h"

#include "plan/rules/plan_rules.h"

enum { CHUNKS = 2, CHUNK_LAYERS = 2, LAYERS = 3, MICRO_BATCHES = 3 };

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* --- layers ----------------------------------------------------------------------------- */

/* The chunk of the plan that a chunk of the small plan stands for, in the order of the layers. */
static uint64_t full_chunk(const struct plan *plan, const struct small *small, int64_t chunk)
{
	int64_t round = chunk / small->stages, stage = chunk % small->stages;
	int64_t last = small->chunks - 1;

	if (last)
		round = round * (plan->pipeline.chunks.i - 1) / last;
	return (uint64_t)(round * plan->stages + small->stage_of[stage]);
}

/* How many different smaller numbers of layers the chunks of the plan have. */
static int64_t kinds_below(const struct plan *plan, uint64_t layers)
{
	int64_t kinds = 0;

	for (uint32_t i = 0; i < plan->nlayer_list; i++) {
		uint64_t mine = small_full_layers(plan, i);
		bool first = mine < layers;

		for (uint32_t k = 0; k < i && first; k++)
			first = small_full_layers(plan, k) != mine;
		kinds += first;
	}
	return kinds;
}

static uint64_t fewest(const struct plan *plan)
{
	uint64_t all = (uint64_t)(plan->stages * plan->pipeline.chunks.i);
	uint64_t layers = small_full_layers(plan, 0);

	for (uint64_t i = 1; i < all; i++)
		if (small_full_layers(plan, i) < layers)
			layers = small_full_layers(plan, i);
	return layers;
}

/* Chunks of different numbers of layers keep their order: 15 and 17 become 2 and 3. */
static void set_list(const struct plan *plan, struct small *out, struct work *work)
{
	int64_t all = out->stages * out->chunks, first = least((int64_t)fewest(plan), CHUNK_LAYERS);

	out->list = ARENA_ARRAY(work->keep, int64_t, all);
	for (int64_t i = 0; i < all; i++) {
		uint64_t layers = small_full_layers(plan, full_chunk(plan, out, i));

		out->list[i] = first + kinds_below(plan, layers);
		out->layers += out->list[i];
	}
}

/* Equal chunks, or the first ones a layer longer. */
static void set_even(const struct plan *plan, struct small *out)
{
	int64_t all = out->stages * out->chunks, longer = 0;
	uint64_t few = fewest(plan);
	bool even = plan->model->layers % (uint64_t)(plan->stages * plan->pipeline.chunks.i) == 0;

	for (int64_t i = 0; i < all && !even; i++)
		longer += small_full_layers(plan, full_chunk(plan, out, i)) > few;
	if (!even)
		longer = longer < 1 ? 1 : least(longer, all - 1);
	out->layers = all * least((int64_t)few, CHUNK_LAYERS) + longer;
}

void small_layers(const struct plan *plan, struct small *out, struct work *work)
{
	int64_t full = (int64_t)plan->model->layers, ahead = plan->zero.prefetch.i, inside;

	out->chunks = plan->stages > 1 ? least(plan->pipeline.chunks.i, CHUNKS) : 1;
	out->layers = 0;
	if (plan->stages <= 1)
		out->layers = least(full, LAYERS);
	else if (plan->nlayer_list)
		set_list(plan, out, work);
	else
		set_even(plan, out);
	inside = out->layers / (out->stages * out->chunks);
	out->prefetch = least(ahead, inside > 1 ? inside - 1 : 1);
}

/* --- batches ---------------------------------------------------------------------------- */

static int64_t lanes_a_rank(const struct plan *plan)
{
	const struct value *lanes = &plan->train.lanes;

	return lanes->origin != ORIGIN_UNSET && lanes->i > plan->data_ranks
		       ? lanes->i / plan->data_ranks
		       : 1;
}

/* Micro-batches of p stages: fewer, a multiple, or with a remainder; a number per lane. */
static bool same_regime(const struct plan *plan, const struct small *small, int64_t m, int64_t own)
{
	int64_t full = plan->micro_batches, p = small->stages;

	if (m % own || (full / lanes_a_rank(plan) > 1) != (m / own > 1))
		return false;
	if (full < plan->stages)
		return m < p;
	return m >= p && (m % p == 0) == (full % plan->stages == 0);
}

/* The fewest of the regime; over 2 p where the plan has over twice its stages. */
static int64_t micro_batches(const struct plan *plan, const struct small *small, int64_t own)
{
	int64_t full = plan->micro_batches, p = small->stages, from = full > 1 ? 2 : 1, to;

	if (p > 1 && full > 2 * plan->stages)
		from = 2 * p + 1;
	else if (p > 1 && full > plan->stages)
		from = p + 1;
	if (p == 1)
		from = least(full, MICRO_BATCHES);
	to = from + 4 * p * own;
	for (int64_t m = from; m < to; m++)
		if (same_regime(plan, small, m, own))
			return m;
	for (int64_t m = 1; m < to; m++)
		if (m % own == 0 && (m < p) == (full < plan->stages))
			return m;
	return own;
}

void small_batches(const struct plan *plan, struct small *out)
{
	int64_t own = least(lanes_a_rank(plan), 2);

	out->lanes = plan->train.lanes.origin == ORIGIN_UNSET ? 0 : own * out->data;
	out->micro_batches = micro_batches(plan, out, own);
}
