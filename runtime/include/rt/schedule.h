/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule of a role: runs of turns. One pure walker, used by planc to prove it and by the
 * program to follow it. */
#ifndef RT_SCHEDULE_H
#define RT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct rt_schedule_run {
	uint32_t count;       /* how often the turns are taken */
	bool backward[2];
	uint32_t turns;       /* 1 or 2 */
};

struct rt_schedule {
	uint32_t micro_batches, chunks, slots;
	const struct rt_schedule_run *runs;
	uint32_t nruns;
};

struct rt_turn {
	bool backward;
	uint32_t chunk, micro_batch, slot;
};

/* Number of turns of a step. */
static inline uint32_t rt_schedule_turns(const struct rt_schedule *s)
{
	uint32_t turns = 0;
	for (uint32_t i = 0; i < s->nruns; i++)
		turns += s->runs[i].count * s->runs[i].turns;
	return turns;
}

/* Turn i < rt_schedule_turns(s). Micro-batches ascend in forward and in backward. */
static inline struct rt_turn rt_schedule_turn(const struct rt_schedule *s, uint32_t i)
{
	uint32_t forwards = 0, backwards = 0;
	struct rt_turn turn = {0};
	for (uint32_t r = 0; r < s->nruns; r++) {
		const struct rt_schedule_run *run = &s->runs[r];
		uint32_t total = run->count * run->turns;
		uint32_t rounds = i / run->turns, at = i % run->turns;
		if (i >= total) {
			for (uint32_t t = 0; t < run->turns; t++)
				*(run->backward[t] ? &backwards : &forwards) += run->count;
			i -= total;
			continue;
		}
		for (uint32_t t = 0; t < run->turns; t++)
			*(run->backward[t] ? &backwards : &forwards) += rounds + (t < at);
		turn.backward = run->backward[at];
		turn.micro_batch = turn.backward ? backwards : forwards;
		turn.slot = turn.micro_batch % s->slots;
		return turn;
	}
	return turn;
}

/* The gradient buffer (level of the tree) that a lane adds to: lanes of a rank are merged as a
 * binary counter, so level = number of whole subtrees that wait. */
static inline uint32_t rt_lane_level(uint32_t lane)
{
	return (uint32_t)__builtin_popcount(lane);
}

/* How many merges (level into the level below) follow the end of `lane`. */
static inline uint32_t rt_lane_merges(uint32_t lane)
{
	return (uint32_t)__builtin_ctz(~lane);
}

#endif
