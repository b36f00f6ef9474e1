/* SPDX-License-Identifier: Apache-2.0 */
#include "part/turns.h"

#include <string.h>

#include "base/bug.h"

static void walk_new(struct rt_walk *walk, const struct rt_schedule *s, struct arena *arena)
{
	uint32_t turns = rt_schedule_turns(s);
	*walk = (struct rt_walk){
		.turns = ARENA_ARRAY(arena, struct rt_turn, turns),
		.transfers = ARENA_ARRAY(arena, struct rt_transfer, rt_schedule_transfers(s)),
		.first = ARENA_ARRAY(arena, uint32_t, turns + 2),
		.taken = ARENA_ARRAY(arena, uint32_t, rt_schedule_scratch(s)),
		.free = ARENA_ARRAY(arena, uint32_t, rt_schedule_scratch(s)),
	};
}

struct rt_walk *turns_walks(const struct rt_schedule *s, struct arena *arena)
{
	size_t turns = rt_schedule_turns(s);
	struct rt_walk *walks = ARENA_ARRAY(arena, struct rt_walk, s->stages);
	struct rt_clock clock = {.start = ARENA_ARRAY(arena, uint32_t, turns * s->stages),
				 .end = ARENA_ARRAY(arena, uint32_t, turns * s->stages)};
	bool ends = rt_schedule_clock(s, &clock, ARENA_ARRAY(arena, uint32_t, s->stages));
	BUG_IF(!ends, "a schedule of %u stages, %u chunks, %u micro-batches ends in a circle",
	       s->stages, s->chunks, s->micro_batches);
	for (uint32_t i = 0; i < s->stages; i++) {
		struct rt_schedule one = *s;
		one.stage = i;
		walk_new(&walks[i], s, arena);
		rt_schedule_walk(&one, &clock, &walks[i]);
	}
	return walks;
}

bool turns_head_alone(const struct rt_schedule *s, const struct rt_walk *last)
{
	uint32_t turns = rt_schedule_turns(s);
	for (uint32_t i = 0; i < turns; i++) {
		const struct rt_turn *turn = &last->turns[i];
		if (turn->backward || turn->chunk + 1 < s->chunks)
			continue;
		const struct rt_turn *next = turn + 1;
		if (i + 1 == turns || !next->backward || next->chunk != turn->chunk ||
		    next->micro_batch != turn->micro_batch)
			return false;
	}
	return true;
}

/* ---- one stage: turns, copies --------------------------------------------------------------- */

enum { FREE = UINT32_MAX };

struct replay {
	const struct rt_schedule *s;
	const struct rt_walk *walk;
	struct arena *arena;
	uint32_t stage;
	/* by copy: what it holds (chunk * m + micro-batch) or FREE; operands, gradients that wait
	 */
	uint32_t *slots, *received[2];
	uint32_t *next;	  /* by chunk: the micro-batch that goes backward next */
	uint8_t *done;	  /* by key: 1 taken */
	uint8_t *past[2]; /* by micro-batch: what passes by the layers, its gradient is here */
};

static uint32_t what(const struct replay *r, uint32_t chunk, uint32_t micro_batch)
{
	return chunk * r->s->micro_batches + micro_batch;
}

static const char *fault(const struct replay *r, uint32_t i, const char *text)
{
	return arena_text(r->arena, "stage %u, turn %u: %s", r->stage, i, text);
}

/* What is sent has been made, and is still there. */
static const char *replay_sent(struct replay *r, uint32_t i, const struct rt_transfer *t)
{
	uint32_t mine = what(r, t->chunk, t->micro_batch);
	if (mine >= r->s->chunks * r->s->micro_batches ||
	    !r->done[rt_schedule_key(r->s, t->backward, t->chunk, t->micro_batch)])
		return fault(r, i, "a message leaves before it is made");
	if (!t->backward && (t->slot >= r->walk->slots || r->slots[t->slot] != mine))
		return fault(r, i, "a message leaves from a copy that is not its own");
	return NULL;
}

/* Forward it waits beside the operand of its turn, a gradient beside what its micro-batch keeps. */
static const char *replay_past(struct replay *r, uint32_t i, const struct rt_transfer *t)
{
	const uint32_t *copies = t->backward ? r->slots : r->received[0];
	uint32_t most = t->backward ? r->walk->slots : r->walk->received[0];
	if (t->slot >= most || copies[t->slot] != what(r, t->chunk, t->micro_batch))
		return fault(r, i, "a message arrives in a copy that is not its own");
	r->past[t->backward][t->micro_batch] = 1;
	return NULL;
}

static const char *replay_received(struct replay *r, uint32_t i, const struct rt_transfer *t)
{
	uint32_t *copies = r->received[t->backward];
	if (t->past)
		return replay_past(r, i, t);
	if (t->slot >= r->walk->received[t->backward] || copies[t->slot] != FREE)
		return fault(r, i, "a message arrives in a copy that is in use");
	copies[t->slot] = what(r, t->chunk, t->micro_batch);
	return NULL;
}

