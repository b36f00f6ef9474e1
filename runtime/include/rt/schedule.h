/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule of a pipeline: which turn a stage takes when, and which messages go between turns.
 * Pure functions of a few numbers, used by planc to prove the schedule and by the program to follow
 * it; memory is the caller's.
 *
 * A turn is one micro-batch through one chunk of layers, forward or backward. Virtual stage
 * `chunk * stages + stage` hands on to the next one. Messages have their places by a global clock:
 * turns take one unit of time and start once their operand is made; what is made at time t leaves
 * after the turn that made it and arrives before the first turn of the receiver that starts at t or
 * later.
 *
 * What is made before the layers and read behind them passes them by: it goes from the first
 * virtual stage to the last one beside the message of the layers, its gradient goes back as soon as
 * it is made. */
#ifndef RT_SCHEDULE_H
#define RT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum rt_schedule_kind {
	RT_1F1B, /* a backward as early as it can be; several chunks: interleaved */
	RT_GPIPE /* all forwards, then all backwards, each in ascending order */
};

struct rt_schedule {
	enum rt_schedule_kind kind;
	uint32_t micro_batches, stages, stage, chunks;
	uint32_t slots;	      /* copies of what a micro-batch keeps between forward and backward */
	uint32_t received[2]; /* operands, gradients that have arrived and wait, at most */
	bool past;	      /* tensors pass by the layers */
};

struct rt_turn {
	bool backward;
	uint32_t chunk, micro_batch, slot;
	uint32_t received; /* where its operand, or gradient, has arrived; UINT32_MAX: made here */
};

struct rt_transfer {
	bool receive, backward;
	bool past;     /* of what passes by the layers; else between neighbours */
	uint32_t peer; /* stage */
	uint32_t chunk, micro_batch;
	uint32_t slot; /* what arrives: its copy among those that wait; an operand that is sent, a
			* gradient that has passed by the layers: of its micro-batch; a gradient
			* that is sent: 0 */
	uint64_t edge; /* of this message, equal at both ends; messages of a list ascend by it */
};

/* Start of each turn, [stages][turns], and end by what it computes, [stages][turns] too. */
struct rt_clock {
	uint32_t *start, *end;
};

/* What a stage does: transfers [first[i], first[i + 1]), then turn i; at the end the transfers from
 * first[turns] on. */
struct rt_walk {
	struct rt_turn *turns;	       /* rt_schedule_turns */
	struct rt_transfer *transfers; /* rt_schedule_transfers */
	uint32_t *first;	       /* turns + 2 */
	uint32_t *taken, *free;	       /* scratch, rt_schedule_scratch each */
	uint32_t slots, received[2];   /* result: the most alive at once */
};

/* Number of turns of a stage in a step. */
static inline uint32_t rt_schedule_turns(const struct rt_schedule *s)
{
	return 2 * s->micro_batches * s->chunks;
}

/* Transfers of a stage in a step, at most. */
static inline uint32_t rt_schedule_transfers(const struct rt_schedule *s)
{
	return (s->past ? 3 : 2) * rt_schedule_turns(s);
}

/* Words for copies of slots, of operands and of gradients. */
static inline uint32_t rt_schedule_scratch(const struct rt_schedule *s)
{
	return 3 * s->micro_batches * s->chunks;
}

/* Groups of micro-batches that go through one chunk in a row: sizes that differ by one. */
static inline uint32_t rt_schedule_groups(const struct rt_schedule *s)
{
	return s->micro_batches < s->stages ? 1 : s->micro_batches / s->stages;
}

/* The k-th forward, or backward, of a stage. */
static inline struct rt_turn rt_schedule_nth(const struct rt_schedule *s, bool backward, uint32_t k)
{
	uint32_t groups = rt_schedule_groups(s), size = s->micro_batches / groups;
	uint32_t larger = s->micro_batches % groups; /* groups in front of size + 1 */
	uint32_t head = larger * (size + 1) * s->chunks, before = 0;
	if (s->chunks == 1)
		return (struct rt_turn){.backward = backward, .micro_batch = k};
	if (k < head) {
		size++;
		before = k / (size * s->chunks) * size;
		k %= size * s->chunks;
	} else {
		k -= head;
		before = larger * (size + 1) + k / (size * s->chunks) * size;
		k %= size * s->chunks;
	}
	uint32_t chunk = k / size;
	return (struct rt_turn){.backward = backward,
				.chunk = backward ? s->chunks - 1 - chunk : chunk,
				.micro_batch = before + k % size};
}

