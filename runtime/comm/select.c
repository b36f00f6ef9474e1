/* SPDX-License-Identifier: Apache-2.0 */
/* The door to every collective: checks the call, compares it with the peers' calls, then takes the
 * backend's slot or the default algorithm. A group of one returns at once. */
#include "comm/comm.h"

#include <string.h>

#include "base/rt_status.h"
#include "comm/coll/coll.h"

enum { PARALLEL_FROM = 1 << 18 };

int64_t rt_type_bytes(enum rt_type type)
{
	static const int64_t bytes[] = {
#define RT_TYPE(name, size, text) [RT_##name] = size,
#include "rt/types.def"
#undef RT_TYPE
	};
	return type < RT_TYPES ? bytes[type] : 0;
}

static struct rt_comm_group *group_of(struct rt_comm *comm, int group, const char *what)
{
	if (group >= 0 && group < comm->ngroups)
		return &comm->groups[group];
	rt_fail("%s: group %d, there are %d", what, group, comm->ngroups);
	return NULL;
}

/* Inside the arena of this rank, and no overflow. */
static int check(const struct rt_comm *comm, const struct rt_comm_group *group, const char *what,
		 const void *buffer, int64_t count, int64_t size)
{
	const unsigned char *base = comm->arena[comm->rank];
	int64_t arena = comm->arena_bytes[comm->rank], bytes;
	if (count < 0 || size <= 0 || __builtin_mul_overflow(count, size, &bytes))
		return rt_fail("%s over `%s`: a count of %lld", what, group->name,
			       (long long)count);
	uintptr_t at = (uintptr_t)buffer, first = (uintptr_t)base;
	if (at < first || at - first > (uintptr_t)arena || bytes > arena - (int64_t)(at - first))
		return rt_fail("%s over `%s`: a buffer of %lld bytes outside the arena of %lld",
			       what, group->name, (long long)bytes, (long long)arena);
	return 0;
}

static void begin(struct rt_comm_group *group, const char *what, int64_t count, int64_t unit)
{
	group->call.name = what;
	group->call.count = count;
	group->call.unit = unit;
	group->call.sequence++;
}

static int reduce(struct rt_comm *comm, int group, const char *what, void *buffer, int64_t count,
		  enum rt_type type, enum coll_op op)
{
	struct rt_comm_group *g = group_of(comm, group, what);
	if (g == NULL || check(comm, g, what, buffer, count, rt_type_bytes(type)) != 0)
		return -1;
	begin(g, what, count, (int64_t)type);
	if (g->size == 1 || count == 0)
		return 0;
	if (comm->ops->all_reduce == NULL)
		return rt_fail("communicator `%s` has no all_reduce", comm->ops->name);
	return comm->ops->all_reduce(comm, g, buffer, count, type, op);
}

int comm_all_reduce(struct rt_comm *comm, int group, void *buffer, int64_t count, enum rt_type type)
{
	return reduce(comm, group, "all_reduce", buffer, count, type, COLL_SUM);
}

int comm_all_reduce_max(struct rt_comm *comm, int group, void *buffer, int64_t count,
			enum rt_type type)
{
	return reduce(comm, group, "all_reduce_max", buffer, count, type, COLL_MAX);
}

/* `block` bytes at `part` and at the blocks of all members at `whole`; they do not overlap, or
 * `part` is the block `own` bytes into `whole`. */
static int check_pair(const struct rt_comm *comm, const struct rt_comm_group *group,
		      const char *what, const void *part, const void *whole, int64_t block,
		      int64_t own)
{
	if (check(comm, group, what, part, block, 1) != 0 ||
	    check(comm, group, what, whole, block, group->size) != 0)
		return -1;
	uintptr_t small = (uintptr_t)part, large = (uintptr_t)whole, bytes = (uintptr_t)block;
	bool apart = small + bytes <= large || large + bytes * (uintptr_t)group->size <= small;
	if (apart || block == 0 || (own >= 0 && small == large + (uintptr_t)own))
		return 0;
	return rt_fail("%s over `%s`: buffers that overlap", what, group->name);
}

