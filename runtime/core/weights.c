/* SPDX-License-Identifier: Apache-2.0 */
#include "core/weights.h"

#include <string.h>

#include "base/rt_rand.h"
#include "core/rt_core.h"

static void draw_normal(struct rt *rt, const struct rt_param *param, int64_t layer)
{
	struct rt_rand rand = {.seed = (uint64_t)rt->options->seed,
			       .purpose = RT_RANDOM_INIT,
			       .stream = param->id + (uint32_t)layer};
	void *at = rt_layer(rt, param->weight, layer);
	int64_t count = param->rows * (param->columns > 0 ? param->columns : 1);
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < count; i++)
		rt_value_set(at, param->type, i, param->std * rt_rand_normal(&rand, (uint64_t)i));
}

static void draw_ones(struct rt *rt, const struct rt_param *param, int64_t layer)
{
	void *at = rt_layer(rt, param->weight, layer);
	int64_t count = param->rows * (param->columns > 0 ? param->columns : 1);
	for (int64_t i = 0; i < count; i++)
		rt_value_set(at, param->type, i, 1);
}

static void clear_state(struct rt *rt, const struct rt_param *param, int64_t layer)
{
	const struct rt_place *places[] = {param->weight, param->gradient, param->moment1,
					   param->moment2};
	size_t bytes = (size_t)(rt_param_elements(param) * rt_type_bytes(param->type));
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
		if (places[i] != NULL)
			memset(rt_layer(rt, places[i], layer), 0, bytes);
}

void weights_draw(struct rt *rt)
{
	for (uint32_t p = 0; p < rt->plan->nparam; p++) {
		const struct rt_param *param = &rt->plan->param[p];
		for (int64_t layer = 0; layer < param->layers; layer++) {
			clear_state(rt, param, layer);
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

static uint64_t hash_bytes(uint64_t hash, const unsigned char *at, size_t bytes)
{
	uint64_t word;
	for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
		memcpy(&word, at, sizeof word);
		hash = stir(hash, word);
	}
	word = 0;
	memcpy(&word, at, bytes);
	return stir(hash, word ^ (uint64_t)bytes << 56);
}

uint64_t weights_hash(struct rt *rt, const struct rt_param *param)
{
	size_t bytes = (size_t)(rt_param_elements(param) * rt_type_bytes(param->type));
	uint64_t hash = 1;
	for (int64_t layer = 0; layer < param->layers; layer++)
		hash = hash_bytes(hash, rt_layer(rt, param->weight, layer), bytes);
	return hash;
}