/* Forwards that `stage` takes before its first backward, less the one that goes right before it. */
static inline uint32_t rt_schedule_ahead(const struct rt_schedule *s, uint32_t stage)
{
	uint32_t all = s->micro_batches * s->chunks, groups = rt_schedule_groups(s);
	uint32_t largest = (s->micro_batches + groups - 1) / groups;
	uint32_t ahead = s->stages - 1 - stage;
	if (s->kind == RT_GPIPE)
		return all;
	if (s->chunks > 1)
		ahead = 2 * ahead + (s->chunks - 1) * largest;
	return ahead < all ? ahead : all;
}

/* Turn i of `stage`, without its slot. */
static inline struct rt_turn rt_schedule_turn(const struct rt_schedule *s, uint32_t stage,
					      uint32_t i)
{
	uint32_t all = s->micro_batches * s->chunks, ahead = rt_schedule_ahead(s, stage);
	if (i < ahead)
		return rt_schedule_nth(s, false, i);
	if (i < 2 * all - ahead)
		return rt_schedule_nth(s, (i - ahead) % 2 == 1,
				       (i - ahead) / 2 + ((i - ahead) % 2 == 0 ? ahead : 0));
	return rt_schedule_nth(s, true, i - all);
}

/* The virtual stage that a turn of `stage` hands its result to, or gets its operand from
 * (`source`). False: the ends of the model. */
static inline bool rt_schedule_neighbour(const struct rt_schedule *s, uint32_t stage,
					 const struct rt_turn *turn, bool source,
					 uint32_t *other_stage, uint32_t *other_chunk)
{
	bool down = turn->backward != source;
	uint32_t at = turn->chunk * s->stages + stage;
	if (down ? at == 0 : at + 1 == s->chunks * s->stages)
		return false;
	at = down ? at - 1 : at + 1;
	*other_stage = at % s->stages;
	*other_chunk = at / s->stages;
	return s->stages > 1;
}

/* Index of what a turn computes among those of a stage. */
static inline uint32_t rt_schedule_key(const struct rt_schedule *s, bool backward, uint32_t chunk,
				       uint32_t micro_batch)
{
	return ((backward ? s->chunks : 0) + chunk) * s->micro_batches + micro_batch;
}

/* When the operand of a turn of `stage` is there; 0: at once; UINT32_MAX: not known yet. */
static inline uint32_t rt_schedule_ready(const struct rt_schedule *s, const struct rt_clock *clock,
					 uint32_t stage, const struct rt_turn *turn)
{
	uint32_t other, chunk, turns = rt_schedule_turns(s);
	if (!rt_schedule_neighbour(s, stage, turn, true, &other, &chunk))
		return 0;
	uint32_t end = clock->end[other * turns +
				  rt_schedule_key(s, turn->backward, chunk, turn->micro_batch)];
	return end ? end : UINT32_MAX;
}

/* Fills the clock, all of it zero before. `next`: stages words, zero. False: turns wait for each
 * other in a circle. */
static inline bool rt_schedule_clock(const struct rt_schedule *s, struct rt_clock *clock,
				     uint32_t *next)
{
	uint32_t turns = rt_schedule_turns(s), done = 0, before;
	do {
		before = done;
		for (uint32_t stage = 0; stage < s->stages; stage++) {
			for (; next[stage] < turns; next[stage]++, done++) {
				uint32_t i = next[stage], *start = clock->start + stage * turns;
				struct rt_turn turn = rt_schedule_turn(s, stage, i);
				uint32_t ready = rt_schedule_ready(s, clock, stage, &turn);
				if (ready == UINT32_MAX)
					break;
				uint32_t last = i ? start[i - 1] + 1 : 0;
				start[i] = ready > last ? ready : last;
				clock->end[stage * turns +
					   rt_schedule_key(s, turn.backward, turn.chunk,
							   turn.micro_batch)] = start[i] + 1;
			}
		}
	} while (done > before);
	return done == turns * s->stages;
}

