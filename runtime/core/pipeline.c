/* SPDX-License-Identifier: Apache-2.0 */
/* A stage of a pipeline follows its schedule: turns, and messages between them. */
#include <stdlib.h>
#include <string.h>

#include "base/rt_status.h"
#include "core/rt_core.h"

static void *words(size_t n, size_t size)
{
	return calloc(n > 0 ? n : 1, size);
}

static int walk_new(struct rt_walk *walk, const struct rt_schedule *s)
{
	uint32_t turns = rt_schedule_turns(s);
	walk->turns = words(turns, sizeof *walk->turns);
	walk->transfers = words(rt_schedule_transfers(s), sizeof *walk->transfers);
	walk->first = words(turns + 2, sizeof *walk->first);
	walk->taken = words(rt_schedule_scratch(s), sizeof *walk->taken);
	walk->free = words(rt_schedule_scratch(s), sizeof *walk->free);
	bool whole = walk->turns && walk->transfers && walk->first && walk->taken && walk->free;
	return whole ? 0 : rt_fail("out of memory for a schedule of %u turns", turns);
}

static int follow(struct rt *rt, struct rt_clock *clock, uint32_t *next)
{
	const struct rt_schedule *s = &rt->role->schedule;
	if (clock->start == NULL || clock->end == NULL || next == NULL)
		return rt_fail("out of memory for a schedule");
	if (!rt_schedule_clock(s, clock, next))
		return rt_fail("plan: stages wait for each other in a circle");
	rt_schedule_walk(s, clock, &rt->walk);
	const struct rt_walk *walk = &rt->walk;
	if (walk->slots > s->slots || walk->received[0] > s->received[0] ||
	    walk->received[1] > s->received[1])
		return rt_fail("plan: the schedule asks for %u, %u and %u copies, there are %u, %u "
			       "and %u",
			       walk->slots, walk->received[0], walk->received[1], s->slots,
			       s->received[0], s->received[1]);
	return 0;
}

int pipeline_open(struct rt *rt)
{
	const struct rt_schedule *s = &rt->role->schedule;
	if (rt->plan->stages <= 1)
		return 0;
	size_t all = (size_t)rt_schedule_turns(s) * s->stages;
	RT_TRY(walk_new(&rt->walk, s));
	uint32_t *next = words(s->stages, sizeof *next);
	struct rt_clock clock = {words(all, sizeof *clock.start), words(all, sizeof *clock.end)};
	int failed = follow(rt, &clock, next);
	free(clock.start);
	free(clock.end);
	free(next);
	return failed;
}

void pipeline_close(struct rt *rt)
{
	free(rt->walk.turns);
	free(rt->walk.transfers);
	free(rt->walk.first);
	free(rt->walk.taken);
	free(rt->walk.free);
	memset(&rt->walk, 0, sizeof rt->walk);
}

/* Number on this stage of the first layer of a chunk. */
static int64_t first_layer(const struct rt *rt, uint32_t chunk)
{
	int64_t first = 0;
	for (uint32_t c = 0; c < chunk; c++)
		first += rt->role->chunks[c].count;
	return first;
}

struct rt_at pipeline_at(const struct rt *rt, const struct rt_turn *turn)
{
	struct rt_at at = {
		.slot = turn->slot, .micro_batch = turn->micro_batch, .chunk = turn->chunk};
	if (rt->role->chunks == NULL)
		return at;
	const struct rt_chunk *chunk = &rt->role->chunks[turn->chunk];
	at.layer = first_layer(rt, turn->chunk);
	at.layers = chunk->count;
	at.shift = chunk->first - at.layer;
	return at;
}

/* The copy that is handed on, or back: behind the chunk, or in front of it. */
static void *end_of(struct rt *rt, const struct rt_place *place, uint32_t chunk, uint32_t slot,
		    bool behind)
{
	struct rt_at at = {.layer = first_layer(rt, chunk), .slot = slot};
	if (behind)
		at.layer += rt->role->chunks[chunk].count;
	return rt_buffer(rt, place, &at, 0);
}

enum { MESSAGES = 64 };

/* Messages that go at once. */
struct mail {
	struct rt_message list[MESSAGES];
	uint32_t n;
};

static int add_message(struct mail *mail, const struct rt_transfer *t, void *buffer, int64_t bytes)
{
	if (mail->n == MESSAGES)
		return rt_fail("plan: more than %d messages at once", MESSAGES);
	mail->list[mail->n++] = (struct rt_message){
		.receive = t->receive, .peer = (int)t->peer, .buffer = buffer, .bytes = bytes};
	return 0;
}

static int add_past(struct rt *rt, struct mail *mail, const struct rt_transfer *t)
{
	const struct rt_role *role = rt->role;
	const struct rt_place *const *places = t->backward  ? role->past_gradients
					       : t->receive ? role->past_received
							    : role->past;
	uint32_t n = t->backward ? role->npast_gradients : role->npast;
	for (uint32_t i = 0; i < n; i++) {
		void *buffer = rt_buffer(rt, places[i], &(struct rt_at){.slot = t->slot}, 0);
		RT_TRY(add_message(mail, t, buffer, places[i]->bytes));
	}
	return 0;
}

