/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of attention; weights are made again from the kept log-sums, or read where they are
 * stored. With weights p, output o: dv = p^T do, dp = do v^T, ds = p (dp - do . o), dq = ds k, dk =
 * ds^T q. */
#include "device/cpu/cpu_attend.h"

struct work {
	const void *dout;
	void *dq_out, *dk_out, *dv_out;
	int64_t padded;		       /* head, in whole vectors */
	REAL *q_turned, *do_turned;    /* [head][QUERIES], q times scale */
	REAL *q_rows, *do_rows;	       /* [QUERIES][padded] */
	REAL *dq;		       /* [head][QUERIES] */
	REAL *weights, *slopes, *keep; /* [KEYS][QUERIES] */
	REAL *key_sum;		       /* [KEYS][padded] */
	REAL *k_room, *v_room;	       /* [KEYS][head], widened */
	REAL *dk, *dv;		       /* gradients of the k/v head, `key_row` between tokens */
	int64_t key_row;
	REAL along[QUERIES], lse[QUERIES];
};

static REAL *carve(REAL **at, int64_t count)
{
	REAL *here = *at;
	*at += count;
	return here;
}

static void work_start(struct work *w, int64_t head, REAL *scratch)
{
	w->padded = (head + LANES - 1) / LANES * LANES;
	w->q_turned = carve(&scratch, head * QUERIES);
	w->do_turned = carve(&scratch, head * QUERIES);
	w->dq = carve(&scratch, head * QUERIES);
	w->q_rows = carve(&scratch, w->padded * QUERIES);
	w->do_rows = carve(&scratch, w->padded * QUERIES);
	w->weights = carve(&scratch, KEYS * QUERIES);
	w->slopes = carve(&scratch, KEYS * QUERIES);
	w->keep = carve(&scratch, KEYS * QUERIES);
	w->key_sum = carve(&scratch, KEYS * w->padded);
	w->k_room = w->v_room = NULL;
#ifdef CPU_BF16
	w->k_room = carve(&scratch, KEYS * head);
	w->v_room = carve(&scratch, KEYS * head);
#endif
	w->dk = scratch;
}

/* Where gradients of the k/v head are summed: in place, or in fp32 beside it. */
static void sums_start(const struct attend *a, struct work *w)
{
	int64_t head = a->f->head, tokens = a->f->tokens;
#ifdef CPU_BF16
	w->dv = w->dk + tokens * head;
	w->key_row = head;
#else
	w->dk = (REAL *)w->dk_out + attend_key(a, 0);
	w->dv = (REAL *)w->dv_out + attend_key(a, 0);
	w->key_row = a->kv_row;
#endif
	for (int64_t t = 0; t < tokens; t++) {
		memset(w->dk + t * w->key_row, 0, (size_t)head * sizeof(REAL));
		memset(w->dv + t * w->key_row, 0, (size_t)head * sizeof(REAL));
	}
}

static void sums_store(const struct attend *a, const struct work *w)
{
#ifdef CPU_BF16
	ELEM *dk = (ELEM *)w->dk_out + attend_key(a, 0);
	ELEM *dv = (ELEM *)w->dv_out + attend_key(a, 0);
	for (int64_t t = 0; t < a->f->tokens; t++) {
		for (int64_t d = 0; d < a->f->head; d++) {
			dk[t * a->kv_row + d] = elem_of(w->dk[t * w->key_row + d]);
			dv[t * a->kv_row + d] = elem_of(w->dv[t * w->key_row + d]);
		}
	}
#else
	(void)a, (void)w;
#endif
}

/* Rows of whole vectors, the missing elements 0. */
static void copy_rows(const struct attend *a, REAL *to, int64_t padded, const ELEM *from,
		      REAL factor)
{
	memset(to, 0, (size_t)(padded * QUERIES) * sizeof(REAL));
	for (int64_t q = 0; q < a->queries; q++)
		for (int64_t d = 0; d < a->f->head; d++)
			to[q * padded + d] = real_of(from[q * a->row + d]) * factor;
}

