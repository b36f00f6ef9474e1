/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of every small size go through with nothing buffered, hold what a drawing of them
 * holds, and cost little to prove; planted faults are named. */
#include <string.h>
#include <time.h>

#include "check.h"
#include "naive_pipeline.h"
#include "part/turns.h"

static struct rt_schedule schedule(enum rt_schedule_kind kind, uint32_t stages, uint32_t chunks,
				   uint32_t micro_batches)
{
	return (struct rt_schedule){
		.kind = kind, .micro_batches = micro_batches, .stages = stages, .chunks = chunks};
}

/* ---- what is right passes ------------------------------------------------------------------ */

static void check_one(struct rt_schedule s, struct arena *arena)
{
	for (int past = 0; past < 2; past++) {
		s.past = past == 1;
		const char *fault = turns_fault(&s, turns_walks(&s, arena), arena);
		if (fault)
			CHECK_TEXT(arena_text(arena,
					      "kind %d, %u stages, %u chunks, %u micro-batches: %s",
					      (int)s.kind, s.stages, s.chunks, s.micro_batches,
					      fault),
				   "");
		arena_reset(arena);
	}
}

static void check_sizes(struct arena *arena)
{
	for (uint32_t m = 1; m <= 40; m++) {
		check_one(schedule(RT_1F1B, 1, 1, m), arena);
		for (uint32_t p = 2; p <= 8; p++)
			for (uint32_t chunks = 1; chunks <= 4; chunks++) {
				check_one(schedule(RT_GPIPE, p, chunks, m), arena);
				check_one(schedule(RT_1F1B, p, chunks, m), arena);
			}
	}
}

/* Processor time of the proof of a plan of 1,024 ranks: one pipeline of 16 stages stands for all
 * 64, since they take the same turns. Under a tenth of a second; ten times that under a sanitizer.
 */
static void check_cost(struct arena *arena)
{
	for (uint32_t chunks = 1; chunks <= 4; chunks++) {
		clock_t start = clock();
		check_one(schedule(RT_1F1B, 16, chunks, 192), arena);
		double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
		CHECK(seconds < 1);
		if (seconds >= 1)
			fprintf(stderr, "%u chunks: %.2f s\n", chunks, seconds);
	}
}

/* ---- copies --------------------------------------------------------------------------------- */

static void check_drawn_one(struct rt_schedule s, struct arena *arena)
{
	struct naive_pipeline p = naive_new(s.kind == RT_GPIPE, (int)s.stages, (int)s.chunks,
					    (int)s.micro_batches, arena);
	const struct rt_walk *walks = turns_walks(&s, arena);
	for (uint32_t i = 0; i < s.stages; i++) {
		CHECK_INT(walks[i].slots, naive_copies(&p, (int)i, NAIVE_KEPT, -1));
		CHECK_INT(walks[i].received[0], naive_copies(&p, (int)i, NAIVE_OPERANDS, -1));
		CHECK_INT(walks[i].received[1], naive_copies(&p, (int)i, NAIVE_GRADIENTS, -1));
		for (int k = 0; k < p.turns; k++) {
			const struct naive_turn *want = &p.turn[(int)i * p.turns + k];
			const struct rt_turn *got = &walks[i].turns[k];
			CHECK(want->backward == got->backward && want->chunk == (int)got->chunk &&
			      want->micro_batch == (int)got->micro_batch);
		}
	}
	arena_reset(arena);
}

static void check_drawn(struct arena *arena)
{
	static const uint32_t micro_batches[] = {1, 3, 4, 7, 12};
	for (size_t m = 0; m < sizeof micro_batches / sizeof *micro_batches; m++)
		for (uint32_t p = 2; p <= 5; p++) {
			check_drawn_one(schedule(RT_GPIPE, p, 1, micro_batches[m]), arena);
			for (uint32_t chunks = 1; chunks <= 3; chunks++)
				check_drawn_one(schedule(RT_1F1B, p, chunks, micro_batches[m]),
						arena);
		}
}

/* Copies that chunks would need if each had its own. */
static uint32_t by_chunk(const struct rt_schedule *s, const struct rt_walk *walk)
{
	uint32_t alive[8] = {0}, highest[8] = {0}, sum = 0;
	for (uint32_t i = 0; i < rt_schedule_turns(s); i++) {
		const struct rt_turn *t = &walk->turns[i];
		alive[t->chunk] += t->backward ? 0 : 1;
		if (alive[t->chunk] > highest[t->chunk])
			highest[t->chunk] = alive[t->chunk];
		alive[t->chunk] -= t->backward ? 1 : 0;
	}
	for (uint32_t c = 0; c < s->chunks; c++)
		sum += highest[c];
	return sum;
}

