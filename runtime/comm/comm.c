/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, testing and closing a communicator. Groups are made in the plan's order on every rank,
 * so they cannot cross-talk. */
#include "comm/comm.h"

#include <stdlib.h>
#include <string.h>

#include "base/rt_status.h"

static int group_fill(struct rt_comm *comm, struct rt_comm_group *group, const char *name)
{
	group->name = name;
	group->call.name = "open";
	group->me = -1;
	for (int i = 0; i < group->size; i++)
		if (group->ranks[i] == comm->rank)
			group->me = i;
	return comm->ops->group(comm, group);
}

static int open_groups(struct rt_comm *comm, const struct rt_axis *axes, uint32_t naxes,
		       const struct rt_group *groups, uint32_t ngroups)
{
	for (uint32_t i = 0; i <= ngroups; i++) {
		struct rt_comm_group *group = &comm->groups[i];
		bool all = i == ngroups;
		group->ranks = calloc((size_t)comm->ranks, sizeof *group->ranks);
		if (group->ranks == NULL)
			return rt_fail("out of memory for %d groups", comm->ngroups);
		if (all) {
			group->size = comm->ranks;
			for (int rank = 0; rank < comm->ranks; rank++)
				group->ranks[rank] = rank;
		} else {
			group->size = group_members(axes, naxes, groups[i].axes, comm->rank,
						    group->ranks);
		}
		if (group_fill(comm, group, all ? "all ranks" : groups[i].name) != 0)
			return -1;
	}
	return 0;
}

int comm_open(struct rt_comm *comm, const struct rt_axis *axes, uint32_t naxes,
	      const struct rt_group *groups, uint32_t ngroups)
{
	comm->ngroups = (int)ngroups + 1;
	comm->groups = calloc(ngroups + 1, sizeof *comm->groups);
	if (comm->groups == NULL)
		return rt_fail("out of memory for %d groups", comm->ngroups);
	if (comm->ops->open(comm) != 0)
		return -1;
	return open_groups(comm, axes, naxes, groups, ngroups);
}

void comm_close(struct rt_comm *comm)
{
	if (comm->groups == NULL)
		return;
	comm->ops->close(comm);
	for (int i = 0; i < comm->ngroups; i++)
		free(comm->groups[i].ranks);
	free(comm->groups);
	comm->groups = NULL;
}

static int test_group(struct rt_comm *comm, int index, double seconds)
{
	struct rt_comm_group *group = &comm->groups[index];
	if (group->size == 1)
		return 0;
	int64_t *word = (int64_t *)(void *)comm->arena[comm->rank];
	int64_t awaited = 0;
	for (int i = 0; i < group->size; i++)
		awaited += 1 + group->ranks[i];
	if (comm->ops->barrier(comm, group, seconds) != 0)
		return -1;
	*word = 1 + comm->rank;
	if (comm_all_reduce(comm, index, word, 1, RT_I64) != 0)
		return -1;
	if (*word != awaited)
		return rt_fail("group `%s`: the sum of its test is %lld, not %lld", group->name,
			       (long long)*word, (long long)awaited);
	*word = 0;
	return 0;
}

int comm_test(struct rt_comm *comm, double seconds)
{
	if (comm->arena_bytes[comm->rank] < (int64_t)sizeof(int64_t))
		return 0;
	for (int i = comm->ngroups; i-- > 0;)
		if (test_group(comm, i, seconds) != 0)
			return -1;
	return 0;
}
