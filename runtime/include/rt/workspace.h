/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch that a library row may use, as a pure function of its sizes: planc lays it out, the
 * runtime lives within it. */
#ifndef RT_WORKSPACE_H
#define RT_WORKSPACE_H

#include <stdint.h>

#include "rt/kernel.h"

enum { RT_THREADS_MAX = 1024 /* of a rank */ };

static inline uint64_t rt_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Bytes that let a product of these sizes run at full speed on `threads` threads of a rank; with
 * less, slower code is taken. oneDNN packs blocks of both operands and of the result for each
 * thread, and threads that share a sum keep partial results (of more than 2^20 elements, other code
 * is taken); the sides of its blocks are bounded. Measured over random shapes in tests/numeric.
 * fp64 needs none. bf16: the library packs blocks that fill a cache, whatever the sides. */
static inline uint64_t rt_matmul_workspace_threads(enum rt_type type, uint64_t m, uint64_t n,
						   uint64_t k, uint64_t threads)
{
	enum { ROWS = 288, COLUMNS = 64, WIDTH = 1024, TERMS = 1056, SHARED = 1 << 20 };
	enum { NARROW_ROWS = 512, NARROW_TERMS = 48, NARROW = 5 << 19 };
	if (type == RT_F64)
		return 0;
	uint64_t rows = rt_least((rt_least(m, ROWS) + 31) / 32 * 32, ROWS);
	uint64_t wide = (rt_least(n, WIDTH) + 63) / 64 * 64;
	uint64_t terms = (rt_least(k, TERMS) + 47) / 16 * 16;
	uint64_t blocks = rows * terms + terms * COLUMNS + rows * wide;
	uint64_t sums = rt_least(rt_least(m, SHARED) * rt_least(n, SHARED), SHARED);
	uint64_t bytes = 4 * blocks;
	if (type == RT_BF16)
		bytes = rt_least(bytes + 4 * (rt_least(m, NARROW_ROWS) + COLUMNS) *
						 (rt_least(k, 1 << 20) + NARROW_TERMS),
				 NARROW);
	return threads * (bytes + 16384) + (threads > 1 ? threads * 4 * sums : 0);
}

/* The same for one thread. */
static inline uint64_t rt_matmul_workspace(enum rt_type type, uint64_t m, uint64_t n, uint64_t k)
{
	return rt_matmul_workspace_threads(type, m, n, k, 1);
}

enum { RT_ATTEND_BYTES = 128 /* of queries of a tile */, RT_ATTEND_KEYS = 32 };

/* Bytes that each thread of the cpu device keeps for attention, outside the arena; UINT64_MAX if
 * that overflows. bf16: keys and values of a tile widened, and sums of their gradients in fp32. */
static inline uint64_t rt_attend_scratch(enum rt_type type, uint64_t head, uint64_t tokens)
{
	uint64_t size = type == RT_F64 ? 8 : 4, queries = RT_ATTEND_BYTES / size;
	if (head > (uint64_t)1 << 20 || tokens > (uint64_t)1 << 36)
		return UINT64_MAX;
	uint64_t padded = (head + 15) / 16 * 16;
	uint64_t wide = type == RT_BF16 ? 2 * (RT_ATTEND_KEYS + tokens) * head : 0;
	return size * ((3 * head + 2 * padded + 3 * RT_ATTEND_KEYS) * queries +
		       RT_ATTEND_KEYS * padded + wide);
}

#endif
