/* SPDX-License-Identifier: Apache-2.0 */
#include "part/proof.h"

#include <string.h>

#include "base/bug.h"
#include "base/vec.h"

/* ---- collectives that several stages take part in -------------------------------------------- */

struct meeting {
	const struct program *program;
	const struct segment *segment;
	uint32_t at; /* step of the segment */
};

struct meetings {
	VEC(struct meeting) all;
	uint32_t next;
};

static const struct step *step_of(const struct meeting *m)
{
	return &m->segment->steps[m->at];
}

static const char *place_of(const struct meeting *m, struct arena *arena)
{
	return arena_text(arena, "stage %u, %s step %u", m->program->stage, m->segment->name->text,
			  m->at);
}

/* Elements that a member brings. */
static long long elements(const struct step *step)
{
	bool blocks = step->collective == COLLECTIVE_ALL_GATHER;
	return blocks ? (long long)(step->sizes[0].value * step->sizes[1].value)
		      : (long long)step->rows.value;
}

static const char *text_of(const struct meeting *m, struct arena *arena)
{
	static const char *const names[] = {"sums",	      "takes the largest of",
					    "sums blocks of", "gathers",
					    "slices",	      "hands over"};
	const struct step *step = step_of(m);
	return arena_text(arena, "%s %s %lld %s over `%s`", place_of(m, arena),
			  names[step->collective], elements(step), graph_type_name(step->type),
			  m->program->groups[step->group].name->text);
}

static bool spans(const struct program *p, const struct step *step)
{
	uint32_t pipeline = p->groups[p->pipeline_group].factors;
	return step->kind == STEP_COLLECTIVE && step->collective != COLLECTIVE_SLICE &&
	       (p->groups[step->group].factors & pipeline) != 0;
}

static bool takes_part(const struct step *step, uint32_t stage)
{
	return step->collective != COLLECTIVE_HAND || step->peers[0] == stage ||
	       step->peers[1] == stage;
}

/* Collectives over stages, in the order of a body. `why`: they must not stand here. */
static const char *collect(const struct program *p, const struct body *body, const char *why,
			   struct meetings *out, struct arena *arena)
{
	for (uint32_t i = 0; i < body->nsweeps; i++)
		for (uint32_t c = 0; c < body->sweeps[i].ncalls; c++) {
			const struct segment *s = &p->segments[body->sweeps[i].calls[c].segment];
			for (uint32_t k = 0; k < s->nsteps; k++) {
				struct meeting one = {p, s, k};
				if (!spans(p, &s->steps[k]) || !takes_part(&s->steps[k], p->stage))
					continue;
				if (why || s->by_layer)
					return arena_text(arena, "%s, %s", text_of(&one, arena),
							  why ? why : "for each of its layers");
				vec_push(arena, &out->all, one);
			}
		}
	return NULL;
}

static const char *collect_stage(const struct program *p, struct meetings *out, struct arena *arena)
{
	const struct role *role = &p->roles[0];
	const struct {
		const struct body *body;
		const char *why;
	} bodies[] = {
		{&role->start, NULL},
		{&role->begin, NULL},
		{&role->forward, "inside a turn"},
		{&role->merge_sums, "inside a turn"},
		{&role->backward, "inside a turn"},
		{&role->merge, "inside a turn"},
		{&role->update, NULL},
	};
	const char *found = NULL;
	for (uint32_t i = 0; i < sizeof bodies / sizeof *bodies && !found; i++)
		found = collect(p, bodies[i].body, bodies[i].why, out, arena);
	return found;
}

static const struct meeting *head_of(const struct meetings *stage)
{
	return stage->next < stage->all.n ? &stage->all.at[stage->next] : NULL;
}

static bool same(const struct step *a, const struct step *b)
{
	return a->collective == b->collective && a->group == b->group && a->type == b->type &&
	       elements(a) == elements(b) && !memcmp(a->peers, b->peers, sizeof a->peers);
}

/* A sum reads the memory of others: it lies at the same place in all. */
static bool common(const struct meeting *m)
{
	const struct step *step = step_of(m);
	return step->collective == COLLECTIVE_HAND ||
	       m->program->buffers[step->uses[0].buffer].common;
}

/* The first stage that takes part in the collective of `stage` and is not there; n: all are. */
static uint32_t absent(const struct meetings *stages, uint32_t n, uint32_t stage)
{
	const struct step *step = step_of(head_of(&stages[stage]));
	for (uint32_t i = 0; i < n; i++) {
		const struct meeting *other = head_of(&stages[i]);
		if (takes_part(step, i) && (!other || !same(step, step_of(other))))
			return i;
	}
	return n;
}

/* Nobody moves: the first one that waits, and for whom. */
static const char *stuck(const struct meetings *stages, uint32_t n, struct arena *arena)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct meeting *mine = head_of(&stages[i]);
		if (!mine)
			continue;
		uint32_t missing = absent(stages, n, i);
		const struct meeting *other = head_of(&stages[missing]);
		if (!other)
			return arena_text(arena, "%s, which stage %u does not take part in",
					  text_of(mine, arena), missing);
		return arena_text(arena, "stages disagree: %s, %s", text_of(mine, arena),
				  text_of(other, arena));
	}
	return NULL;
}

/* The collective of `stage` takes place. */
static const char *take_place(struct meetings *stages, uint32_t n, uint32_t stage,
			      struct arena *arena)
{
	const struct step *step = step_of(head_of(&stages[stage]));
	for (uint32_t i = 0; i < n; i++) {
		if (!takes_part(step, i))
			continue;
		if (!common(head_of(&stages[i])))
			return arena_text(arena, "%s, not at the same place in all stages",
					  text_of(head_of(&stages[i]), arena));
		stages[i].next++;
	}
	return NULL;
}

