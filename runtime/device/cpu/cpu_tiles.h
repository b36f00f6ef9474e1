/* SPDX-License-Identifier: Apache-2.0 */
/* How the LIB rows are cut into items. */
#ifndef CPU_CPU_TILES_H
#define CPU_CPU_TILES_H

#include "rt/workspace.h"

enum {
	CPU_MATMUL_SIDE = 64,	/* an item of matmul is a tile of c, rows of tiles first */
	CPU_EPILOGUE_ROWS = 16, /* an item of an epilogue */
};

/* Stored or not: an item of attend_forward is a block of queries of one head; items count blocks
 * fastest, then heads, then samples. An item of attend_backward is one k/v head of one sample. */
static inline int64_t cpu_attend_queries(enum rt_type type)
{
	return RT_ATTEND_BYTES / (type == RT_F64 ? 8 : 4);
}

#endif
