/* SPDX-License-Identifier: Apache-2.0 */
/* Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011): a pure function of seed,
 * purpose, step, stream and index, so they do not depend on how the work is split. Only integer
 * arithmetic and exact + - * are used: the same bits on every device. */
#ifndef BASE_RT_RAND_H
#define BASE_RT_RAND_H

#include <stdint.h>

#include "rt/kernel.h"

/* What a sequence of numbers is drawn for. */
struct rt_rand {
	uint64_t seed;
	enum rt_random purpose;
	uint32_t step, stream;
};

/* The bare generator: ten rounds over counter[4] with key[2]. */
void rt_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Four words: block `index` of a sequence. */
void rt_rand_block(const struct rt_rand *from, uint64_t index, uint32_t out[4]);

/* Word of element `index`: word index % 4 of block index / 4. */
uint32_t rt_rand_word(const struct rt_rand *from, uint64_t index);

/* [0, 1) with 53 bits, from block `index`. */
double rt_rand_uniform(const struct rt_rand *from, uint64_t index);

/* Mean 0, variance 1, within [-6, 6]: the sum of twelve uniform numbers less 6, exact; from blocks
 * 3 index .. 3 index + 2. */
double rt_rand_normal(const struct rt_rand *from, uint64_t index);

#endif
