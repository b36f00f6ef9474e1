/* SPDX-License-Identifier: Apache-2.0 */
#include "part/program.h"

#include <string.h>

#include "base/arena.h"
#include "base/bug.h"
#include "part/proof.h"
#include "part/turns.h"

static void verify_use(const struct program *p, uint32_t segment, uint32_t at,
		       const struct use *use, bool *written)
{
	if (use->buffer == NO_ID)
		return;
	const char *where = p->segments[segment].name->text;
	BUG_IF(use->buffer >= p->nbuffers, "%s step %u uses buffer %u of %u", where, at,
	       use->buffer, p->nbuffers);
	const struct buffer *b = &p->buffers[use->buffer];
	BUG_IF(use->by_slot && b->slots < 2, "%s: `%s` has one slot", where, b->name->text);
	BUG_IF(use->by_level && b->levels < 2, "%s: `%s` has one level", where, b->name->text);
	if (b->life != LIFE_SEGMENT)
		return;
	BUG_IF(b->segment != segment, "%s: `%s` belongs to another segment", where, b->name->text);
	BUG_IF(at < b->from || at > b->to, "%s step %u: `%s` is not live", where, at,
	       b->name->text);
	BUG_IF(!use->write && !written[use->buffer], "%s step %u reads `%s` before it is written",
	       where, at, b->name->text);
	written[use->buffer] = true;
}

/* Elements behind the address that a step uses: of one copy, or of all layers. */
static uint64_t room(const struct program *p, const struct step *step, uint32_t use)
{
	const struct buffer *b = &p->buffers[step->uses[use].buffer];
	if (step->uses[use].shard)
		return p->params[b->param].shard;
	if (!(step->flags & STEP_WHOLE))
		return b->elements;
	return (b->elements + 63) / 64 * 64 * b->layers + b->tail;
}

/* Blocks of all members fit the buffer that holds them, one block the other. */
static void verify_collective(const struct program *p, const struct segment *segment,
			      const struct step *step)
{
	const char *where = segment->name->text;
	uint64_t ranks = p->groups[step->group].ranks, count = (uint64_t)step->rows.value;
	uint64_t from = 1, to = 1;
	switch (step->collective) {
	case COLLECTIVE_REDUCE_SCATTER:
		from = ranks;
		break;
	case COLLECTIVE_ALL_GATHER:
	case COLLECTIVE_SLICE:
		count = (uint64_t)(step->sizes[0].value * step->sizes[1].value);
		*(step->collective == COLLECTIVE_SLICE ? &from : &to) = ranks;
		break;
	default:
		break;
	}
	BUG_IF(count * from > room(p, step, 0), "%s: a collective reads behind its buffer", where);
	if (step->nuses > 1)
		BUG_IF(count * to > room(p, step, 1), "%s: a collective writes behind its buffer",
		       where);
}

static void verify_step(const struct program *p, uint32_t segment, uint32_t at, bool *written)
{
	const struct step *step = &p->segments[segment].steps[at];
	BUG_IF(step->nuses > RT_MAX_IN + RT_MAX_OUT, "step %u has %u operands", at, step->nuses);
	BUG_IF(step->kind == STEP_COLLECTIVE && step->group >= p->ngroups,
	       "step %u talks to group %u of %u", at, step->group, p->ngroups);
	if (step->kind == STEP_COLLECTIVE)
		verify_collective(p, &p->segments[segment], step);
	for (uint32_t i = 0; i < step->nuses; i++)
		if (!step->uses[i].write)
			verify_use(p, segment, at, &step->uses[i], written);
	for (uint32_t i = 0; i < step->nuses; i++)
		if (step->uses[i].write)
			verify_use(p, segment, at, &step->uses[i], written);
}

static void verify_body(const struct program *p, const struct body *body)
{
	for (uint32_t i = 0; i < body->nsweeps; i++) {
		const struct sweep *sweep = &body->sweeps[i];
		for (uint32_t k = 0; k < sweep->ncalls; k++) {
			uint32_t segment = sweep->calls[k].segment;
			BUG_IF(segment >= p->nsegments, "a call of segment %u", segment);
			BUG_IF(p->segments[segment].by_layer != (sweep->count > 0),
			       "%s is swept wrongly", p->segments[segment].name->text);
		}
	}
}

/* A copy for each slot; what the head keeps: one, if each micro-batch goes back from there at
 * once. */
static void verify_slots(const struct program *p, bool head_alone)
{
	uint32_t slots = p->roles[0].schedule.slots;
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct buffer *b = &p->buffers[i];
		bool once = b->slots == 1 && head_alone && p->roles[0].has[REGION_AFTER];
		BUG_IF(b->life == LIFE_SLOT && b->slots != slots && !once,
		       "`%s` has %llu slots", b->name->text, (unsigned long long)b->slots);
	}
}

