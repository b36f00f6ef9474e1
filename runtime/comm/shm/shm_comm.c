/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks on one machine: every rank has mapped every arena before the fork, so sums and gathers read
 * the peers directly. The shared part holds, for each group of the plan, one barrier a first member
 * and one mailbox a pair of ranks. */
#include <string.h>

#include "base/rt_status.h"
#include "comm/coll/coll.h"
#include "comm/comm.h"
#include "comm/wait.h"

enum { LINE = 64 };

/* What a sender offers: bytes of its arena. posted - taken is 0 or 1. */
struct mailbox {
	_Alignas(LINE) _Atomic uint32_t posted;
	_Atomic uint32_t taken;
	int64_t offset, bytes;
};

/* One a group and rank: the barrier of the members whose first is this rank; how far the rank is.
 */
struct member {
	_Alignas(LINE) struct barrier_central barrier;
	_Alignas(LINE) _Atomic uint64_t arrivals; /* barriers entered */
	struct rt_comm_call calls[2];		  /* of the last two barriers, by arrivals % 2 */
	_Alignas(LINE) _Atomic uint32_t bell;	  /* moves when a mailbox of this rank changes */
};

struct shm_group {
	struct member *members; /* by rank */
	struct mailbox *mail;	/* [from][to], by rank */
};

static size_t group_bytes(size_t ranks)
{
	return ranks * sizeof(struct member) + ranks * ranks * sizeof(struct mailbox);
}

size_t shm_comm_bytes(int ranks, int ngroups)
{
	return group_bytes((size_t)ranks) * (size_t)(ngroups + 1);
}

static struct shm_group shm_group_of(const struct rt_comm *comm, const struct rt_comm_group *group)
{
	size_t index = (size_t)(group - comm->groups);
	unsigned char *at =
		(unsigned char *)comm->shared + index * group_bytes((size_t)comm->ranks);
	struct shm_group shm = {.members = (struct member *)(void *)at};
	shm.mail = (struct mailbox *)(void *)(shm.members + comm->ranks);
	return shm;
}

static int shm_open(struct rt_comm *comm)
{
	if (comm->ranks > COLL_MAX_RANKS)
		return rt_fail("%d ranks on one machine, at most %d are served", comm->ranks,
			       COLL_MAX_RANKS);
	return 0;
}

static void shm_close(struct rt_comm *comm)
{
	(void)comm;
}

static int shm_group_open(struct rt_comm *comm, struct rt_comm_group *group)
{
	(void)comm;
	group->state = NULL;
	return 0;
}

static int say_missing(const struct rt_comm *comm, const struct rt_comm_group *group,
		       double seconds)
{
	struct shm_group shm = shm_group_of(comm, group);
	uint64_t mine = atomic_load(&shm.members[comm->rank].arrivals);
	for (int i = 0; i < group->size; i++)
		if (atomic_load(&shm.members[group->ranks[i]].arrivals) < mine)
			return rt_fail("group `%s`: rank %d did not answer within %.0f s",
				       group->name, group->ranks[i], seconds);
	return rt_fail("group `%s`: no end within %.0f s", group->name, seconds);
}

static int compare_calls(const struct rt_comm *comm, const struct rt_comm_group *group, int slot)
{
	struct shm_group shm = shm_group_of(comm, group);
	const struct rt_comm_call *mine = &group->call;
	for (int i = 0; i < group->size; i++) {
		const struct rt_comm_call *other = &shm.members[group->ranks[i]].calls[slot];
		if (mine->name == other->name && mine->count == other->count &&
		    mine->unit == other->unit && mine->sequence == other->sequence)
			continue;
		return rt_fail("group `%s`: call %llu is %s of %lld (%lld) here, "
			       "call %llu is %s of %lld (%lld) on rank %d",
			       group->name, (unsigned long long)mine->sequence, mine->name,
			       (long long)mine->count, (long long)mine->unit,
			       (unsigned long long)other->sequence, other->name,
			       (long long)other->count, (long long)other->unit, group->ranks[i]);
	}
	return 0;
}

static int shm_barrier(struct rt_comm *comm, struct rt_comm_group *group, double seconds)
{
	struct shm_group shm = shm_group_of(comm, group);
	struct member *me = &shm.members[comm->rank];
	int slot = (int)(atomic_load(&me->arrivals) & 1);
	me->calls[slot] = group->call;
	atomic_fetch_add(&me->arrivals, 1);
	int end = barrier_central(&shm.members[group->ranks[0]].barrier, group->size, seconds);
	if (end == WAIT_TIMEOUT)
		return say_missing(comm, group, seconds);
	if (end != WAIT_CHANGED)
		return -1;
	return compare_calls(comm, group, slot);
}

/* ---- direct algorithms -------------------------------------------------------------------- */

struct call {
	struct rt_comm *comm;
	struct rt_comm_group *group;
};

static int call_barrier(void *state)
{
	struct call *call = state;
	return shm_barrier(call->comm, call->group, 0);
}

static struct coll_direct direct_of(struct call *call, const void *buffer)
{
	const struct rt_comm *comm = call->comm;
	struct coll_direct direct = {.me = call->group->me,
				     .size = call->group->size,
				     .barrier = call_barrier,
				     .state = call};
	ptrdiff_t offset = (const unsigned char *)buffer - comm->arena[comm->rank];
	for (int i = 0; i < direct.size; i++)
		direct.at[i] = comm->arena[call->group->ranks[i]] + offset;
	return direct;
}

