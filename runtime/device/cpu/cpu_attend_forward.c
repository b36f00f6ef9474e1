/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with an online softmax (Milakov and Gimelshein 2018; Dao et al. 2022), and with stored
 * probabilities. */
#include "device/cpu/cpu_attend.h"

struct state {
	REAL most[QUERIES], total[QUERIES]; /* of the scores so far; sum of e^(score - most) */
	REAL *sum;			    /* [head][QUERIES], weighted values */
};

/* Turns scores into weights relative to the new largest score, and the state with them. */
static void absorb(const struct attend *a, struct state *s, REAL *scores, int64_t count)
{
	REAL most[QUERIES], shrink[QUERIES];
	memcpy(most, s->most, sizeof(most));
	for (int64_t k = 0; k < count; k++)
		for (int64_t q = 0; q < QUERIES; q++)
			most[q] = scores[k * QUERIES + q] > most[q] ? scores[k * QUERIES + q]
								    : most[q];
	PARALLEL_LOOP
	for (int64_t q = 0; q < QUERIES; q++) {
		shrink[q] = real_exp(s->most[q] - most[q]);
		s->total[q] *= shrink[q];
	}
	memcpy(s->most, most, sizeof(most));
	for (int64_t k = 0; k < count; k++) {
		REAL *row = scores + k * QUERIES;
		PARALLEL_LOOP
		for (int64_t q = 0; q < QUERIES; q++) {
			row[q] = real_exp(row[q] - most[q]);
			s->total[q] += row[q];
		}
	}
	for (int64_t d = 0; d < a->f->head; d++)
		for (int64_t q = 0; q < QUERIES; q++)
			s->sum[d * QUERIES + q] *= shrink[q];
}

static void write_out(const struct attend *a, const struct state *s)
{
	ELEM *out = (ELEM *)a->f->out + attend_query(a);
	REAL *lse =
		(REAL *)a->f->lse + (a->sample * a->f->heads + a->head) * a->f->tokens + a->query;
	for (int64_t q = 0; q < a->queries; q++) {
		REAL share = 1 / s->total[q];
		for (int64_t d = 0; d < a->f->head; d++)
			out[q * a->row + d] = elem_of(s->sum[d * QUERIES + q] * share);
		lse[q] = (REAL)((double)s->most[q] + log((double)s->total[q]));
	}
}

void CPU_NAME(attend_forward)(const void *args, int64_t item, void *scratch)
{
	const struct rt_attend_forward *f = args;
	int64_t blocks = (f->tokens + QUERIES - 1) / QUERIES, head = item / blocks;
	struct attend a =
		attend_start(f, head / f->heads, head % f->heads, item % blocks * QUERIES);
	struct state s;
	REAL *turned = scratch, *scores = turned + f->head * QUERIES,
	     *keep = scores + KEYS * QUERIES;
	s.sum = keep + KEYS * QUERIES;
	REAL *room = s.sum + f->head * QUERIES;
	memset(s.sum, 0, (size_t)(f->head * QUERIES) * sizeof(REAL));
	for (int64_t q = 0; q < QUERIES; q++) {
		s.most[q] = -(REAL)INFINITY;
		s.total[q] = 0;
	}
	attend_turn(&a, turned, (const ELEM *)f->q + attend_query(&a), (REAL)f->scale);
	for (int64_t key = 0; key < a.keys; key += KEYS) {
		int64_t count = least(KEYS, a.keys - key);
		attend_dots(&a, scores, attend_load(&a, f->k, key, count, room), count, turned);
		attend_mask(&a, scores, key, count);
		absorb(&a, &s, scores, count);
		if (attend_drops(&a)) {
			attend_keep(&a, keep, key, count);
			for (int64_t i = 0; i < count * QUERIES; i++)
				scores[i] *= keep[i];
		}
		attend_mix(&a, s.sum, attend_load(&a, f->v, key, count, room), count, scores);
	}
	write_out(&a, &s);
}

/* ---- stored --------------------------------------------------------------------------------- */

struct stored {
	const struct rt_attend_stored_forward *s;
	REAL most[QUERIES], total[QUERIES]; /* of the scores of a row */
	REAL *turned, *tile, *keep, *sum, *room;
};

/* Keys that no query of the block sees: probability 0. */
static void hide_rest(const struct attend *a, const struct stored *w)
{
	int64_t rest = a->f->tokens - a->keys;
	for (int64_t q = 0; q < a->queries && rest > 0; q++) {
		int64_t at = attend_row(a, q) + a->keys;
		for (int64_t k = 0; k < rest; k++)
			((ELEM *)w->s->scores)[at + k] = elem_of(-(REAL)INFINITY);
		memset((ELEM *)w->s->probabilities + at, 0, (size_t)rest * sizeof(ELEM));
		if (!w->s->dropped)
			continue;
		memset((ELEM *)w->s->dropped + at, 0, (size_t)rest * sizeof(ELEM));
		memset(w->s->mask + at, 0, (size_t)rest);
	}
}

