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

/* Whether two ranks hold the same layers of a parameter, and any. */
static bool same_layers(const struct rt *rt, const struct rt_param *param, int rank)
{
	const struct rt_role *mine = rt->role, *other = rt_role_of(rt->plan, rank);
	if (rt_param_home(rt->plan, mine, param).weight == NULL ||
	    rt_param_home(rt->plan, other, param).weight == NULL)
		return false;
	return mine == other || param->layers == 1;
}

static bool same_block(const struct rt_block *a, const struct rt_block *b)
{
	return a->first_row == b->first_row && a->first_column == b->first_column;
}

/* Between this rank and all that hold the same part of a parameter. */
static int compare(struct rt *rt, const struct rt_param *param, uint64_t hash, uint64_t round)
{
	struct rt_block mine = rt_param_block(rt->plan, param, rt->rank);
	int64_t member = rt_weight_member(rt->plan, param, rt->rank);
	for (int rank = 0; rank < rt->world->ranks; rank++) {
		struct rt_block other = rt_param_block(rt->plan, param, rank);
		if (same_layers(rt, param, rank) && same_block(&mine, &other) &&
		    rt_weight_member(rt->plan, param, rank) == member &&
		    world_read(rt->world, round, rank) != hash)
			return rt_fail("replicas differ: tensor `%s` of rank %d and of rank %d",
				       param->path, rt->rank, rank);
	}
	return 0;
}

int replicas_check(struct loop *loop)
{
	struct rt *rt = loop->rt;
	if (rt->world->ranks == 1)
		return 0;
	for (uint32_t p = 0; p < rt->plan->nparam; p++) {
		const struct rt_param *param = &rt->plan->param[p];
		uint64_t hash = weights_hash_here(rt, param), round;
		RT_TRY(loop_gather(loop, hash, &round));
		RT_TRY(compare(rt, param, hash, round));
	}
	return 0;
}
