/* SPDX-License-Identifier: Apache-2.0 */
/* The door to every collective: checks the call, compares it with the peers' calls, then takes the
 * backend's slot or the default algorithm. A group of one returns at once. */
#include "comm/comm.h"

#include <string.h>

#include "base/rt_status.h"
#include "comm/coll/coll.h"

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

int comm_all_reduce(struct rt_comm *comm, int group, void *buffer, int64_t count, enum rt_type type)
{
	struct rt_comm_group *g = group_of(comm, group, "all_reduce");
	if (g == NULL || check(comm, g, "all_reduce", buffer, count, rt_type_bytes(type)) != 0)
		return -1;
	begin(g, "all_reduce", count, (int64_t)type);
	if (g->size == 1 || count == 0)
		return 0;
	if (comm->ops->all_reduce == NULL)
		return rt_fail("communicator `%s` has no all_reduce", comm->ops->name);
	return comm->ops->all_reduce(comm, g, buffer, count, type);
}

int comm_reduce_scatter(struct rt_comm *comm, int group, void *buffer, int64_t count,
			enum rt_type type)
{
	struct rt_comm_group *g = group_of(comm, group, "reduce_scatter");
	if (g == NULL ||
	    check(comm, g, "reduce_scatter", buffer, count, rt_type_bytes(type) * g->size) != 0)
		return -1;
	begin(g, "reduce_scatter", count, (int64_t)type);
	if (g->size == 1 || count == 0)
		return 0;
	if (comm->ops->reduce_scatter == NULL)
		return rt_fail("communicator `%s` has no reduce_scatter", comm->ops->name);
	return comm->ops->reduce_scatter(comm, g, buffer, count, type);
}

int comm_all_gather(struct rt_comm *comm, int group, void *buffer, int64_t bytes)
{
	struct rt_comm_group *g = group_of(comm, group, "all_gather");
	if (g == NULL || check(comm, g, "all_gather", buffer, bytes, g->size) != 0)
		return -1;
	begin(g, "all_gather", bytes, 1);
	if (g->size == 1 || bytes == 0)
		return 0;
	if (comm->ops->all_gather == NULL)
		return all_gather_pairs(comm, g, buffer, bytes);
	return comm->ops->all_gather(comm, g, buffer, bytes);
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