static const char *meet(struct meetings *stages, uint32_t n, struct arena *arena)
{
	const char *found = NULL;
	for (bool moved = true; moved && !found;) {
		moved = false;
		for (uint32_t i = 0; i < n && !found; i++) {
			if (!head_of(&stages[i]) || absent(stages, n, i) < n)
				continue;
			found = take_place(stages, n, i, arena);
			moved = true;
		}
	}
	return found ? found : stuck(stages, n, arena);
}

const char *proof_collectives(const struct program *head, struct arena *arena)
{
	struct meetings *stages = ARENA_ARRAY(arena, struct meetings, head->stages + 1);
	const char *found = NULL;
	uint32_t n = 0;
	if (head->stages <= 1)
		return NULL;
	for (const struct program *p = head; p && !found; p = p->next)
		found = collect_stage(p, &stages[n++], arena);
	return found ? found : meet(stages, n, arena);
}

/* ---- reads ------------------------------------------------------------------------------------
 */

struct reads {
	const struct program *program;
	struct arena *arena;
	bool *written; /* by buffer */
};

static void set_written(struct reads *r, uint32_t buffer)
{
	if (buffer != NO_ID)
		r->written[buffer] = true;
}

/* What the runtime fills before the first step: weights, zeros of the moments, the control block.
 */
static void fill_start(struct reads *r)
{
	const struct program *p = r->program;
	set_written(r, p->roles[0].control);
	for (uint32_t i = 0; i < p->graph->nparams; i++) {
		set_written(r, p->params[i].weight);
		set_written(r, p->params[i].moment1);
		set_written(r, p->params[i].moment2);
	}
}

static const char *read_step(struct reads *r, const struct segment *segment, uint32_t at)
{
	const struct step *step = &segment->steps[at];
	for (uint32_t i = 0; i < step->nuses; i++) {
		const struct use *use = &step->uses[i];
		if (use->buffer == NO_ID || use->write || r->written[use->buffer])
			continue;
		return arena_text(r->arena,
				  "stage %u, %s step %u reads `%s`, which nothing has "
				  "written",
				  r->program->stage, segment->name->text, at,
				  r->program->buffers[use->buffer].name->text);
	}
	for (uint32_t i = 0; i < step->nuses; i++)
		if (step->uses[i].write)
			set_written(r, step->uses[i].buffer);
	return NULL;
}

static void forget(struct reads *r, enum life life)
{
	for (uint32_t i = 0; i < r->program->nbuffers; i++)
		if (r->program->buffers[i].life == life)
			r->written[i] = false;
}

static bool in_chunk(const struct program *p, const struct sweep *sweep, uint32_t chunk)
{
	uint32_t last = p->roles[0].schedule.chunks - 1;
	return sweep->when == EVERY_CHUNK || chunk == (sweep->when == FIRST_CHUNK ? 0 : last);
}

static const char *read_body(struct reads *r, const struct body *body, uint32_t chunk)
{
	const char *found = NULL;
	for (uint32_t i = 0; i < body->nsweeps; i++)
		for (uint32_t c = 0; c < body->sweeps[i].ncalls; c++) {
			uint32_t segment = body->sweeps[i].calls[c].segment;
			const struct segment *s = &r->program->segments[segment];
			if (!in_chunk(r->program, &body->sweeps[i], chunk))
				continue;
			forget(r, LIFE_SEGMENT);
			for (uint32_t k = 0; k < s->nsteps && !found; k++)
				found = read_step(r, s, k);
		}
	return found;
}

/* What has come for a turn of a chunk. */
static void fill_turn(struct reads *r, bool backward, uint32_t chunk)
{
	const struct role *role = &r->program->roles[0];
	uint32_t last_chunk = role->schedule.chunks - 1;
	bool first = r->program->stage == 0 && chunk == 0;
	bool last = r->program->stage + 1 == r->program->stages && chunk == last_chunk;
	forget(r, LIFE_TURN);
	if (r->program->stages <= 1)
		return;
	if (backward ? !last : !first)
		set_written(r, backward ? role->adjoint : role->carried);
	if (backward ? first : last)
		for (uint32_t i = 0; i < role->npast[backward]; i++)
			set_written(r, role->past[backward][i]);
}

/* One micro-batch through a chunk and back. */
static const char *read_turns(struct reads *r, uint32_t chunk)
{
	const struct role *role = &r->program->roles[0];
	forget(r, LIFE_SLOT);
	fill_turn(r, false, chunk);
	const char *found = read_body(r, &role->forward, chunk);
	if (!found)
		found = read_body(r, &role->merge_sums, chunk);
	if (found)
		return found;
	fill_turn(r, true, chunk);
	found = read_body(r, &role->backward, chunk);
	return found ? found : read_body(r, &role->merge, chunk);
}

const char *proof_reads(const struct program *program, struct arena *arena)
{
	struct reads r = {.program = program,
			  .arena = arena,
			  .written = ARENA_ARRAY(arena, bool, program->nbuffers + 1)};
	const struct role *role = &program->roles[0];
	fill_start(&r);
	const char *found = read_body(&r, &role->start, 0);
	if (!found)
		found = read_body(&r, &role->begin, 0);
	for (uint32_t c = 0; c < role->schedule.chunks && !found; c++)
		found = read_turns(&r, c);
	return found ? found : read_body(&r, &role->update, 0);
}
