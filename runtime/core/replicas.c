/* SPDX-License-Identifier: Apache-2.0 */
/* Replicated weights must have equal bits: a difference is a fault of the runtime, and silent. */
#include "base/rt_status.h"
#include "core/loop.h"

int loop_gather(struct loop *loop, uint64_t word, uint64_t *round)
{
	struct rt *rt = loop->rt;
	*round = loop->rounds++;
	world_post(rt->world, *round, word);
	return comm_barrier(&rt->comm, rt->comm.ngroups - 1);
}

int replicas_check(struct loop *loop)
{
	struct rt *rt = loop->rt;
	const struct rt_plan *plan = rt->plan;
	if (rt->data_size == 1)
		return 0;
	const struct rt_comm_group *group = &rt->comm.groups[plan->data_group];
	for (uint32_t p = 0; p < plan->nparam; p++) {
		uint64_t hash = weights_hash(rt, &plan->param[p]), round;
		RT_TRY(loop_gather(loop, hash, &round));
		for (int i = 0; i < group->size; i++)
			if (world_read(rt->world, round, group->ranks[i]) != hash)
				return rt_fail(
					"replicas differ: tensor `%s` of rank %d and of rank %d",
					plan->param[p].path, rt->rank, group->ranks[i]);
	}
	return 0;
}