static const char *replay_messages(struct replay *r, uint32_t i)
{
	const char *found = NULL;
	for (uint32_t k = r->walk->first[i]; k < r->walk->first[i + 1] && !found; k++) {
		const struct rt_transfer *t = &r->walk->transfers[k];
		if (k > r->walk->first[i] && t[-1].edge >= t->edge)
			return fault(r, i, "messages are not in the order of their edges");
		found = t->receive ? replay_received(r, i, t) : replay_sent(r, i, t);
	}
	return found;
}

/* Whether what passes by the layers is needed and not here. */
static bool past_missing(const struct replay *r, const struct rt_turn *turn)
{
	uint32_t stage = turn->backward ? 0 : r->s->stages - 1;
	uint32_t chunk = turn->backward ? 0 : r->s->chunks - 1;
	return r->s->past && r->s->stages > 1 && r->stage == stage && turn->chunk == chunk &&
	       !r->past[turn->backward][turn->micro_batch];
}

static const char *replay_forward(struct replay *r, uint32_t i, const struct rt_turn *turn)
{
	if (turn->slot >= r->walk->slots)
		return fault(r, i, "a copy that does not exist");
	if (r->slots[turn->slot] != FREE)
		return fault(r, i, "its copy is in use");
	r->slots[turn->slot] = what(r, turn->chunk, turn->micro_batch);
	return NULL;
}

static const char *replay_backward(struct replay *r, uint32_t i, const struct rt_turn *turn)
{
	if (turn->micro_batch != r->next[turn->chunk]++)
		return fault(r, i, "micro-batches are not added in ascending order");
	if (turn->slot >= r->walk->slots ||
	    r->slots[turn->slot] != what(r, turn->chunk, turn->micro_batch))
		return fault(r, i, "what its forward kept is gone");
	r->slots[turn->slot] = FREE;
	return NULL;
}

/* The operand of a turn, or its gradient: it waits here. */
static const char *replay_operand(struct replay *r, uint32_t i, const struct rt_turn *turn)
{
	static const char *const texts[] = {"its operand has not been received",
					    "its gradient has not been received"};
	uint32_t other, chunk, *copies = r->received[turn->backward];
	if (!rt_schedule_neighbour(r->s, r->stage, turn, true, &other, &chunk))
		return NULL;
	if (turn->received >= r->walk->received[turn->backward] ||
	    copies[turn->received] != what(r, turn->chunk, turn->micro_batch))
		return fault(r, i, texts[turn->backward]);
	copies[turn->received] = FREE;
	return NULL;
}

static const char *replay_turn(struct replay *r, uint32_t i)
{
	const struct rt_turn *turn = &r->walk->turns[i];
	if (turn->chunk >= r->s->chunks || turn->micro_batch >= r->s->micro_batches)
		return fault(r, i, "a micro-batch that does not exist");
	uint32_t key = rt_schedule_key(r->s, turn->backward, turn->chunk, turn->micro_batch);
	if (r->done[key]++)
		return fault(r, i, "it is taken twice");
	if (turn->backward &&
	    !r->done[rt_schedule_key(r->s, false, turn->chunk, turn->micro_batch)])
		return fault(r, i, "backward before forward");
	if (past_missing(r, turn))
		return fault(r, i, "what passes by the layers has not been received");
	const char *found = replay_operand(r, i, turn);
	if (found)
		return found;
	return turn->backward ? replay_backward(r, i, turn) : replay_forward(r, i, turn);
}

static uint32_t *copies_free(struct arena *arena, uint32_t n)
{
	uint32_t *copies = ARENA_ARRAY(arena, uint32_t, n + 1);
	memset(copies, 0xff, n * sizeof *copies);
	return copies;
}

static const char *stage_fault(const struct rt_schedule *s, const struct rt_walk *walk,
			       uint32_t stage, struct arena *arena)
{
	uint32_t turns = rt_schedule_turns(s);
	const char *found = NULL;
	struct replay r = {.s = s,
			   .walk = walk,
			   .arena = arena,
			   .stage = stage,
			   .slots = copies_free(arena, walk->slots),
			   .received = {copies_free(arena, walk->received[0]),
					copies_free(arena, walk->received[1])},
			   .next = ARENA_ARRAY(arena, uint32_t, s->chunks),
			   .done = ARENA_ARRAY(arena, uint8_t, turns),
			   .past = {ARENA_ARRAY(arena, uint8_t, s->micro_batches),
				    ARENA_ARRAY(arena, uint8_t, s->micro_batches)}};
	for (uint32_t i = 0; i <= turns && !found; i++) {
		found = replay_messages(&r, i);
		if (!found && i < turns)
			found = replay_turn(&r, i);
	}
	return found;
}

/* ---- all stages: each message of a list moves on its own, a list ends when all are through --- */

struct meeting {
	const struct rt_schedule *s;
	const struct rt_walk *walks;
	uint32_t *list; /* by stage: the list it is in */
	bool **through; /* by stage, by transfer */
};

