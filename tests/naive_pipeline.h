/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of a pipeline as the papers draw them: lists of turns, a table of times, counted.
 * Shares nothing with rt/schedule.h. */
#ifndef NAIVE_PIPELINE_H
#define NAIVE_PIPELINE_H

#include <stdbool.h>
#include <stdlib.h>

#include "base/arena.h"

struct naive_turn {
	bool backward;
	int chunk, micro_batch;
	int start, arrived; /* time; of its operand, 0: it needs none */
};

struct naive_pipeline {
	int stages, chunks, micro_batches, turns; /* turns: of a stage */
	struct naive_turn *turn;		  /* [stages][turns] */
};

/* Every micro-batch through every chunk, in groups of about as many as there are stages. */
static inline void naive_order(const struct naive_pipeline *p, bool backward,
			       struct naive_turn *out)
{
	int groups = p->micro_batches / p->stages, first = 0;
	if (groups < 1 || p->chunks == 1)
		groups = 1;
	for (int g = 0; g < groups; g++) {
		int size = p->micro_batches / groups + (g < p->micro_batches % groups);
		for (int c = 0; c < p->chunks; c++)
			for (int i = 0; i < size; i++)
				*out++ = (struct naive_turn){.backward = backward,
							     .chunk = backward ? p->chunks - 1 - c
									       : c,
							     .micro_batch = first + i};
		first += size;
	}
}

static inline int naive_warm_up(const struct naive_pipeline *p, bool gpipe, int stage)
{
	int groups = p->micro_batches < p->stages ? 1 : p->micro_batches / p->stages;
	int largest = p->micro_batches / groups + (p->micro_batches % groups != 0);
	int all = p->micro_batches * p->chunks, ahead = p->stages - 1 - stage;
	if (p->chunks > 1)
		ahead = 2 * ahead + (p->chunks - 1) * largest;
	return gpipe || ahead > all ? all : ahead;
}

/* Warm-up forwards, then one of each, then the backwards that are left. */
static inline void naive_stage(struct naive_pipeline *p, bool gpipe, int stage, struct arena *arena)
{
	int all = p->turns / 2, f = 0, b = 0, warm = naive_warm_up(p, gpipe, stage);
	struct naive_turn *forward = ARENA_ARRAY(arena, struct naive_turn, all);
	struct naive_turn *backward = ARENA_ARRAY(arena, struct naive_turn, all);
	struct naive_turn *out = p->turn + stage * p->turns;
	naive_order(p, false, forward);
	naive_order(p, true, backward);
	while (f < warm)
		*out++ = forward[f++];
	while (b < all) {
		if (f < all)
			*out++ = forward[f++];
		*out++ = backward[b++];
	}
}

static inline struct naive_turn *naive_find(const struct naive_pipeline *p, int stage,
					    bool backward, int chunk, int micro_batch)
{
	for (int i = 0; i < p->turns; i++) {
		struct naive_turn *t = &p->turn[stage * p->turns + i];
		if (t->backward == backward && t->chunk == chunk && t->micro_batch == micro_batch)
			return t;
	}
	abort();
}

/* The turn that makes the operand; NULL: the end of the model. */
static inline struct naive_turn *naive_source(const struct naive_pipeline *p, int stage,
					      const struct naive_turn *t)
{
	int at = t->chunk * p->stages + stage + (t->backward ? 1 : -1);
	if (at < 0 || at == p->chunks * p->stages)
		return NULL;
	return naive_find(p, at % p->stages, t->backward, at / p->stages, t->micro_batch);
}

/* Each turn as early as its operand and the turn before it let it, until nothing moves. */
static inline void naive_times(struct naive_pipeline *p)
{
	bool moved = true;
	while (moved) {
		moved = false;
		for (int s = 0; s < p->stages; s++)
			for (int i = 0; i < p->turns; i++) {
				struct naive_turn *t = &p->turn[s * p->turns + i];
				struct naive_turn *from = naive_source(p, s, t);
				int start = i ? t[-1].start + 1 : 0;
				t->arrived = from ? from->start + 1 : 0;
				start = t->arrived > start ? t->arrived : start;
				moved = moved || start != t->start;
				t->start = start;
			}
	}
}

static inline struct naive_pipeline naive_new(bool gpipe, int stages, int chunks, int micro_batches,
					      struct arena *arena)
{
	struct naive_pipeline p = {stages, chunks, micro_batches, 2 * micro_batches * chunks, NULL};
	p.turn = ARENA_ARRAY(arena, struct naive_turn, (size_t)(stages * p.turns));
	for (int s = 0; s < stages; s++)
		naive_stage(&p, gpipe, s, arena);
	naive_times(&p);
	return p;
}

enum naive_what {
	NAIVE_KEPT,	/* of a micro-batch: from its forward turn to the end of its backward one */
	NAIVE_OPERANDS, /* from their arrival to the end of the turn that takes them */
	NAIVE_GRADIENTS
};

/* Whether what belongs to turn k of a stage is there while it takes turn i. */
static inline bool naive_alive(const struct naive_pipeline *p, int stage, enum naive_what what,
			       int k, int i)
{
	const struct naive_turn *turns = p->turn + stage * p->turns, *t = &turns[k];
	if (t->backward != (what == NAIVE_GRADIENTS))
		return false;
	if (what == NAIVE_KEPT)
		return k <= i && naive_find(p, stage, true, t->chunk, t->micro_batch) - turns >= i;
	return t->arrived && t->arrived <= turns[i].start && k >= i;
}

/* The most copies at once on a stage, of one chunk or (-1) of all. */
static inline int naive_copies(const struct naive_pipeline *p, int stage, enum naive_what what,
			       int chunk)
{
	int most = 0;
	for (int i = 0; i < p->turns; i++) {
		int alive = 0;
		for (int k = 0; k < p->turns; k++)
			if (chunk < 0 || p->turn[stage * p->turns + k].chunk == chunk)
				alive += naive_alive(p, stage, what, k, i);
		most = alive > most ? alive : most;
	}
	return most;
}

#endif
