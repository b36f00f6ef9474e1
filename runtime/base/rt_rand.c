/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rt_rand.h"

#include <string.h>

#include "base/rt_philox.h"

void rt_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	struct rt_philox_state s;
	memcpy(s.word, counter, sizeof(s.word));
	memcpy(s.key, key, sizeof(s.key));
	s = rt_philox_rounds(s);
	memcpy(out, s.word, sizeof(s.word));
}

void rt_rand_block(const struct rt_rand *from, uint64_t index, uint32_t out[4])
{
	struct rt_philox_state s = rt_philox_start(from->seed, (uint32_t)from->purpose, from->step,
						   from->stream, index);
	s = rt_philox_rounds(s);
	memcpy(out, s.word, sizeof(s.word));
}

uint32_t rt_rand_word(const struct rt_rand *from, uint64_t index)
{
	uint32_t words[4];
	rt_rand_block(from, index / 4, words);
	return words[index % 4];
}

double rt_rand_uniform(const struct rt_rand *from, uint64_t index)
{
	uint32_t words[4];
	rt_rand_block(from, index, words);
	uint64_t bits = ((uint64_t)words[0] << 32 | words[1]) >> 11;
	return (double)bits * 0x1p-53;
}

/* Twelve words are added as integers; each stands for the middle of its interval, hence the 6. */
double rt_rand_normal(const struct rt_rand *from, uint64_t index)
{
	int64_t sum = 6;
	for (uint64_t i = 0; i < 3; i++) {
		uint32_t words[4];
		rt_rand_block(from, 3 * index + i, words);
		for (int j = 0; j < 4; j++)
			sum += words[j];
	}
	return (double)(sum - 6 * ((int64_t)1 << 32)) * 0x1p-32;
}