/* The figures of the design: 16 stages of 2 chunks, 192 micro-batches. */
static void check_pooled(struct arena *arena)
{
	struct rt_schedule s = schedule(RT_1F1B, 16, 2, 192);
	const struct rt_walk *walks = turns_walks(&s, arena);
	static const struct {
		uint32_t stage, pooled, chunk;
	} want[] = {{0, 47, 48}, {8, 31, 46}, {15, 17, 18}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		CHECK_INT(walks[want[i].stage].slots, want[i].pooled);
		CHECK_INT(by_chunk(&s, &walks[want[i].stage]), want[i].chunk);
	}
	arena_reset(arena);
}

/* 1F1B keeps what is under way behind a stage, however many micro-batches there are; GPipe all. */
static void check_growth(struct arena *arena)
{
	for (uint32_t p = 2; p <= 8; p++)
		for (uint32_t m = 1; m <= 40; m++) {
			struct rt_schedule s = schedule(RT_1F1B, p, 1, m);
			const struct rt_walk *walks = turns_walks(&s, arena);
			for (uint32_t i = 0; i < p; i++) {
				CHECK_INT(walks[i].slots, p - i < m ? p - i : m);
				CHECK(walks[i].received[0] <= 2 && walks[i].received[1] <= 2);
			}
			s.kind = RT_GPIPE;
			walks = turns_walks(&s, arena);
			for (uint32_t i = 0; i < p; i++)
				CHECK_INT(walks[i].slots, m);
			arena_reset(arena);
		}
}

/* ---- planted faults ------------------------------------------------------------------------- */

static void check_fault(struct rt_schedule s, const struct rt_walk *walks, const char *named,
			struct arena *arena)
{
	const char *fault = turns_fault(&s, walks, arena);
	CHECK(fault != NULL);
	if (fault && !strstr(fault, named))
		CHECK_TEXT(fault, named);
}

/* Takes a transfer out of a walk. */
static struct rt_transfer drop(struct rt_walk *walk, uint32_t turns, uint32_t at)
{
	struct rt_transfer dropped = walk->transfers[at];
	for (uint32_t k = at; k + 1 < walk->first[turns + 1]; k++)
		walk->transfers[k] = walk->transfers[k + 1];
	for (uint32_t i = 0; i < turns + 2; i++)
		if (walk->first[i] > at)
			walk->first[i]--;
	return dropped;
}

/* Puts one at the end of a list. */
static void put(struct rt_walk *walk, uint32_t turns, uint32_t list, struct rt_transfer transfer)
{
	uint32_t at = walk->first[list + 1];
	for (uint32_t k = walk->first[turns + 1]; k > at; k--)
		walk->transfers[k] = walk->transfers[k - 1];
	walk->transfers[at] = transfer;
	for (uint32_t i = list + 1; i < turns + 2; i++)
		walk->first[i]++;
}

static uint32_t find(const struct rt_walk *walk, bool receive, bool backward, uint32_t micro_batch)
{
	uint32_t k = 0;
	while (walk->transfers[k].receive != receive || walk->transfers[k].backward != backward ||
	       walk->transfers[k].micro_batch != micro_batch)
		k++;
	return k;
}

static void check_missing(struct rt_schedule s, struct arena *arena)
{
	uint32_t turns = rt_schedule_turns(&s);
	struct rt_walk *walks = turns_walks(&s, arena);
	drop(&walks[1], turns, find(&walks[1], true, false, 2));
	check_fault(s, walks, "stage 1, turn 3: its operand has not been received", arena);

	walks = turns_walks(&s, arena);
	drop(&walks[0], turns, find(&walks[0], true, true, 3));
	check_fault(s, walks, "stage 0, turn 9: its gradient has not been received", arena);

	walks = turns_walks(&s, arena);
	drop(&walks[0], turns, find(&walks[0], false, false, 5));
	check_fault(s, walks,
		    "stage 1 receives the result of micro-batch 5 from stage 0, which does not "
		    "answer",
		    arena);
	arena_reset(arena);
}

static void check_order(struct rt_schedule s, struct arena *arena)
{
	uint32_t turns = rt_schedule_turns(&s);
	struct rt_walk *walks = turns_walks(&s, arena);
	struct rt_turn *t = walks[0].turns + turns - 2, held = t[0];
	t[0] = t[1];
	t[1] = held;
	check_fault(s, walks, "stage 0, turn 10: ", arena);

	/* forward of the last stage, first its backward */
	walks = turns_walks(&s, arena);
	t = walks[2].turns;
	held = t[0];
	t[0] = t[1];
	t[1] = held;
	check_fault(s, walks, "stage 2, turn 0: backward before forward", arena);

	/* micro-batches 1 and 0 leave in the other order than that in which they are awaited */
	walks = turns_walks(&s, arena);
	uint32_t a = find(&walks[0], false, false, 0), b = find(&walks[0], false, false, 1);
	uint64_t edge = walks[0].transfers[a].edge;
	struct rt_transfer one = walks[0].transfers[b];
	one.edge = edge;
	walks[0].transfers[b].edge = one.edge + 1;
	walks[0].transfers[a].edge = edge + 2;
	check_fault(s, walks,
		    "the ends of a message disagree: stage 1 receives the result of micro-batch 0",
		    arena);
	arena_reset(arena);
}

