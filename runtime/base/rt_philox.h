/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 as an inline function, for kernels that draw many numbers (see rt_rand.h). */
#ifndef BASE_RT_PHILOX_H
#define BASE_RT_PHILOX_H

#include <stdint.h>

struct rt_philox_state {
	uint32_t word[4], key[2];
};

static inline struct rt_philox_state rt_philox_round(struct rt_philox_state s)
{
	uint64_t a = (uint64_t)0xD2511F53u * s.word[0], b = (uint64_t)0xCD9E8D57u * s.word[2];
	struct rt_philox_state next;
	next.word[0] = (uint32_t)(b >> 32) ^ s.word[1] ^ s.key[0];
	next.word[1] = (uint32_t)b;
	next.word[2] = (uint32_t)(a >> 32) ^ s.word[3] ^ s.key[1];
	next.word[3] = (uint32_t)a;
	next.key[0] = s.key[0] + 0x9E3779B9u;
	next.key[1] = s.key[1] + 0xBB67AE85u;
	return next;
}

static inline struct rt_philox_state rt_philox_rounds(struct rt_philox_state s)
{
	for (int i = 0; i < 10; i++)
		s = rt_philox_round(s);
	return s;
}

/* Start of block `index`; the purpose is in the top byte of the key, above any seed below 2^56. */
static inline struct rt_philox_state rt_philox_start(uint64_t seed, uint32_t purpose, uint32_t step,
						     uint32_t stream, uint64_t index)
{
	uint64_t key = seed ^ (uint64_t)purpose << 56;
	struct rt_philox_state s = {
		.word = {(uint32_t)index, (uint32_t)(index >> 32), stream, step},
		.key = {(uint32_t)key, (uint32_t)(key >> 32)},
	};
	return s;
}

#endif