/* All stages together, by what the programs run. */
static void verify_schedules(const struct program *head, struct arena *arena)
{
	const struct rt_schedule *s = &head->roles[0].schedule;
	const struct rt_walk *walks = turns_walks(s, arena);
	const char *fault = turns_fault(s, walks, arena);
	BUG_IF(fault, "%s", fault);
	for (const struct program *p = head; p; p = p->next) {
		const struct role *role = &p->roles[0];
		const struct rt_walk *walk = &walks[p->stage];
		BUG_IF(role->schedule.stage != p->stage || role->schedule.stages != head->stages,
		       "a schedule of another stage");
		BUG_IF(role->schedule.slots < walk->slots ||
			       role->schedule.received[0] < walk->received[0] ||
			       role->schedule.received[1] < walk->received[1],
		       "%s holds fewer copies than its schedule asks for", role->name->text);
		verify_slots(p, turns_head_alone(s, &walks[head->stages - 1]));
	}
}

/* Both ends of a message say the same, and what stages add up lies in the same order. */
static void verify_stages(const struct program *a, const struct program *b)
{
	const struct role *x = &a->roles[0], *y = &b->roles[0];
	const struct buffer *carried = &a->buffers[x->carried];
	BUG_IF(carried->bytes != b->buffers[y->carried].bytes, "`%s` is not handed on whole",
	       carried->name->text);
	BUG_IF(a->buffers[x->adjoint].bytes != b->buffers[y->adjoint].bytes,
	       "a gradient is not handed back whole");
	uint32_t i = 0, k = 0;
	for (; i < a->nbuffers && k < b->nbuffers; i++, k++) {
		while (i < a->nbuffers && !a->buffers[i].common)
			i++;
		while (k < b->nbuffers && !b->buffers[k].common)
			k++;
		if (i == a->nbuffers || k == b->nbuffers)
			break;
		BUG_IF(a->buffers[i].name != b->buffers[k].name ||
			       a->buffers[i].bytes != b->buffers[k].bytes ||
			       a->buffers[i].levels != b->buffers[k].levels,
		       "`%s` is not common", a->buffers[i].name->text);
	}
}

/* What passes by the layers is the same at both ends. */
static void verify_past(const struct program *first, const struct program *last)
{
	const struct role *x = &first->roles[0], *y = &last->roles[0];
	for (int backward = 0; backward < 2; backward++) {
		BUG_IF(x->npast[backward] != y->npast[backward],
		       "the last stage does not know what passes by the layers");
		for (uint32_t i = 0; i < x->npast[backward]; i++) {
			const struct buffer *a = &first->buffers[x->past[backward][i]];
			const struct buffer *b = &last->buffers[y->past[backward][i]];
			BUG_IF(a->name != b->name || a->bytes != b->bytes,
			       "`%s` does not pass by the layers whole", a->name->text);
		}
	}
}

static void verify_role(const struct program *p, const struct role *role)
{
	const struct body *bodies[] = {&role->start,	&role->begin,	   &role->forward,
				       &role->backward, &role->merge_sums, &role->merge,
				       &role->update};
	for (uint32_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
		verify_body(p, bodies[i]);
	BUG_IF(role->lanes == 0 || role->schedule.micro_batches % role->lanes,
	       "%u micro-batches in %u lanes", role->schedule.micro_batches, role->lanes);
}

static void verify_program(const struct program *program, struct arena *arena)
{
	bool *written = ARENA_ARRAY(arena, bool, program->nbuffers + 1);
	for (uint32_t i = 0; i < program->nsegments; i++)
		for (uint32_t k = 0; k < program->segments[i].nsteps; k++)
			verify_step(program, i, k, written);
	for (uint32_t i = 0; i < program->nroles; i++)
		verify_role(program, &program->roles[i]);
	for (uint32_t i = 0; i < program->nroles; i++)
		BUG_IF(program->roles[i].schedule.micro_batches == 0, "no micro-batch");
}

static void verify_proof(const char *fault)
{
	BUG_IF(fault, "%s", fault);
}

void program_verify(const struct program *program)
{
	struct arena *arena = arena_new();
	for (const struct program *p = program; p; p = p->next) {
		verify_program(p, arena);
		verify_proof(proof_reads(p, arena));
		if (p != program && !p->next)
			verify_past(program, p);
		if (!p->next)
			continue;
		verify_stages(p, p->next);
	}
	verify_schedules(program, arena);
	verify_proof(proof_collectives(program, arena));
	arena_delete(arena);
}
