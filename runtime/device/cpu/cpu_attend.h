/* SPDX-License-Identifier: Apache-2.0 */
/* What both directions of attention share. A tile is KEYS keys by QUERIES queries of one head; the
 * queries are the lanes of vectors, so every sum over keys is a plain loop and no statistic crosses
 * lanes. Transposed operands are [head][QUERIES], scores are [KEYS][QUERIES]. */
#ifndef CPU_CPU_ATTEND_H
#define CPU_CPU_ATTEND_H

#include <math.h>

#include "device/cpu/cpu_mask.h"
#include "device/cpu/cpu_math.h"
#include "device/cpu/cpu_panel.h"
#include "device/cpu/cpu_tiles.h"

enum { QUERIES = 2 * LANES, KEYS = RT_ATTEND_KEYS };

/* One head of one sample, and a block of its queries. */
struct attend {
	const struct rt_attend_forward *f;
	int64_t sample, head, kv_head; /* sample within the micro-batch */
	int64_t query, queries;	       /* first, and how many (<= QUERIES) */
	int64_t keys;		       /* that any of these queries sees */
	int64_t row, kv_row;	       /* elements between tokens of q and of k */
};

INLINE struct attend attend_start(const struct rt_attend_forward *f, int64_t sample, int64_t head,
				  int64_t query)
{
	struct attend a = {.f = f, .sample = sample, .head = head, .query = query};
	a.kv_head = head / (f->heads / f->kv_heads);
	a.queries = least(QUERIES, f->tokens - query);
	a.keys = f->causal ? query + a.queries : f->tokens;
	a.row = f->heads * f->head;
	a.kv_row = f->kv_heads * f->head;
	return a;
}

/* Offset of the first query of the block in [batch, tokens, heads, head]. */
INLINE int64_t attend_query(const struct attend *a)
{
	return (a->sample * a->f->tokens + a->query) * a->row + a->head * a->f->head;
}

INLINE int64_t attend_key(const struct attend *a, int64_t key)
{
	return (a->sample * a->f->tokens + key) * a->kv_row + a->kv_head * a->f->head;
}

/* to[d][query] = from[query][d] * factor, the missing queries 0. */
INLINE void attend_turn(const struct attend *a, REAL *to, const ELEM *from, REAL factor)
{
	for (int64_t d = 0; d < a->f->head; d++)
		for (int64_t q = a->queries; q < QUERIES; q++)
			to[d * QUERIES + q] = 0;
	for (int64_t q = 0; q < a->queries; q++)
		for (int64_t d = 0; d < a->f->head; d++)
			to[d * QUERIES + q] = real_of(from[q * a->row + d]) * factor;
}

/* Keys or values of a tile, `row` elements between them. */
struct attend_tile {
	const REAL *at;
	int64_t row;
};

/* The tile from `key` on of an array like k: in place, or widened into room[KEYS * head]. */
INLINE struct attend_tile attend_load(const struct attend *a, const void *array, int64_t key,
				      int64_t count, REAL *room)
{
	const ELEM *from = (const ELEM *)array + attend_key(a, key);
#ifdef CPU_BF16
	int64_t head = a->f->head;
	for (int64_t k = 0; k < count; k++)
		for (int64_t d = 0; d < head; d++)
			room[k * head + d] = real_of(from[k * a->kv_row + d]);
	return (struct attend_tile){room, head};
#else
	(void)count, (void)room;
	return (struct attend_tile){from, a->kv_row};
#endif
}

/* scores[key][query] = keys[key][..] . turned[..][query] */
INLINE void attend_dots(const struct attend *a, REAL *scores, struct attend_tile keys,
			int64_t count, const REAL *turned)
{
	struct panel p = {
		.c = scores,
		.c_row = QUERIES,
		.a = keys.at,
		.a_row = keys.row,
		.a_depth = 1,
		.b = turned,
		.b_row = QUERIES,
		.rows = count,
		.depth = a->f->head,
		.vectors = 2,
	};
	memset(scores, 0, (size_t)(count * QUERIES) * sizeof(REAL));
	panel_add(&p);
}

/* sum[d][query] += sum over keys of values[key][d] weights[key][query] */
INLINE void attend_mix(const struct attend *a, REAL *sum, struct attend_tile values, int64_t count,
		       const REAL *weights)
{
	struct panel p = {
		.c = sum,
		.c_row = QUERIES,
		.a = values.at,
		.a_row = 1,
		.a_depth = values.row,
		.b = weights,
		.b_row = QUERIES,
		.rows = a->f->head,
		.depth = count,
		.vectors = 2,
	};
	panel_add(&p);
}

/* A query does not see the keys after it. */
INLINE void attend_mask(const struct attend *a, REAL *scores, int64_t key, int64_t count)
{
	if (!a->f->causal || key + count - 1 <= a->query)
		return;
	for (int64_t k = 0; k < count; k++)
		for (int64_t q = 0; q < QUERIES && a->query + q < key + k; q++)
			scores[k * QUERIES + q] = -(REAL)INFINITY;
}

INLINE bool attend_drops(const struct attend *a)
{
	return a->f->dropout > 0 && a->f->control[RT_CONTROL_TRAINING] != 0;
}

/* keep[key][query] = 0 or 1 / (1 - dropout). */
static inline void attend_keep(const struct attend *a, REAL *keep, int64_t key, int64_t count)
{
	const struct rt_attend_forward *f = a->f;
	struct mask mask = mask_start(f->control, f->stream_id, f->dropout);
	uint64_t sample = (uint64_t)f->control[RT_CONTROL_SAMPLE] + (uint64_t)a->sample;
	uint64_t heads = (uint64_t)(f->all_heads ? f->all_heads : f->heads);
	uint64_t head = sample * heads + (uint64_t)(f->first_head + a->head),
		 tokens = (uint64_t)f->tokens;
	for (int64_t q = 0; q < QUERIES; q++) {
		REAL group[MASK_ELEMENTS];
		uint64_t row = (head * tokens + (uint64_t)(a->query + q)) * tokens + (uint64_t)key;
		mask_group(&mask, row / 4, group);
		for (int64_t k = 0; k < count; k++)
			keep[k * QUERIES + q] = group[row % 4 + (uint64_t)k];
	}
}

/* First element of a query's row of an array [batch, tokens, heads, tokens]. */
INLINE int64_t attend_row(const struct attend *a, int64_t query)
{
	return ((a->sample * a->f->tokens + a->query + query) * a->f->heads + a->head) *
	       a->f->tokens;
}

/* tile[key][query] of such an array, the missing queries 0. */
INLINE void attend_fetch(const struct attend *a, REAL *tile, const void *array, int64_t key,
			 int64_t count)
{
	memset(tile, 0, (size_t)(count * QUERIES) * sizeof(REAL));
	for (int64_t q = 0; q < a->queries; q++) {
		const ELEM *row = (const ELEM *)array + attend_row(a, q) + key;
		for (int64_t k = 0; k < count; k++)
			tile[k * QUERIES + q] = real_of(row[k]);
	}
}

/* The way back; the tile is left as it was rounded. */
INLINE void attend_store(const struct attend *a, REAL *tile, void *array, int64_t key,
			 int64_t count)
{
	for (int64_t q = 0; q < a->queries; q++) {
		ELEM *row = (ELEM *)array + attend_row(a, q) + key;
		for (int64_t k = 0; k < count; k++) {
			row[k] = elem_of(tile[k * QUERIES + q]);
			tile[k * QUERIES + q] = real_of(row[k]);
		}
	}
}

_Static_assert(KEYS + 3 <= MASK_ELEMENTS, "a group of the mask covers the keys of a tile");

#endif
