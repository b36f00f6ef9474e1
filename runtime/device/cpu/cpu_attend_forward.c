/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with an online softmax (Milakov and Gimelshein 2018; Dao et al. 2022). */
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
