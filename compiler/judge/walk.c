/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/walk.h"

#include "base/num.h"
#include "base/vec.h"

uint64_t walk_type_bytes(enum rt_type type)
{
	static const uint8_t bytes[] = {
#define RT_TYPE(name, size, text) size,
#include "rt/types.def"
#undef RT_TYPE
	};

	return bytes[type];
}

/* Calls of a sweep in one turn. */
static uint64_t calls_of_turn(const struct role *role, const struct sweep *sweep,
			      const struct rt_turn *turn)
{
	if (sweep->count)
		return role->chunks[turn->chunk].count;
	if (sweep->when == FIRST_CHUNK)
		return turn->chunk == 0;
	return sweep->when != LAST_CHUNK || turn->chunk + 1 == role->schedule.chunks;
}

/* Calls of a sweep in all turns of one direction; those of the first micro-batch alone. */
static uint64_t calls_of_turns(const struct role *role, const struct sweep *sweep, bool backward,
			       bool first)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < rt_schedule_turns(&role->schedule); i++) {
		struct rt_turn turn = rt_schedule_turn(&role->schedule, role->stage, i);

		if (turn.backward == backward && (!first || turn.micro_batch == 0))
			calls += calls_of_turn(role, sweep, &turn);
	}
	return calls;
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

static void visit_turns(const struct walker *w, const struct body *body, bool backward)
{
	const struct role *role = &w->program->roles[0];

	for (uint32_t i = 0; i < body->nsweeps; i++)
		visit_sweep(w, &body->sweeps[i],
			    calls_of_turns(role, &body->sweeps[i], backward, false),
			    calls_of_turns(role, &body->sweeps[i], backward, true));
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

struct walk_messages *walk_messages(const struct program *program, uint32_t *n,
				    struct arena *arena)
{
	const struct role *role = &program->roles[0];
	VEC(struct walk_messages) all = {0};

	for (uint32_t i = 0; i < 2 * rt_schedule_turns(&role->schedule); i++) {
		struct rt_turn turn = rt_schedule_turn(&role->schedule, role->stage, i / 2);
		struct walk_messages one = {.receive = i % 2 == 0, .backward = turn.backward};
		uint32_t chunk, k = 0;

		if (!rt_schedule_neighbour(&role->schedule, role->stage, &turn, one.receive,
					   &one.peer, &chunk))
			continue;
		while (k < all.n && (all.at[k].peer != one.peer ||
				     all.at[k].receive != one.receive ||
				     all.at[k].backward != one.backward))
			k++;
		one.bytes = program->buffers[turn.backward ? role->adjoint : role->carried].bytes;
		if (k == all.n)
			vec_push(arena, &all, one);
		all.at[k].count++;
	}
	*n = all.n;
	return all.at;
}
