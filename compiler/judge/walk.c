/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/walk.h"

#include "base/num.h"
#include "base/vec.h"
#include "part/turns.h"

/* Calls of a sweep in one turn of a chunk. */
static uint64_t calls_of_turn(const struct role *role, const struct sweep *sweep, uint32_t chunk)
{
	if (sweep->count)
		return role->chunks[chunk].count;
	if (sweep->when == FIRST_CHUNK)
		return chunk == 0;
	return sweep->when != LAST_CHUNK || chunk + 1 == role->schedule.chunks;
}

struct walker {
	const struct program *program;
	walk_visit *visit;
	void *self;
};

static void visit_sweep(const struct walker *w, const struct sweep *sweep, uint64_t times,
			uint64_t first)
{
	for (uint32_t c = 0; c < sweep->ncalls; c++) {
		const struct segment *segment = &w->program->segments[sweep->calls[c].segment];

		for (uint32_t i = 0; i < segment->nsteps; i++)
			w->visit(w->self, segment, &segment->steps[i],
				 segment->steps[i].first_only ? first : times);
	}
}

/* Turns of one direction by chunk: all of them, and those of the first micro-batch. */
struct turns {
	uint64_t *all, *first;
};

static struct turns turns_of(const struct role *role, bool backward, struct arena *arena)
{
	struct turns turns = {ARENA_ARRAY(arena, uint64_t, role->schedule.chunks),
			      ARENA_ARRAY(arena, uint64_t, role->schedule.chunks)};

	for (uint32_t i = 0; i < rt_schedule_turns(&role->schedule); i++) {
		struct rt_turn turn = rt_schedule_turn(&role->schedule, role->stage, i);

		turns.all[turn.chunk] += turn.backward == backward;
		turns.first[turn.chunk] += turn.backward == backward && turn.micro_batch == 0;
	}
	return turns;
}

static void visit_turns(const struct walker *w, const struct body *body, bool backward)
{
	const struct role *role = &w->program->roles[0];
	struct arena *arena = arena_new();
	struct turns turns = turns_of(role, backward, arena);

	for (uint32_t i = 0; i < body->nsweeps; i++) {
		uint64_t all = 0, first = 0;

		for (uint32_t c = 0; c < role->schedule.chunks; c++) {
			uint64_t calls = calls_of_turn(role, &body->sweeps[i], c);

			all += turns.all[c] * calls;
			first += turns.first[c] * calls;
		}
		visit_sweep(w, &body->sweeps[i], all, first);
	}
	arena_delete(arena);
}

/* A body outside the turns, `times` a step. */
static void visit_body(const struct walker *w, const struct body *body, uint64_t times)
{
	for (uint32_t i = 0; i < body->nsweeps; i++) {
		uint64_t calls = body->sweeps[i].count ? body->sweeps[i].count : 1;

		visit_sweep(w, &body->sweeps[i], calls * times, calls * times);
	}
}

void walk_steps(const struct program *program, walk_visit *visit, void *self)
{
	const struct role *role = &program->roles[0];
	struct walker w = {program, visit, self};
	uint64_t merges = 0;

	for (uint32_t lane = 0; lane < role->lanes; lane++)
		merges += rt_lane_merges(lane);
	visit_body(&w, &role->begin, 1);
	visit_turns(&w, &role->forward, false);
	visit_turns(&w, &role->backward, true);
	visit_body(&w, &role->merge_sums, merges);
	visit_body(&w, &role->merge, merges);
	visit_body(&w, &role->update, 1);
}

static void add_flops(void *self, const struct segment *segment, const struct step *step,
		      uint64_t times)
{
	struct num *sum = self;

	(void)segment;
	if (step->kind == STEP_KERNEL)
		*sum = num_plus(*sum, num_times(num_from(step->flops), times));
}

uint64_t walk_flops(const struct program *program)
{
	struct num sum = num_from(0);

	walk_steps(program, add_flops, &sum);
	return sum.value;
}

/* Bytes of a transfer: of the tensor that layers hand on or of its gradient, or of all that passes
 * by the layers. */
static uint64_t transfer_bytes(const struct program *program, const struct rt_transfer *t)
{
	const struct role *role = &program->roles[0];
	uint64_t bytes = 0;

	if (!t->past)
		return program->buffers[t->backward ? role->adjoint : role->carried].bytes;
	for (uint32_t i = 0; i < role->npast[t->backward]; i++)
		bytes += program->buffers[role->past[t->backward][i]].bytes;
	return bytes;
}

static bool same_kind(const struct walk_messages *a, const struct walk_messages *b)
{
	return a->peer == b->peer && a->receive == b->receive && a->backward == b->backward &&
	       a->past == b->past;
}

struct walk_messages *walk_messages(const struct program *program, uint32_t *n,
				    struct arena *arena)
{
	const struct role *role = &program->roles[0];
	const struct rt_walk *walk;
	VEC(struct walk_messages) all = {0};

	*n = 0;
	if (program->stages < 2)
		return NULL;
	walk = &turns_walks(&role->schedule, arena)[role->stage];
	for (uint32_t i = 0; i < walk->first[rt_schedule_turns(&role->schedule) + 1]; i++) {
		const struct rt_transfer *t = &walk->transfers[i];
		struct walk_messages one = {.peer = t->peer, .receive = t->receive,
					    .backward = t->backward, .past = t->past};
		uint32_t k = 0;

		while (k < all.n && !same_kind(&all.at[k], &one))
			k++;
		one.bytes = transfer_bytes(program, t);
		one.parts = t->past ? role->npast[t->backward] : 1;
		if (k == all.n)
			vec_push(arena, &all, one);
		all.at[k].count++;
	}
	*n = all.n;
	return all.at;
}
