/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch that a library row may use, as a pure function of its sizes: planc lays it out, the
 * runtime lives within it. */
#ifndef RT_WORKSPACE_H
#define RT_WORKSPACE_H

#include <stdint.h>

#include "rt/kernel.h"

/* Bytes for one matmul of these sizes; UINT64_MAX if that overflows. */
static inline uint64_t rt_matmul_workspace(enum rt_type type, uint64_t m, uint64_t n, uint64_t k)
{
	(void)type;
	(void)m;
	(void)n;
	(void)k;
	return 0;
}

enum { RT_ATTEND_BYTES = 128 /* of queries of a tile */, RT_ATTEND_KEYS = 32 };

/* Bytes that each thread of the cpu device keeps for attention, outside the arena; UINT64_MAX if that
 * overflows. */
static inline uint64_t rt_attend_scratch(enum rt_type type, uint64_t head)
{
	uint64_t size = type == RT_F64 ? 8 : 4, queries = RT_ATTEND_BYTES / size;
	if (head > (uint64_t)1 << 40)
		return UINT64_MAX;
	uint64_t padded = (head + 15) / 16 * 16;
	return size * ((3 * head + 2 * padded + 3 * RT_ATTEND_KEYS) * queries + RT_ATTEND_KEYS * padded);
}

#endif
