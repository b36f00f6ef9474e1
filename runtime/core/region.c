/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of a rank: where things are, and what opens around it. */
#include <string.h>

#include "base/rt_status.h"
#include "core/rt_core.h"

static int64_t copy_of(int64_t index, int64_t copies, int64_t stride)
{
	return copies > 1 ? index % copies * stride : 0;
}

void *rt_buffer(struct rt *rt, const struct rt_place *place, const struct rt_at *at, int plus)
{
	int64_t layer = at->layer + plus;
	if (layer < 0)
		layer += place->layers;
	return rt->arena + place->offset + copy_of(layer, place->layers, place->layer_stride) +
	       copy_of(at->slot, place->slots, place->slot_stride) +
	       copy_of(at->level, place->levels, place->level_stride);
}

void *rt_layer(struct rt *rt, const struct rt_place *place, int64_t layer)
{
	struct rt_at at = {.layer = layer};
	return rt_buffer(rt, place, &at, 0);
}

void *rt_layer_of(struct rt *rt, int rank, const struct rt_place *place, int64_t layer)
{
	ptrdiff_t offset = (unsigned char *)rt_layer(rt, place, layer) - rt->arena;
	return rt->world->arena[rank] + offset;
}

const struct rt_place *rt_place(struct rt *rt, uint32_t buffer)
{
	return &rt->role->places[buffer];
}

int64_t rt_layers(struct rt *rt)
{
	return rt->role->layers;
}

int64_t rt_model_layer(struct rt *rt, int64_t layer)
{
	const struct rt_role *role = rt->role;
	int64_t first = 0;
	for (uint32_t c = 0; role->chunks != NULL && c < role->schedule.chunks; c++) {
		if (layer < first + role->chunks[c].count)
			return role->chunks[c].first + layer - first;
		first += role->chunks[c].count;
	}
	return layer;
}

const struct rt_role *rt_role_of(const struct rt_plan *plan, int rank)
{
	if (plan->stages <= 1)
		return &plan->roles[0];
	return &plan->roles[group_index(plan->axes, plan->naxes,
					plan->groups[plan->pipeline_group].axes, rank)];
}

double *rt_control_block(struct rt *rt)
{
	return rt_layer(rt, rt->role->control, 0);
}

double *rt_sums(struct rt *rt)
{
	return rt_layer(rt, rt->role->sums, 0);
}

struct rt_device *rt_device_of(struct rt *rt)
{
	return rt->device;
}

struct rt_comm *rt_comm_of(struct rt *rt)
{
	return &rt->comm;
}

void rt_device_failed(struct rt *rt, const char *fault)
{
	(void)rt;
	rt_fail("%s", fault);
}

static float float_of_bits(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static uint16_t bf16_of(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double rt_value(const void *at, enum rt_type type, int64_t index)
{
	if (type == RT_F64)
		return ((const double *)at)[index];
	if (type == RT_BF16)
		return float_of_bits((uint32_t)((const uint16_t *)at)[index] << 16);
	return ((const float *)at)[index];
}

void rt_value_set(void *at, enum rt_type type, int64_t index, double value)
{
	if (type == RT_F64)
		((double *)at)[index] = value;
	else if (type == RT_BF16)
		((uint16_t *)at)[index] = bf16_of((float)value);
	else
		((float *)at)[index] = (float)value;
}

static int open_comm(struct rt *rt)
{
	const struct rt_plan *plan = rt->plan;
	rt->comm.ops = &shm_comm_ops;
	rt->comm.rank = rt->rank;
	rt->comm.ranks = rt->world->ranks;
	rt->comm.arena = rt->world->arena;
	rt->comm.arena_bytes = rt->world->arena_bytes;
	rt->comm.shared = rt->world->comm;
	if (comm_open(&rt->comm, plan->axes, plan->naxes, plan->groups, plan->ngroups) != 0)
		return -1;
	rt->data_size = 1;
	if (plan->data_group < plan->ngroups) {
		rt->data_index = rt->comm.groups[plan->data_group].me;
		rt->data_size = rt->comm.groups[plan->data_group].size;
	}
	return 0;
}

static int open_device(struct rt *rt)
{
	char fault[RT_DEVICE_FAULT] = "";
	struct rt_device_options options = {.threads = rt->options->threads,
					    .rank = rt->rank,
					    .ranks = rt->world->ranks,
					    .pin = true};
	rt->device = cpu_device_open(&options, fault);
	return rt->device != NULL ? 0 : rt_fail("the device does not open: %s", fault);
}

int rt_open(struct rt *rt)
{
	rt->rank = rt->world->rank;
	rt->role = rt_role_of(rt->plan, rt->rank);
	rt->arena = rt->world->arena[rt->rank];
	rt->arena_bytes = rt->world->arena_bytes[rt->rank];
	if (open_device(rt) != 0)
		return -1;
	memset(rt->arena, 0, (size_t)rt->arena_bytes);
	return open_comm(rt) != 0 ? -1 : pipeline_open(rt);
}

void rt_close(struct rt *rt)
{
	pipeline_close(rt);
	comm_close(&rt->comm);
	if (rt->device != NULL)
		rt->device->ops->close(rt->device);
	rt->device = NULL;
}
