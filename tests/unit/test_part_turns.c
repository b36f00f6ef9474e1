/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of every small size go through with nothing buffered; planted faults are named. */
#include <string.h>

#include "part/turns.h"
#include "check.h"

static struct rt_schedule schedule(enum rt_schedule_kind kind, uint32_t stages, uint32_t chunks,
				   uint32_t micro_batches)
{
	return (struct rt_schedule){.kind = kind,
				    .micro_batches = micro_batches,
				    .stages = stages,
				    .chunks = chunks};
}

static void check_one(struct rt_schedule s, struct arena *arena)
{
	const char *fault = turns_fault(&s, turns_walks(&s, arena), arena);
	if (fault)
		CHECK_TEXT(arena_text(arena, "kind %d, %u stages, %u chunks, %u micro-batches: %s",
				     (int)s.kind, s.stages, s.chunks, s.micro_batches, fault),
			  "");
	arena_reset(arena);
}

static void check_sizes(struct arena *arena)
{
	for (uint32_t m = 1; m <= 40; m++) {
		check_one(schedule(RT_1F1B, 1, 1, m), arena);
		for (uint32_t p = 2; p <= 8; p++) {
			check_one(schedule(RT_GPIPE, p, 1, m), arena);
			for (uint32_t chunks = 1; chunks <= 4; chunks++)
				check_one(schedule(RT_1F1B, p, chunks, m), arena);
		}
	}
	check_one(schedule(RT_1F1B, 16, 1, 192), arena);
	check_one(schedule(RT_1F1B, 16, 2, 192), arena);
}

/* Copies held at once: of 1F1B as many as stages from here on, of GPipe all. Pooled figures of
 * interleaved schedules are those of the design: 47, 31 and 17. */
static void check_copies(struct arena *arena)
{
	struct rt_schedule s = schedule(RT_1F1B, 4, 1, 9);
	struct rt_walk *walks = turns_walks(&s, arena);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(walks[i].slots >= 4 - i && walks[i].slots <= 5 - i + (i > 0));
	CHECK(walks[3].received == 0);
	s = schedule(RT_GPIPE, 3, 1, 7);
	walks = turns_walks(&s, arena);
	CHECK_INT(walks[0].slots, 7);
	s = schedule(RT_1F1B, 16, 2, 192);
	walks = turns_walks(&s, arena);
	CHECK_INT(walks[0].slots, 47);
	arena_reset(arena);
}

static void check_fault(struct rt_schedule s, struct rt_walk *walks, const char *named,
			struct arena *arena)
{
	const char *fault = turns_fault(&s, walks, arena);
	CHECK(fault != NULL && strstr(fault, named) != NULL);
	if (fault && !strstr(fault, named))
		CHECK_TEXT(fault, named);
}

/* Takes a transfer out of a walk. */
static void drop(struct rt_walk *walk, uint32_t turns, uint32_t at)
{
	for (uint32_t k = at; k + 1 < walk->first[turns + 1]; k++)
		walk->transfers[k] = walk->transfers[k + 1];
	for (uint32_t i = 0; i < turns + 2; i++)
		if (walk->first[i] > at)
			walk->first[i]--;
}

static uint32_t find(const struct rt_walk *walk, bool receive, bool backward, uint32_t micro_batch)
{
	uint32_t k = 0;
	while (walk->transfers[k].receive != receive || walk->transfers[k].backward != backward ||
	       walk->transfers[k].micro_batch != micro_batch)
		k++;
	return k;
}

static void check_faults(struct arena *arena)
{
	struct rt_schedule s = schedule(RT_1F1B, 3, 1, 6);
	uint32_t turns = rt_schedule_turns(&s);
	struct rt_walk *walks = turns_walks(&s, arena);
	drop(&walks[1], turns, find(&walks[1], true, false, 2));
	check_fault(s, walks, "its operand has not been received", arena);

	walks = turns_walks(&s, arena);
	drop(&walks[0], turns, find(&walks[0], false, false, 5));
	check_fault(s, walks,
		    "stage 1 receives the result of micro-batch 5 from stage 0, which does not "
		    "answer",
		    arena);

	walks = turns_walks(&s, arena);
	struct rt_turn *t = walks[0].turns + turns - 2, held = t[0];
	t[0] = t[1];
	t[1] = held;
	check_fault(s, walks, "ascending", arena);

	walks = turns_walks(&s, arena);
	walks[2].transfers[find(&walks[2], false, true, 1)].micro_batch = 2;
	check_fault(s, walks, "disagree", arena);

	walks = turns_walks(&s, arena);
	walks[0].slots--;
	check_fault(s, walks, "copy", arena);

	walks = turns_walks(&s, arena);
	walks[1].turns[3].micro_batch = 6;
	check_fault(s, walks, "does not exist", arena);
	arena_reset(arena);
}

/* A send that is placed a list too late: both stages wait. */
static void check_circle(struct arena *arena)
{
	struct rt_schedule s = schedule(RT_1F1B, 2, 1, 3);
	uint32_t turns = rt_schedule_turns(&s);
	struct rt_walk *walks = turns_walks(&s, arena);
	uint32_t at = find(&walks[1], false, true, 0), list = 0;
	while (walks[1].first[list + 1] <= at)
		list++;
	struct rt_transfer late = walks[1].transfers[at];
	drop(&walks[1], turns, at);
	for (uint32_t k = walks[1].first[turns + 1]; k > walks[1].first[turns]; k--)
		walks[1].transfers[k] = walks[1].transfers[k - 1];
	late.edge = walks[1].first[turns + 1] > walks[1].first[turns]
			    ? walks[1].transfers[walks[1].first[turns] + 1].edge - 1
			    : late.edge;
	walks[1].transfers[walks[1].first[turns]] = late;
	walks[1].first[turns + 1]++;
	CHECK(turns_fault(&s, walks, arena) != NULL);
	arena_reset(arena);
}

int main(void)
{
	struct arena *arena = arena_new();
	check_sizes(arena);
	check_copies(arena);
	check_faults(arena);
	check_circle(arena);
	arena_delete(arena);
	return check_done();
}
