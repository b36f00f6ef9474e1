/* SPDX-License-Identifier: Apache-2.0 */
/* The order of samples: a permutation of [0, windows) that is computed, not stored. A Feistel
 * network permutes the smallest even number of bits that hold it; values outside are sent through
 * again until one falls inside (cycle walking), at most four times as many on average. */
#include "base/rt_rand.h"
#include "core/data.h"

enum { ROUNDS = 6 };

static uint32_t mix(const struct rt_rand *rand, uint32_t round, uint32_t half)
{
	return rt_rand_word(rand, (uint64_t)round << 32 | half);
}

static uint64_t permute(const struct rt_rand *rand, int half_bits, uint64_t value)
{
	uint32_t mask = (uint32_t)(((uint64_t)1 << half_bits) - 1);
	uint32_t left = (uint32_t)(value >> half_bits), right = (uint32_t)value & mask;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t next = left ^ (mix(rand, round, right) & mask);
		left = right;
		right = next;
	}
	return (uint64_t)left << half_bits | right;
}

int64_t data_order(uint64_t seed, int64_t n, int64_t windows)
{
	int64_t epoch = n / windows;
	uint64_t value = (uint64_t)(n % windows);
	struct rt_rand rand = {.seed = seed, .purpose = RT_RANDOM_DATA, .step = (uint32_t)epoch};
	int half_bits = 1;
	while (half_bits < 31 && (int64_t)1 << (2 * half_bits) < windows)
		half_bits++;
	do {
		value = permute(&rand, half_bits, value);
	} while (value >= (uint64_t)windows);
	return (int64_t)value;
}