static void load_queries(const struct attend *a, struct work *w)
{
	const struct rt_attend_forward *f = a->f;
	const ELEM *q = (const ELEM *)f->q + attend_query(a);
	const ELEM *out = (const ELEM *)f->out + attend_query(a);
	const ELEM *dout = (const ELEM *)w->dout + attend_query(a);
	attend_turn(a, w->do_turned, dout, 1);
	copy_rows(a, w->q_rows, w->padded, q, (REAL)f->scale);
	copy_rows(a, w->do_rows, w->padded, dout, 1);
	memset(w->dq, 0, (size_t)(f->head * QUERIES) * sizeof(REAL));
	for (int64_t i = 0; i < QUERIES; i++) {
		double sum = 0;
		if (i < a->queries)
			ROW_SUM(sum, f->head, ROW(dout + i * a->row) * ROW(out + i * a->row));
		w->along[i] = (REAL)sum;
	}
}

/* What weights are made again from. A missing query has an infinite log-sum: its weights are 0. */
static void load_sums(const struct attend *a, struct work *w)
{
	const struct rt_attend_forward *f = a->f;
	const REAL *lse =
		(const REAL *)f->lse + (a->sample * f->heads + a->head) * f->tokens + a->query;
	attend_turn(a, w->q_turned, (const ELEM *)f->q + attend_query(a), (REAL)f->scale);
	for (int64_t i = 0; i < QUERIES; i++)
		w->lse[i] = i < a->queries ? lse[i] : (REAL)INFINITY;
}

/* to[key][..] += sum over queries of factors[key][query] rows[query][..] */
static void add_to_keys(const struct attend *a, struct work *w, REAL *to, const REAL *factors,
			const REAL *rows, int64_t count)
{
	struct panel p = {
		.c = w->key_sum,
		.c_row = w->padded,
		.a = factors,
		.a_row = QUERIES,
		.a_depth = 1,
		.b = rows,
		.b_row = w->padded,
		.rows = count,
		.depth = a->queries,
		.vectors = w->padded / LANES,
	};
	memset(w->key_sum, 0, (size_t)(count * w->padded) * sizeof(REAL));
	panel_add(&p);
	for (int64_t k = 0; k < count; k++)
		for (int64_t d = 0; d < a->f->head; d++)
			to[k * w->key_row + d] += w->key_sum[k * w->padded + d];
}

/* Scores become weights, by the kept log-sums. */
static void weigh(REAL *restrict weights, const REAL *restrict lse, int64_t count)
{
	for (int64_t k = 0; k < count; k++) {
		PARALLEL_LOOP
		for (int64_t q = 0; q < QUERIES; q++)
			weights[k * QUERIES + q] = real_exp(weights[k * QUERIES + q] - lse[q]);
	}
}

static void times(REAL *restrict values, const REAL *restrict factors, int64_t count)
{
	for (int64_t i = 0; i < count * QUERIES; i++)
		values[i] *= factors[i];
}

/* slopes = weights (slopes - along) */
static void slope(REAL *restrict slopes, const REAL *restrict weights, const REAL *restrict along,
		  int64_t count)
{
	for (int64_t k = 0; k < count; k++) {
		PARALLEL_LOOP
		for (int64_t q = 0; q < QUERIES; q++) {
			int64_t at = k * QUERIES + q;
			slopes[at] = weights[at] * (slopes[at] - along[q]);
		}
	}
}

/* Gradients of the tile, from its weights, slopes, and weights after dropout. */
static void add_tile(const struct attend *a, struct work *w, int64_t key, int64_t count,
		     struct attend_tile k, const REAL *dropped)
{
	int64_t at = key * w->key_row;
	add_to_keys(a, w, w->dv + at, dropped, w->do_rows, count);
	add_to_keys(a, w, w->dk + at, w->slopes, w->q_rows, count);
	attend_mix(a, w->dq, k, count, w->slopes);
}