/* The first turn of a stage that starts at `time` or later; the number of turns if none does. */
static inline uint32_t rt_schedule_after(const uint32_t *start, uint32_t turns, uint32_t time)
{
	uint32_t low = 0, high = turns;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (start[middle] >= time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The message that a turn of s->stage makes (sends), or that it needs; false: none. *list: before
 * which turn it goes. */
static inline bool rt_schedule_transfer(const struct rt_schedule *s, const struct rt_clock *clock,
					uint32_t i, bool receive, struct rt_transfer *out,
					uint32_t *list)
{
	struct rt_turn turn = rt_schedule_turn(s, s->stage, i);
	uint32_t turns = rt_schedule_turns(s), chunk, peer;
	const uint32_t *start = clock->start + s->stage * turns;
	if (!rt_schedule_neighbour(s, s->stage, &turn, receive, &peer, &chunk))
		return false;
	uint32_t made = receive ? rt_schedule_ready(s, clock, s->stage, &turn) : start[i] + 1;
	*out = (struct rt_transfer){.receive = receive,
				    .backward = turn.backward,
				    .peer = peer,
				    .chunk = turn.chunk,
				    .micro_batch = turn.micro_batch,
				    .edge = 2 * (uint64_t)made * s->stages +
					    (receive ? peer : s->stage)};
	*list = receive ? rt_schedule_after(start, turns, made) : i + 1;
	return true;
}

/* The same of what passes by the layers: forward it leaves the first virtual stage, which keeps it
 * until then, when the last one gets the message of the layers. */
static inline bool rt_schedule_past(const struct rt_schedule *s, const struct rt_clock *clock,
				    uint32_t i, bool receive, struct rt_transfer *out,
				    uint32_t *list)
{
	struct rt_turn turn = rt_schedule_turn(s, s->stage, i), end = turn;
	uint32_t turns = rt_schedule_turns(s), last = s->stages - 1;
	bool front = receive == turn.backward;
	if (!s->past || last == 0 || s->stage != (front ? 0 : last) ||
	    turn.chunk != (front ? 0 : s->chunks - 1))
		return false;
	end.chunk = s->chunks - 1;
	uint32_t made = rt_schedule_ready(s, clock, last, &end);
	if (turn.backward)
		made = clock->end[last * turns +
				  rt_schedule_key(s, true, s->chunks - 1, turn.micro_batch)];
	*out = (struct rt_transfer){.receive = receive,
				    .backward = turn.backward,
				    .past = true,
				    .peer = front ? last : 0,
				    .chunk = turn.chunk,
				    .micro_batch = turn.micro_batch,
				    .edge = (2 * (uint64_t)made + 1) * s->stages +
					    (turn.backward ? last : 0)};
	*list = rt_schedule_after(clock->start + s->stage * turns, turns, made);
	return true;
}

/* Number k of the four that there may be of turn k / 4. */
static inline bool rt_schedule_kth(const struct rt_schedule *s, const struct rt_clock *clock,
				   uint32_t k, struct rt_transfer *out, uint32_t *list)
{
	if (k % 4 < 2)
		return rt_schedule_transfer(s, clock, k / 4, k % 2 == 0, out, list);
	return rt_schedule_past(s, clock, k / 4, k % 2 == 0, out, list);
}

/* Places the transfers: counted, then put in, then each list sorted by edge. */
static inline void rt_schedule_lists(const struct rt_schedule *s, const struct rt_clock *clock,
				     struct rt_walk *walk)
{
	uint32_t turns = rt_schedule_turns(s), list;
	struct rt_transfer one;
	for (uint32_t i = 0; i < turns + 2; i++)
		walk->first[i] = 0;
	for (uint32_t i = 0; i < 4 * turns; i++)
		if (rt_schedule_kth(s, clock, i, &one, &list))
			walk->first[list + 1]++;
	for (uint32_t i = 0; i < turns + 1; i++)
		walk->first[i + 1] += walk->first[i];
	for (uint32_t i = 0; i < walk->first[turns + 1]; i++)
		walk->transfers[i].edge = UINT64_MAX;
	for (uint32_t i = 0; i < 4 * turns; i++) {
		if (!rt_schedule_kth(s, clock, i, &one, &list))
			continue;
		struct rt_transfer *at = walk->transfers + walk->first[list];
		while (at->edge < one.edge)
			at++;
		for (; one.edge != UINT64_MAX; at++) {
			struct rt_transfer held = *at;
			*at = one;
			one = held;
		}
	}
}

/* Copies that are free, the last one given back on top; beyond them new ones. */
struct rt_pool {
	uint32_t *free, nfree, made;
};

static inline uint32_t rt_pool_take(struct rt_pool *pool)
{
	return pool->nfree ? pool->free[--pool->nfree] : pool->made++;
}

static inline void rt_pool_give(struct rt_pool *pool, uint32_t copy)
{
	pool->free[pool->nfree++] = copy;
}

/* Copies of a stage: pool 0 of slots, 1 of operands, 2 of gradients. By what they hold. */
static inline uint32_t *rt_schedule_copy(const struct rt_schedule *s, const struct rt_walk *walk,
					 uint32_t pool, uint32_t chunk, uint32_t micro_batch)
{
	return &walk->taken[(pool * s->chunks + chunk) * s->micro_batches + micro_batch];
}

/* What comes and goes before turn i (i == turns: at the end) gets its copies. */
static inline void rt_schedule_arrive(const struct rt_schedule *s, struct rt_walk *walk, uint32_t i,
				      struct rt_pool pools[3])
{
	for (uint32_t k = walk->first[i]; k < walk->first[i + 1]; k++) {
		struct rt_transfer *t = &walk->transfers[k];
		bool waits = t->receive && !(t->past && t->backward);
		uint32_t pool = waits ? 1 + t->backward : 0;
		uint32_t *copy = rt_schedule_copy(s, walk, pool, t->chunk, t->micro_batch);
		if (t->receive && !t->past)
			*copy = rt_pool_take(&pools[pool]);
		t->slot = t->receive || !t->backward ? *copy : 0;
	}
}

/* Turn i gets its copies, and gives back those that it is the last to read. */
static inline struct rt_turn rt_schedule_copies(const struct rt_schedule *s, struct rt_walk *walk,
						uint32_t i, struct rt_pool pools[3])
{
	struct rt_turn turn = rt_schedule_turn(s, s->stage, i);
	uint32_t other, chunk;
	uint32_t *slot = rt_schedule_copy(s, walk, 0, turn.chunk, turn.micro_batch);
	turn.received = UINT32_MAX;
	if (!turn.backward)
		*slot = rt_pool_take(&pools[0]);
	turn.slot = *slot;
	if (rt_schedule_neighbour(s, s->stage, &turn, true, &other, &chunk)) {
		turn.received =
			*rt_schedule_copy(s, walk, 1 + turn.backward, turn.chunk, turn.micro_batch);
		rt_pool_give(&pools[1 + turn.backward], turn.received);
	}
	if (turn.backward)
		rt_pool_give(&pools[0], turn.slot);
	return turn;
}

/* Everything that s->stage does in a step. */
static inline void rt_schedule_walk(const struct rt_schedule *s, const struct rt_clock *clock,
				    struct rt_walk *walk)
{
	uint32_t turns = rt_schedule_turns(s);
	struct rt_pool pools[3] = {{.free = walk->free},
				   {.free = walk->free + turns / 2},
				   {.free = walk->free + turns}};
	rt_schedule_lists(s, clock, walk);
	for (uint32_t i = 0; i < turns; i++) {
		rt_schedule_arrive(s, walk, i, pools);
		walk->turns[i] = rt_schedule_copies(s, walk, i, pools);
	}
	rt_schedule_arrive(s, walk, turns, pools);
	walk->slots = pools[0].made;
	walk->received[0] = pools[1].made;
	walk->received[1] = pools[2].made;
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