static int shm_all_reduce(struct rt_comm *comm, struct rt_comm_group *group, void *buffer,
			  int64_t count, enum rt_type type, enum coll_op op)
{
	struct call call = {comm, group};
	struct coll_direct direct = direct_of(&call, buffer);
	return all_reduce_direct(&direct, count, type, op);
}

static int shm_reduce_scatter(struct rt_comm *comm, struct rt_comm_group *group, const void *from,
			      void *to, int64_t count, enum rt_type type)
{
	struct call call = {comm, group};
	struct coll_direct direct = direct_of(&call, from);
	return reduce_scatter_direct(&direct, to, count, type);
}

/* In place the blocks of the members lie side by side, not at one offset. */
static int shm_all_gather(struct rt_comm *comm, struct rt_comm_group *group, const void *from,
			  void *to, int64_t outer, int64_t bytes)
{
	struct call call = {comm, group};
	bool in_place = from == (unsigned char *)to + group->me * bytes;
	struct coll_direct direct = direct_of(&call, in_place ? to : from);
	for (int i = 0; in_place && i < direct.size; i++)
		direct.at[i] += i * bytes;
	return all_gather_direct(&direct, to, outer, bytes);
}

static int shm_broadcast(struct rt_comm *comm, struct rt_comm_group *group, void *buffer,
			 int64_t bytes, int root)
{
	struct call call = {comm, group};
	struct coll_direct direct = direct_of(&call, buffer);
	return broadcast_direct(&direct, bytes, root);
}

/* ---- messages ----------------------------------------------------------------------------- */

enum progress { WAITING, POSTED, DONE };

struct transfer {
	enum progress progress;
	uint32_t ticket;
};

enum { MAX_MESSAGES = 256 };

/* An earlier message of the list between the same two, in the same direction, goes first. */
static bool held(const struct rt_message *list, const struct transfer *transfers, int i)
{
	for (int j = 0; j < i; j++)
		if (list[j].peer == list[i].peer && list[j].receive == list[i].receive &&
		    transfers[j].progress != DONE)
			return true;
	return false;
}

static bool send_on(struct rt_comm *comm, const struct rt_message *message, struct mailbox *box,
		    struct member *peer, struct transfer *transfer)
{
	if (transfer->progress == WAITING) {
		box->offset = (unsigned char *)message->buffer - comm->arena[comm->rank];
		box->bytes = message->bytes;
		transfer->ticket = atomic_load(&box->posted) + 1;
		atomic_store(&box->posted, transfer->ticket);
		transfer->progress = POSTED;
		wait_signal(&peer->bell);
		return true;
	}
	if (atomic_load(&box->taken) != transfer->ticket)
		return false;
	transfer->progress = DONE;
	return true;
}

/* 1: it moved, 0: nothing there yet, -1: the ends disagree. */
static int receive_on(struct rt_comm *comm, struct rt_comm_group *group,
		      const struct rt_message *message, struct mailbox *box, struct member *peer,
		      struct transfer *transfer)
{
	if (atomic_load(&box->posted) == atomic_load(&box->taken))
		return 0;
	int from = group->ranks[message->peer];
	if (box->bytes != message->bytes)
		return rt_fail("group `%s`: rank %d sends %lld bytes, %lld are awaited",
			       group->name, from, (long long)box->bytes, (long long)message->bytes);
	memcpy(message->buffer, comm->arena[from] + box->offset, (size_t)message->bytes);
	atomic_fetch_add(&box->taken, 1);
	transfer->progress = DONE;
	wait_signal(&peer->bell);
	return 1;
}

static int advance(struct rt_comm *comm, struct rt_comm_group *group, const struct rt_message *list,
		   struct transfer *transfers, int i)
{
	struct shm_group shm = shm_group_of(comm, group);
	int peer = group->ranks[list[i].peer];
	if (transfers[i].progress == DONE || held(list, transfers, i))
		return 0;
	if (list[i].receive)
		return receive_on(comm, group, &list[i], &shm.mail[peer * comm->ranks + comm->rank],
				  &shm.members[peer], &transfers[i]);
	return send_on(comm, &list[i], &shm.mail[comm->rank * comm->ranks + peer],
		       &shm.members[peer], &transfers[i]);
}

static int shm_exchange(struct rt_comm *comm, struct rt_comm_group *group,
			const struct rt_message *list, int count)
{
	struct transfer transfers[MAX_MESSAGES] = {0};
	if (count > MAX_MESSAGES)
		return rt_fail("an exchange of %d messages, at most %d", count, MAX_MESSAGES);
	_Atomic uint32_t *bell = &shm_group_of(comm, group).members[comm->rank].bell;
	int done = 0;
	while (done < count) {
		uint32_t rung = atomic_load(bell);
		bool moved = false;
		done = 0;
		for (int i = 0; i < count; i++) {
			int went = advance(comm, group, list, transfers, i);
			if (went < 0)
				return -1;
			moved |= went > 0;
			done += transfers[i].progress == DONE;
		}
		if (!moved && done < count && wait_change(bell, rung, 0) != WAIT_CHANGED)
			return -1;
	}
	return 0;
}

const struct rt_comm_ops shm_comm_ops = {
	.name = "shm",
	.open = shm_open,
	.close = shm_close,
	.group = shm_group_open,
	.exchange = shm_exchange,
	.barrier = shm_barrier,
	.all_reduce = shm_all_reduce,
	.reduce_scatter = shm_reduce_scatter,
	.all_gather = shm_all_gather,
	.broadcast = shm_broadcast,
	.all_to_all = NULL,
};
