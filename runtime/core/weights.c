/* SPDX-License-Identifier: Apache-2.0 */
#include "core/weights.h"

#include <math.h>
#include <string.h>

#include "base/rt_rand.h"
#include "core/rt_core.h"

/* Elements of a block, to be set by their index in the whole tensor. */
struct draw {
	const struct rt_param *param;
	struct rt_block block;
	void *at;
	int64_t columns;      /* of the whole */
	int64_t first, count; /* elements of the block that are here */
};

static struct draw draw_of(struct rt *rt, const struct rt_param *param, int64_t layer)
{
	int64_t first = rt_weight_member(rt->plan, param, rt->rank) * param->weight_slice;
	int64_t held = rt_param_held(rt->plan, rt->role, param, RT_WEIGHT);
	int64_t left = rt_param_elements(param) - first;
	return (struct draw){.param = param,
			     .block = rt_param_block(rt->plan, param, rt->rank),
			     .at = rt_param_at(rt, rt->rank, param, RT_WEIGHT, layer),
			     .columns = param->columns > 0 ? param->columns : 1,
			     .first = first,
			     .count = held < left ? held : left};
}

/* Index in the whole tensor of element `i` of those here; -1: padding. */
static int64_t index_of(const struct draw *draw, int64_t i)
{
	i += draw->first;
	int64_t row = draw->block.first_row + i / draw->block.columns;
	int64_t column = draw->block.first_column + i % draw->block.columns;
	bool inside = row < draw->param->rows && column < draw->columns;
	return inside ? row * draw->columns + column : -1;
}

static void draw_normal(struct rt *rt, const struct rt_param *param, int64_t layer)
{
	struct rt_rand rand = {.seed = (uint64_t)rt->options->seed,
			       .purpose = RT_RANDOM_INIT,
			       .stream = param->id + (uint32_t)layer};
	struct draw draw = draw_of(rt, param, layer);
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < draw.count; i++) {
		int64_t index = index_of(&draw, i);
		if (index >= 0)
			rt_value_set(draw.at, param->type, i,
				     param->std * rt_rand_normal(&rand, (uint64_t)index));
	}
}

static void draw_ones(struct rt *rt, const struct rt_param *param, int64_t layer)
{
	struct draw draw = draw_of(rt, param, layer);
	for (int64_t i = 0; i < draw.count; i++)
		if (index_of(&draw, i) >= 0)
			rt_value_set(draw.at, param->type, i, 1);
}

/* Gradients and the optimizer's state are zero as the arena comes; where they lie may be a slice.
 */
static void clear_weight(struct rt *rt, const struct rt_param *param, int64_t layer)
{
	int64_t held = rt_param_held(rt->plan, rt->role, param, RT_WEIGHT);
	memset(rt_param_at(rt, rt->rank, param, RT_WEIGHT, layer), 0,
	       (size_t)(held * rt_type_bytes(param->type)));
}

void weights_draw(struct rt *rt)
{
	for (uint32_t p = 0; p < rt->plan->nparam; p++) {
		const struct rt_param *param = &rt->plan->param[p];
		for (int64_t layer = 0; layer < param->layers; layer++) {
			if (rt_param_at(rt, rt->rank, param, RT_WEIGHT, layer) == NULL)
				continue;
			clear_weight(rt, param, layer);
			if (param->init == RT_INIT_NORMAL)
				draw_normal(rt, param, layer);
			else if (param->init == RT_INIT_ONE)
				draw_ones(rt, param, layer);
		}
	}
}

static uint64_t stir(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* Takes bytes in pieces of any length; words are little-endian. */
struct hasher {
	uint64_t hash, word;
	unsigned filled; /* bytes of `word` */
};

static void hash_bytes(struct hasher *h, const unsigned char *at, int64_t bytes)
{
	while (bytes > 0) {
		int64_t taken = 1;
		if (h->filled == 0 && bytes >= (int64_t)sizeof h->word) {
			taken = sizeof h->word;
			memcpy(&h->word, at, sizeof h->word);
		} else {
			h->word |= (uint64_t)*at << 8 * h->filled;
		}
		at += taken;
		bytes -= taken;
		h->filled += (unsigned)taken;
		if (h->filled < sizeof h->word)
			continue;
		h->hash = stir(h->hash, h->word);
		h->word = h->filled = 0;
	}
}

static void hash_end(struct hasher *h)
{
	h->hash = stir(h->hash, h->word ^ (uint64_t)h->filled << 56);
	h->word = h->filled = 0;
}

uint64_t weights_hash_here(struct rt *rt, const struct rt_param *param)
{
	int64_t held = rt_param_held(rt->plan, rt->role, param, RT_WEIGHT);
	int64_t bytes = held * rt_type_bytes(param->type);
	struct hasher h = {.hash = 1};
	for (int64_t layer = 0; layer < param->layers; layer++) {
		const void *at = rt_param_at(rt, rt->rank, param, RT_WEIGHT, layer);
		if (at == NULL)
			continue;
		hash_bytes(&h, at, bytes);
		hash_end(&h);
	}
	return h.hash;
}

static int64_t whole_elements(const struct rt_param *param)
{
	return param->padded_rows * (param->columns > 0 ? param->columns : 1);
}

uint64_t weights_hash(struct rt *rt, const struct rt_param *param)
{
	int64_t count = whole_elements(param), size = rt_type_bytes(param->type);
	struct hasher h = {.hash = 1};
	for (int64_t layer = 0; layer < param->layers; layer++) {
		for (int64_t i = 0, run; i < count; i += run) {
			unsigned char *at;
			run = rt_param_run(rt, param, RT_WEIGHT, layer, i, &at);
			hash_bytes(&h, at, run * size);
		}
		hash_end(&h);
	}
	return h.hash;
}

double weights_gradient_norm(struct rt *rt, const struct rt_param *param, int64_t layer)
{
	int64_t count = whole_elements(param);
	double sum = 0;
	for (int64_t i = 0, run; i < count; i += run) {
		unsigned char *at;
		run = rt_param_run(rt, param, RT_GRADIENT, layer, i, &at);
		for (int64_t k = 0; k < run; k++) {
			double g = rt_value(at, param->gradient_type, k);
			sum += g * g;
		}
	}
	return sqrt(sum);
}
