/* SPDX-License-Identifier: Apache-2.0 */
/* How many micro-batches a schedule keeps alive, by playing it: each stage takes its turns in the
 * order of the papers (GPipe; Narayanan et al. 2021 for 1F1B and its interleaved form), a turn
 * takes one unit of time and starts when the stage is free and its operand is made. */
#include <stdlib.h>

#include "formula.h"

struct turn {
	bool backward;
	uint64_t chunk, micro;
	uint64_t start;
};

struct play {
	uint64_t stages, chunks, micros;
	bool gpipe;
	struct turn *turns; /* [stages][2 * chunks * micros] */
	uint64_t *ends;	    /* [2][stages * chunks][micros]: when it is made, 0: not yet */
};

static uint64_t turns_of(const struct play *p)
{
	return 2 * p->chunks * p->micros;
}

static uint64_t *end_of(const struct play *p, bool backward, uint64_t virtual, uint64_t micro)
{
	uint64_t deep = p->stages * p->chunks;
	return &p->ends[((uint64_t)backward * deep + virtual) * p->micros + micro];
}

/* Micro-batches go through one chunk in groups, of `stages` where they divide; else in as many
 * groups as there are whole ones, the first of which are larger by one. Turn k of one direction. */
static struct turn nth(const struct play *p, bool backward, uint64_t k)
{
	uint64_t groups = p->micros < p->stages || p->chunks == 1 ? 1 : p->micros / p->stages;
	uint64_t first = 0;
	for (uint64_t g = 0; g < groups; g++) {
		uint64_t size = p->micros / groups + (g < p->micros % groups);
		if (k < size * p->chunks) {
			uint64_t chunk = k / size;
			return (struct turn){backward,
					     backward ? p->chunks - 1 - chunk : chunk,
					     first + k % size, 0};
		}
		k -= size * p->chunks;
		first += size;
	}
	abort();
}

/* Forwards in front of the first pair of a forward and a backward. */
static uint64_t warm_up(const struct play *p, uint64_t stage)
{
	uint64_t groups = p->micros < p->stages ? 1 : p->micros / p->stages;
	uint64_t largest = (p->micros + groups - 1) / groups, all = p->chunks * p->micros;
	uint64_t n = p->stages - 1 - stage;
	if (p->chunks > 1)
		n = 2 * n + (p->chunks - 1) * largest;
	return p->gpipe || n > all ? all : n;
}

static void order_stage(const struct play *p, uint64_t stage)
{
	struct turn *at = p->turns + stage * turns_of(p);
	uint64_t all = p->chunks * p->micros, forward = 0, backward = 0;
	while (forward < warm_up(p, stage))
		*at++ = nth(p, false, forward++);
	while (forward < all) {
		*at++ = nth(p, false, forward++);
		*at++ = nth(p, true, backward++);
	}
	while (backward < all)
		*at++ = nth(p, true, backward++);
}

/* When the operand of a turn is made; 0: it has none that arrives. False: not made yet. */
static bool operand(const struct play *p, uint64_t stage, const struct turn *t, uint64_t *when)
{
	uint64_t virtual = t->chunk * p->stages + stage, last = p->stages * p->chunks - 1;
	*when = 0;
	if (t->backward ? virtual == last : virtual == 0)
		return true;
	*when = *end_of(p, t->backward, t->backward ? virtual + 1 : virtual - 1, t->micro);
	return *when != 0;
}

static void play_all(const struct play *p)
{
	uint64_t *next = calloc(p->stages, sizeof *next), *clock = calloc(p->stages, sizeof *clock);
	bool moved = true;
	while (moved) {
		moved = false;
		for (uint64_t s = 0; s < p->stages; s++) {
			struct turn *t = p->turns + s * turns_of(p) + next[s];
			uint64_t when;
			if (next[s] == turns_of(p) || !operand(p, s, t, &when))
				continue;
			t->start = when > clock[s] ? when : clock[s];
			clock[s] = t->start + 1;
			*end_of(p, t->backward, t->chunk * p->stages + s, t->micro) = clock[s];
			next[s]++;
			moved = true;
		}
	}
	free(next);
	free(clock);
}

/* Alive when a turn starts, this turn's own included: of what a chunk keeps, what has been through
 * it and not gone back; of messages, what has been made for this stage and waits for its turn. */
static struct alive alive_at(const struct play *p, uint64_t stage, uint64_t turn)
{
	const struct turn *turns = p->turns + stage * turns_of(p);
	struct alive count = {0, 0, 0, 0};
	for (uint64_t i = 0; i < turns_of(p); i++) {
		const struct turn *t = &turns[i];
		uint64_t made, end = *end_of(p, true, t->chunk * p->stages + stage, t->micro);
		bool arrives = operand(p, stage, t, &made) && made != 0;
		bool waits = arrives && made <= turns[turn].start && i >= turn;
		bool kept = !t->backward && i <= turn && end > turns[turn].start;
		count.slots += kept;
		count.heads += kept && t->chunk == p->chunks - 1;
		count.operands += waits && !t->backward;
		count.gradients += waits && t->backward;
	}
	return count;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct alive schedule_alive(uint64_t stages, uint64_t chunks, uint64_t micro_batches, bool gpipe,
			    uint64_t stage)
{
	struct play p = {stages, chunks, micro_batches, gpipe, NULL, NULL};
	struct alive all = {0, 0, 0, 0};
	p.turns = calloc(stages * turns_of(&p), sizeof *p.turns);
	p.ends = calloc(2 * stages * chunks * micro_batches, sizeof *p.ends);
	for (uint64_t s = 0; s < stages; s++)
		order_stage(&p, s);
	play_all(&p);
	for (uint64_t i = 0; i < turns_of(&p); i++) {
		struct alive now = alive_at(&p, stage, i);
		all.slots = most(all.slots, now.slots);
		all.operands = most(all.operands, now.operands);
		all.gradients = most(all.gradients, now.gradients);
		all.heads = most(all.heads, now.heads);
	}
	free(p.turns);
	free(p.ends);
	all.heads = all.heads == 1 ? 1 : all.slots;
	return all;
}