static int size_of(const struct rt_comm_group *group, const char *what, int64_t outer,
		   int64_t inner, int64_t *out)
{
	if (outer < 0 || inner < 0 || __builtin_mul_overflow(outer, inner, out))
		return rt_fail("%s over `%s`: a count of %lld x %lld", what, group->name,
			       (long long)outer, (long long)inner);
	return 0;
}

int comm_reduce_scatter(struct rt_comm *comm, int group, const void *from, void *to, int64_t count,
			enum rt_type type)
{
	static const char what[] = "reduce_scatter";
	struct rt_comm_group *g = group_of(comm, group, what);
	int64_t bytes = 0;
	if (g == NULL || size_of(g, what, count, rt_type_bytes(type), &bytes) != 0 ||
	    check_pair(comm, g, what, to, from, bytes, g->me * bytes) != 0)
		return -1;
	begin(g, what, count, (int64_t)type);
	if (g->size == 1 && from != to)
		memcpy(to, from, (size_t)bytes);
	if (g->size == 1 || count == 0)
		return 0;
	if (comm->ops->reduce_scatter == NULL)
		return rt_fail("communicator `%s` has no reduce_scatter", comm->ops->name);
	return comm->ops->reduce_scatter(comm, g, from, to, count, type);
}

int comm_all_gather(struct rt_comm *comm, int group, const void *from, void *to, int64_t outer,
		    int64_t bytes)
{
	static const char what[] = "all_gather";
	struct rt_comm_group *g = group_of(comm, group, what);
	int64_t block = 0;
	if (g == NULL || size_of(g, what, outer, bytes, &block) != 0 ||
	    check_pair(comm, g, what, from, to, block, outer == 1 ? g->me * bytes : -1) != 0)
		return -1;
	begin(g, what, outer, bytes);
	if (g->size == 1 && from != to)
		memcpy(to, from, (size_t)block);
	if (g->size == 1 || block == 0)
		return 0;
	if (comm->ops->all_gather == NULL)
		return all_gather_pairs(comm, g, from, to, outer, bytes);
	return comm->ops->all_gather(comm, g, from, to, outer, bytes);
}

int comm_slice(struct rt_comm *comm, int group, const void *from, void *to, int64_t outer,
	       int64_t bytes)
{
	static const char what[] = "slice";
	struct rt_comm_group *g = group_of(comm, group, what);
	int64_t block = 0;
	if (g == NULL || size_of(g, what, outer, bytes, &block) != 0 ||
	    check_pair(comm, g, what, to, from, block, -1) != 0)
		return -1;
	const unsigned char *in = (const unsigned char *)from + g->me * bytes;
#pragma omp parallel for schedule(static) if (block >= PARALLEL_FROM)
	for (int64_t row = 0; row < outer; row++)
		memcpy((unsigned char *)to + row * bytes, in + row * g->size * bytes,
		       (size_t)bytes);
	return 0;
}

int comm_broadcast(struct rt_comm *comm, int group, void *buffer, int64_t bytes, int root)
{
	struct rt_comm_group *g = group_of(comm, group, "broadcast");
	if (g == NULL || check(comm, g, "broadcast", buffer, bytes, 1) != 0)
		return -1;
	if (root < 0 || root >= g->size)
		return rt_fail("broadcast over `%s`: root %d of %d", g->name, root, g->size);
	begin(g, "broadcast", bytes, root);
	if (g->size == 1 || bytes == 0)
		return 0;
	if (comm->ops->broadcast == NULL)
		return broadcast_pairs(comm, g, buffer, bytes, root);
	return comm->ops->broadcast(comm, g, buffer, bytes, root);
}