/* One message, or one for each tensor that passes by the layers. */
static int add_transfer(struct rt *rt, struct mail *mail, const struct rt_transfer *t)
{
	const struct rt_role *role = rt->role;
	const struct rt_place *place = t->backward ? role->adjoint : role->carried;
	void *buffer;
	if (t->past)
		return add_past(rt, mail, t);
	if (t->receive)
		buffer = rt_buffer(rt, role->received[t->backward],
				   &(struct rt_at){.slot = t->slot}, 0);
	else
		buffer = end_of(rt, place, t->chunk, t->slot, !t->backward);
	return add_message(mail, t, buffer, place->bytes);
}

static int send_mail(struct rt *rt, struct mail *mail)
{
	if (mail->n == 0)
		return 0;
	return comm_exchange(&rt->comm, (int)rt->plan->pipeline_group, mail->list, (int)mail->n);
}

int pipeline_exchange(struct rt *rt, uint32_t i)
{
	struct mail mail = {.n = 0};
	if (rt->walk.turns == NULL)
		return 0;
	for (uint32_t k = rt->walk.first[i]; k < rt->walk.first[i + 1]; k++)
		RT_TRY(add_transfer(rt, &mail, &rt->walk.transfers[k]));
	return send_mail(rt, &mail);
}

static int take(struct rt *rt, const struct rt_place *place, void *to, const struct rt_place *from,
		uint32_t copy)
{
	struct rt_at at = {.slot = copy};
	return rt_copy(rt, 0,
		       &(struct rt_copy){.to = to,
					 .from = rt_buffer(rt, from, &at, 0),
					 .bytes = place->bytes});
}

/* What passes by the layers is read behind the last of them. */
static int take_past(struct rt *rt, const struct rt_turn *turn)
{
	const struct rt_role *role = rt->role;
	if (turn->backward || role->past_received == NULL ||
	    turn->chunk + 1 != role->schedule.chunks)
		return 0;
	for (uint32_t i = 0; i < role->npast; i++) {
		void *to = rt_buffer(rt, role->past[i], &(struct rt_at){.slot = turn->slot}, 0);
		RT_TRY(take(rt, role->past[i], to, role->past_received[i], turn->received));
	}
	return 0;
}

int pipeline_take(struct rt *rt, const struct rt_turn *turn)
{
	const struct rt_role *role = rt->role;
	const struct rt_place *place = turn->backward ? role->adjoint : role->carried;
	if (rt->walk.turns == NULL || turn->received == UINT32_MAX)
		return 0;
	uint32_t slot = turn->backward ? 0 : turn->slot;
	RT_TRY(take(rt, place, end_of(rt, place, turn->chunk, slot, turn->backward),
		    role->received[turn->backward], turn->received));
	return take_past(rt, turn);
}

/* One end of the messages between two virtual stages. */
static int pass(struct rt *rt, struct mail *mail, const struct rt_turn *turn, bool receive)
{
	const struct rt_schedule *s = &rt->role->schedule;
	struct rt_transfer t = {.receive = receive, .chunk = turn->chunk};
	uint32_t chunk;
	if (!rt_schedule_neighbour(s, s->stage, turn, receive, &t.peer, &chunk))
		return 0;
	return add_transfer(rt, mail, &t);
}

/* What passes by the layers goes when the last virtual stage asks for it: this chunk is the last
 * one of its stage. */
static int pass_by(struct rt *rt, struct mail *mail, const struct rt_turn *turn, bool receive)
{
	const struct rt_schedule *s = &rt->role->schedule;
	uint32_t last = s->stages - 1;
	struct rt_transfer t = {.receive = receive, .past = true, .peer = receive ? 0 : last};
	if (!s->past || turn->chunk + 1 != s->chunks || s->stage != (receive ? last : 0))
		return 0;
	return add_transfer(rt, mail, &t);
}

static int forward_chunk(struct rt *rt, uint32_t chunk, int64_t micro_batch)
{
	struct mail in = {.n = 0}, out = {.n = 0};
	struct rt_turn turn = {.chunk = chunk, .received = UINT32_MAX};
	struct rt_at at = pipeline_at(rt, &turn);
	at.micro_batch = micro_batch;
	if (rt->plan->stages <= 1)
		return rt->role->forward(rt, &at);
	RT_TRY(pass(rt, &in, &turn, true));
	RT_TRY(pass_by(rt, &in, &turn, true));
	RT_TRY(send_mail(rt, &in));
	if (in.n > 0)
		turn.received = 0;
	RT_TRY(pipeline_take(rt, &turn));
	RT_TRY(rt->role->forward(rt, &at));
	RT_TRY(pass(rt, &out, &turn, false));
	RT_TRY(pass_by(rt, &out, &turn, false));
	return send_mail(rt, &out);
}

int pipeline_forward(struct rt *rt, int64_t micro_batch)
{
	uint32_t chunks = rt->plan->stages > 1 ? rt->role->schedule.chunks : 1;
	for (uint32_t chunk = 0; chunk < chunks; chunk++)
		RT_TRY(forward_chunk(rt, chunk, micro_batch));
	return 0;
}