static void score(const struct attend *a, struct stored *w)
{
	for (int64_t q = 0; q < QUERIES; q++)
		w->most[q] = -(REAL)INFINITY;
	for (int64_t key = 0; key < a->keys; key += KEYS) {
		int64_t count = least(KEYS, a->keys - key);
		attend_dots(a, w->tile, attend_load(a, a->f->k, key, count, w->room), count,
			    w->turned);
		attend_mask(a, w->tile, key, count);
		attend_store(a, w->tile, w->s->scores, key, count);
		for (int64_t i = 0; i < count * QUERIES; i++)
			if (w->tile[i] > w->most[i % QUERIES])
				w->most[i % QUERIES] = w->tile[i];
	}
}

/* e^(score - most) of the tile from `key` on. */
static void exponentials(const struct attend *a, struct stored *w, int64_t key, int64_t count)
{
	attend_fetch(a, w->tile, w->s->scores, key, count);
	for (int64_t k = 0; k < count; k++) {
		REAL *row = w->tile + k * QUERIES;
		PARALLEL_LOOP
		for (int64_t q = 0; q < QUERIES; q++)
			row[q] = real_exp(row[q] - w->most[q]);
	}
}

static void add_up(const struct attend *a, struct stored *w)
{
	for (int64_t q = 0; q < QUERIES; q++)
		w->total[q] = 0;
	for (int64_t key = 0; key < a->keys; key += KEYS) {
		int64_t count = least(KEYS, a->keys - key);
		exponentials(a, w, key, count);
		for (int64_t i = 0; i < count * QUERIES; i++)
			w->total[i % QUERIES] += w->tile[i];
	}
}

static bool sees(const struct attend *a, int64_t query, int64_t key)
{
	return !a->f->causal || key <= a->query + query;
}

/* Outside training all is kept. */
static void drop(const struct attend *a, struct stored *w, int64_t key, int64_t count)
{
	bool drops = attend_drops(a);
	if (drops)
		attend_keep(a, w->keep, key, count);
	for (int64_t k = 0; k < count; k++)
		for (int64_t q = 0; q < a->queries; q++)
			w->s->mask[attend_row(a, q) + key + k] =
				sees(a, q, key + k) &&
				(!drops || w->keep[k * QUERIES + q] != 0);
	for (int64_t i = 0; drops && i < count * QUERIES; i++)
		w->tile[i] *= w->keep[i];
	attend_store(a, w->tile, w->s->dropped, key, count);
}

static void weigh_values(const struct attend *a, struct stored *w)
{
	memset(w->sum, 0, (size_t)(a->f->head * QUERIES) * sizeof(REAL));
	for (int64_t key = 0; key < a->keys; key += KEYS) {
		int64_t count = least(KEYS, a->keys - key);
		exponentials(a, w, key, count);
		for (int64_t i = 0; i < count * QUERIES; i++)
			w->tile[i] /= w->total[i % QUERIES];
		attend_store(a, w->tile, w->s->probabilities, key, count);
		if (w->s->dropped)
			drop(a, w, key, count);
		attend_mix(a, w->sum, attend_load(a, a->f->v, key, count, w->room), count,
			   w->tile);
	}
}

void CPU_NAME(attend_stored_forward)(const void *args, int64_t item, void *scratch)
{
	struct stored w = {.s = args};
	const struct rt_attend_forward *f = &w.s->attend;
	int64_t blocks = (f->tokens + QUERIES - 1) / QUERIES, head = item / blocks;
	struct attend a =
		attend_start(f, head / f->heads, head % f->heads, item % blocks * QUERIES);
	w.turned = scratch;
	w.tile = w.turned + f->head * QUERIES;
	w.keep = w.tile + KEYS * QUERIES;
	w.sum = w.keep + KEYS * QUERIES;
	w.room = w.sum + f->head * QUERIES;
	attend_turn(&a, w.turned, (const ELEM *)f->q + attend_query(&a), (REAL)f->scale);
	hide_rest(&a, &w);
	score(&a, &w);
	add_up(&a, &w);
	weigh_values(&a, &w);
	ELEM *out = (ELEM *)f->out + attend_query(&a);
	for (int64_t q = 0; q < a.queries; q++)
		for (int64_t d = 0; d < f->head; d++)
			out[q * a.row + d] = elem_of(w.sum[d * QUERIES + q]);
}