static void tile(const struct attend *a, struct work *w, int64_t key, int64_t count)
{
	struct attend_tile k = attend_load(a, a->f->k, key, count, w->k_room);
	struct attend_tile v = attend_load(a, a->f->v, key, count, w->v_room);
	attend_dots(a, w->weights, k, count, w->q_turned);
	attend_mask(a, w->weights, key, count);
	weigh(w->weights, w->lse, count);
	attend_dots(a, w->slopes, v, count, w->do_turned);
	if (attend_drops(a)) {
		attend_keep(a, w->keep, key, count);
		times(w->slopes, w->keep, count);
	}
	slope(w->slopes, w->weights, w->along, count);
	if (attend_drops(a))
		times(w->weights, w->keep, count);
	add_tile(a, w, key, count, k, w->weights);
}

/* keep[key][query] = 0 or 1 / (1 - dropout), as stored: all 1 outside training. */
static void load_mask(const struct attend *a, struct work *w, const uint8_t *mask, int64_t key,
		      int64_t count)
{
	REAL factor = attend_drops(a) ? (REAL)(1 / (1 - a->f->dropout)) : 1;
	memset(w->keep, 0, (size_t)(count * QUERIES) * sizeof(REAL));
	for (int64_t q = 0; q < a->queries; q++)
		for (int64_t k = 0; k < count; k++)
			if (mask[attend_row(a, q) + key + k])
				w->keep[k * QUERIES + q] = factor;
}

static void stored_tile(const struct attend *a, struct work *w,
			const struct rt_attend_stored_forward *s, int64_t key, int64_t count)
{
	struct attend_tile k = attend_load(a, a->f->k, key, count, w->k_room);
	struct attend_tile v = attend_load(a, a->f->v, key, count, w->v_room);
	attend_dots(a, w->slopes, v, count, w->do_turned);
	if (s->mask) {
		load_mask(a, w, s->mask, key, count);
		times(w->slopes, w->keep, count);
	}
	attend_fetch(a, w->weights, s->probabilities, key, count);
	slope(w->slopes, w->weights, w->along, count);
	if (s->dropped)
		attend_fetch(a, w->weights, s->dropped, key, count);
	add_tile(a, w, key, count, k, w->weights);
}

/* s NULL: nothing is stored. */
static void query_block(const struct attend *a, struct work *w,
			const struct rt_attend_stored_forward *s)
{
	load_queries(a, w);
	if (!s)
		load_sums(a, w);
	for (int64_t key = 0; key < a->keys; key += KEYS) {
		int64_t count = least(KEYS, a->keys - key);
		if (s)
			stored_tile(a, w, s, key, count);
		else
			tile(a, w, key, count);
	}
	ELEM *dq = (ELEM *)w->dq_out + attend_query(a);
	REAL scale = (REAL)a->f->scale;
	for (int64_t q = 0; q < a->queries; q++)
		for (int64_t d = 0; d < a->f->head; d++)
			dq[q * a->row + d] = elem_of(w->dq[d * QUERIES + q] * scale);
}

/* One k/v head of one sample. */
static void key_head(const struct rt_attend_forward *f, int64_t item, struct work *w,
		     const struct rt_attend_stored_forward *s)
{
	int64_t sample = item / f->kv_heads, group = f->heads / f->kv_heads;
	int64_t head = item % f->kv_heads * group;
	struct attend a = attend_start(f, sample, head, 0);
	sums_start(&a, w);
	for (int64_t h = head; h < head + group; h++) {
		for (int64_t query = 0; query < f->tokens; query += QUERIES) {
			a = attend_start(f, sample, h, query);
			query_block(&a, w, s);
		}
	}
	sums_store(&a, w);
}

void CPU_NAME(attend_backward)(const void *args, int64_t item, void *scratch)
{
	const struct rt_attend_backward *b = args;
	struct work w = {.dout = b->dout, .dq_out = b->dq, .dk_out = b->dk, .dv_out = b->dv};
	work_start(&w, b->forward.head, scratch);
	key_head(&b->forward, item, &w, NULL);
}

void CPU_NAME(attend_stored_backward)(const void *args, int64_t item, void *scratch)
{
	const struct rt_attend_stored_backward *b = args;
	struct work w = {.dout = b->dout, .dq_out = b->dq, .dk_out = b->dk, .dv_out = b->dv};
	work_start(&w, b->forward.attend.head, scratch);
	key_head(&b->forward.attend, item, &w, &b->forward);
}