/* The first message of the list of `stage` to or from `peer` that is not through. */
static const struct rt_transfer *first_open(const struct meeting *m, uint32_t stage, uint32_t peer,
					    bool receive)
{
	const struct rt_walk *walk = &m->walks[stage];
	if (m->list[stage] > rt_schedule_turns(m->s))
		return NULL;
	for (uint32_t k = walk->first[m->list[stage]]; k < walk->first[m->list[stage] + 1]; k++)
		if (walk->transfers[k].peer == peer && walk->transfers[k].receive == receive &&
		    !m->through[stage][k])
			return &walk->transfers[k];
	return NULL;
}

static const char *stage_of_message(const struct rt_transfer *t, uint32_t stage,
				    struct arena *arena)
{
	static const char *const whats[2][2] = {
		{"the result", "the gradient"},
		{"what passes by the layers", "the gradient of what passes by the layers"}};
	return arena_text(arena, "stage %u %s %s of micro-batch %u %s stage %u", stage,
			  t->receive ? "receives" : "sends", whats[t->past][t->backward],
			  t->micro_batch, t->receive ? "from" : "to", t->peer);
}

/* Both ends of a message are in their lists: it goes through. */
static const char *meet(struct meeting *m, uint32_t stage, bool *moved, struct arena *arena)
{
	const struct rt_walk *walk = &m->walks[stage];
	for (uint32_t k = walk->first[m->list[stage]]; k < walk->first[m->list[stage] + 1]; k++) {
		const struct rt_transfer *mine = &walk->transfers[k], *other;
		if (m->through[stage][k] || first_open(m, stage, mine->peer, mine->receive) != mine)
			continue;
		other = first_open(m, mine->peer, stage, !mine->receive);
		if (!other)
			continue;
		if (other->edge != mine->edge || other->backward != mine->backward ||
		    other->past != mine->past || other->micro_batch != mine->micro_batch)
			return arena_text(arena, "the ends of a message disagree: %s, %s",
					  stage_of_message(mine, stage, arena),
					  stage_of_message(other, mine->peer, arena));
		m->through[stage][k] = true;
		m->through[mine->peer][other - m->walks[mine->peer].transfers] = true;
		*moved = true;
	}
	return NULL;
}

static bool list_ended(const struct meeting *m, uint32_t stage)
{
	const struct rt_walk *walk = &m->walks[stage];
	for (uint32_t k = walk->first[m->list[stage]]; k < walk->first[m->list[stage] + 1]; k++)
		if (!m->through[stage][k])
			return false;
	return true;
}

/* Whether the peer of an open message has its other end anywhere. */
static bool answered(const struct meeting *m, uint32_t stage, const struct rt_transfer *t)
{
	const struct rt_walk *peer = &m->walks[t->peer];
	for (uint32_t k = 0; k < peer->first[rt_schedule_turns(m->s) + 1]; k++) {
		const struct rt_transfer *other = &peer->transfers[k];
		if (other->peer == stage && other->receive != t->receive &&
		    other->edge == t->edge && !m->through[t->peer][k])
			return true;
	}
	return false;
}

/* Nothing moves: a message whose other end is missing, or a circle. */
static const char *stuck(const struct meeting *m, struct arena *arena)
{
	const char *circle = "every stage waits for another one:";
	for (uint32_t stage = 0; stage < m->s->stages; stage++) {
		const struct rt_walk *walk = &m->walks[stage];
		const struct rt_transfer *t = NULL;
		if (m->list[stage] > rt_schedule_turns(m->s))
			continue;
		for (uint32_t k = walk->first[m->list[stage]]; !t; k++)
			if (!m->through[stage][k])
				t = &walk->transfers[k];
		const char *text = stage_of_message(t, stage, arena);
		if (!answered(m, stage, t))
			return arena_text(arena, "%s, which does not answer", text);
		circle = arena_text(arena, "%s %s;", circle, text);
	}
	return circle;
}

static const char *meeting_fault(struct meeting *m, struct arena *arena)
{
	const char *found = NULL;
	uint32_t turns = rt_schedule_turns(m->s), ended = 0;
	for (bool moved = true; moved && !found && ended < m->s->stages;) {
		moved = false;
		for (uint32_t stage = 0; stage < m->s->stages && !found; stage++) {
			if (m->list[stage] > turns)
				continue;
			found = meet(m, stage, &moved, arena);
			while (m->list[stage] <= turns && list_ended(m, stage)) {
				m->list[stage]++;
				moved = true;
			}
			ended += m->list[stage] > turns;
		}
	}
	return found || ended == m->s->stages ? found : stuck(m, arena);
}

const char *turns_fault(const struct rt_schedule *s, const struct rt_walk *walks,
			struct arena *arena)
{
	struct meeting m = {.s = s,
			    .walks = walks,
			    .list = ARENA_ARRAY(arena, uint32_t, s->stages),
			    .through = ARENA_ARRAY(arena, bool *, s->stages)};
	const char *found = NULL;
	for (uint32_t i = 0; i < s->stages && !found; i++) {
		found = stage_fault(s, &walks[i], i, arena);
		m.through[i] = ARENA_ARRAY(arena, bool, rt_schedule_transfers(s) + 1);
	}
	return found ? found : meeting_fault(&m, arena);
}