int comm_all_to_all(struct rt_comm *comm, int group, const void *from, void *to, int64_t bytes)
{
	struct rt_comm_group *g = group_of(comm, group, "all_to_all");
	if (g == NULL || check(comm, g, "all_to_all", from, bytes, g->size) != 0 ||
	    check(comm, g, "all_to_all", to, bytes, g->size) != 0)
		return -1;
	begin(g, "all_to_all", bytes, 1);
	if (comm->ops->all_to_all == NULL)
		return all_to_all_pairs(comm, g, from, to, bytes);
	return comm->ops->all_to_all(comm, g, from, to, bytes);
}

int comm_exchange(struct rt_comm *comm, int group, const struct rt_message *messages, int count)
{
	struct rt_comm_group *g = group_of(comm, group, "exchange");
	if (g == NULL)
		return -1;
	for (int i = 0; i < count; i++) {
		if (check(comm, g, "exchange", messages[i].buffer, messages[i].bytes, 1) != 0)
			return -1;
		if (messages[i].peer < 0 || messages[i].peer >= g->size ||
		    messages[i].peer == g->me)
			return rt_fail("exchange over `%s`: peer %d of %d", g->name,
				       messages[i].peer, g->size);
	}
	return comm->ops->exchange(comm, g, messages, count);
}

int comm_barrier(struct rt_comm *comm, int group)
{
	struct rt_comm_group *g = group_of(comm, group, "barrier");
	if (g == NULL)
		return -1;
	if (g->size == 1)
		return 0;
	begin(g, "barrier", 0, 0);
	return comm->ops->barrier(comm, g, 0);
}

int rt_all_reduce(struct rt *rt, int stream, int group, void *buffer, int64_t count,
		  enum rt_type type, enum rt_order order)
{
	(void)stream;
	(void)order;
	return comm_all_reduce(rt_comm_of(rt), group, buffer, count, type);
}

int rt_all_reduce_max(struct rt *rt, int stream, int group, void *buffer, int64_t count,
		      enum rt_type type)
{
	(void)stream;
	return comm_all_reduce_max(rt_comm_of(rt), group, buffer, count, type);
}

int rt_reduce_scatter(struct rt *rt, int stream, int group, const void *from, void *to,
		      int64_t count, enum rt_type type, enum rt_order order)
{
	(void)stream;
	(void)order;
	return comm_reduce_scatter(rt_comm_of(rt), group, from, to, count, type);
}

static int row_bytes(int64_t inner, enum rt_type type, int64_t *out)
{
	if (inner < 0 || __builtin_mul_overflow(inner, rt_type_bytes(type), out))
		return rt_fail("a row of %lld elements", (long long)inner);
	return 0;
}

int rt_all_gather(struct rt *rt, int stream, int group, const void *from, void *to, int64_t outer,
		  int64_t inner, enum rt_type type)
{
	int64_t bytes = 0;
	(void)stream;
	RT_TRY(row_bytes(inner, type, &bytes));
	return comm_all_gather(rt_comm_of(rt), group, from, to, outer, bytes);
}

int rt_slice(struct rt *rt, int stream, int group, const void *from, void *to, int64_t outer,
	     int64_t inner, enum rt_type type)
{
	int64_t bytes = 0;
	(void)stream;
	RT_TRY(row_bytes(inner, type, &bytes));
	return comm_slice(rt_comm_of(rt), group, from, to, outer, bytes);
}

int rt_hand(struct rt *rt, int stream, int group, int from, int to, void *buffer, int64_t count,
	    enum rt_type type)
{
	struct rt_comm *comm = rt_comm_of(rt);
	const struct rt_comm_group *g = group_of(comm, group, "hand");
	struct rt_message message = {.buffer = buffer};
	(void)stream;
	if (g == NULL || row_bytes(count, type, &message.bytes) != 0)
		return -1;
	if (from == to || (g->me != from && g->me != to))
		return 0;
	message.receive = g->me == to;
	message.peer = message.receive ? from : to;
	return comm_exchange(comm, group, &message, 1);
}

int64_t rt_index(struct rt *rt, int group)
{
	const struct rt_comm_group *g = group_of(rt_comm_of(rt), group, "index");
	return g != NULL ? g->me : -1;
}