static void check_counts(struct rt_schedule s, struct arena *arena)
{
	struct rt_walk *walks = turns_walks(&s, arena);
	walks[0].slots--;
	check_fault(s, walks, "copy that does not exist", arena);

	walks = turns_walks(&s, arena);
	walks[1].received[0]--;
	check_fault(s, walks, "a message arrives in a copy that is in use", arena);

	walks = turns_walks(&s, arena);
	walks[1].turns[3].micro_batch = s.micro_batches;
	check_fault(s, walks, "stage 1, turn 3: a micro-batch that does not exist", arena);

	walks = turns_walks(&s, arena);
	walks[1].turns[2] = walks[1].turns[0];
	check_fault(s, walks, "stage 1, turn 2: it is taken twice", arena);
	arena_reset(arena);
}

/* A message leaves in the list before the turn that makes it, or a list after the one at which its
 * receiver waits. */
static void check_moved(struct rt_schedule s, struct arena *arena)
{
	uint32_t turns = rt_schedule_turns(&s), at;
	struct rt_walk *walks = turns_walks(&s, arena);
	at = find(&walks[0], false, false, 0);
	put(&walks[0], turns, 0, drop(&walks[0], turns, at));
	check_fault(s, walks, "stage 0, turn 0: a message leaves before it is made", arena);

	walks = turns_walks(&s, arena);
	at = find(&walks[2], false, true, 0);
	struct rt_transfer late = drop(&walks[2], turns, at);
	late.edge = UINT64_MAX;
	put(&walks[2], turns, turns, late);
	check_fault(
		s, walks,
		"disagree: stage 1 receives the gradient of micro-batch 0 from stage 2, stage 2 "
		"sends the gradient of micro-batch 1",
		arena);
	arena_reset(arena);
}

/* Stage 0 sends micro-batch 1 once it is back from 0, stage 1 wants it before it goes back with 0.
 */
static void check_circle(struct arena *arena)
{
	struct rt_schedule s = schedule(RT_1F1B, 2, 1, 4);
	uint32_t turns = rt_schedule_turns(&s);
	struct rt_walk *walks = turns_walks(&s, arena);
	struct rt_transfer send = drop(&walks[0], turns, find(&walks[0], false, false, 1));
	struct rt_transfer receive = drop(&walks[1], turns, find(&walks[1], true, false, 1));
	walks[1].received[0]++;
	receive.slot = walks[1].received[0] - 1;
	for (uint32_t i = 0; i < turns; i++)
		if (!walks[1].turns[i].backward && walks[1].turns[i].micro_batch == 1)
			walks[1].turns[i].received = receive.slot;
	send.edge = receive.edge = 0;
	put(&walks[0], turns, 3, send);
	put(&walks[1], turns, 1, receive);
	for (uint32_t k = walks[0].first[3]; k + 1 < walks[0].first[4]; k++)
		walks[0].transfers[k].edge = k;
	walks[0].transfers[walks[0].first[4] - 1].edge = 1000;
	walks[1].transfers[walks[1].first[1]].edge = 1000;
	check_fault(
		s, walks,
		"every stage waits for another one: stage 0 receives the gradient of micro-batch 0 "
		"from stage 1; stage 1 receives the result of micro-batch 1 from stage 0;",
		arena);
	arena_reset(arena);
}

/* What passes by the layers: not sent, not awaited, its gradient not awaited. */
static void check_past(struct arena *arena)
{
	struct rt_schedule s = schedule(RT_1F1B, 3, 2, 6);
	uint32_t turns = rt_schedule_turns(&s);
	static const struct {
		uint32_t stage;
		bool receive, backward;
		const char *named;
	} faults[] = {
		{2, true, false, "what passes by the layers has not been received"},
		{0, true, true, "what passes by the layers has not been received"},
		{0, false, false,
		 "receives what passes by the layers of micro-batch 4 from stage 0"},
		{2, false, true, "receives the gradient of what passes by the layers"},
	};
	s.past = true;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		struct rt_walk *walks = turns_walks(&s, arena), *walk = &walks[faults[i].stage];
		uint32_t k = 0;
		while (!walk->transfers[k].past || walk->transfers[k].micro_batch != 4 ||
		       walk->transfers[k].receive != faults[i].receive ||
		       walk->transfers[k].backward != faults[i].backward)
			k++;
		drop(walk, turns, k);
		check_fault(s, walks, faults[i].named, arena);
	}
	arena_reset(arena);
}

int main(void)
{
	struct arena *arena = arena_new();
	struct rt_schedule s = schedule(RT_1F1B, 3, 1, 6);
	check_sizes(arena);
	check_cost(arena);
	check_drawn(arena);
	check_pooled(arena);
	check_growth(arena);
	check_missing(s, arena);
	check_order(s, arena);
	check_counts(s, arena);
	check_moved(s, arena);
	check_circle(arena);
	check_past(arena);
	arena_delete(arena);
	return check_done();
}
