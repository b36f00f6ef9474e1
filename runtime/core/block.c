/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters cut over ranks: who holds what. */
#include "base/rt_status.h"
#include "core/rt_core.h"

static int64_t columns_of(const struct rt_param *param)
{
	return param->columns > 0 ? param->columns : 1;
}

/* Axes of the group that cuts; 0: not cut that way. */
static uint32_t row_axes(const struct rt_plan *plan, const struct rt_param *param)
{
	bool cut = param->local_rows > 0 && param->row_group >= 0;
	return cut ? plan->groups[param->row_group].axes : 0;
}

static uint32_t column_axes(const struct rt_plan *plan, const struct rt_param *param)
{
	bool cut = param->local_rows > 0 && param->local_columns > 0 && param->column_group >= 0;
	return cut ? plan->groups[param->column_group].axes : 0;
}

static int64_t parts(const struct rt_plan *plan, uint32_t axes)
{
	int64_t count = 1;
	for (uint32_t i = 0; i < plan->naxes; i++)
		if (axes >> i & 1)
			count *= plan->axes[i].size;
	return count;
}

struct rt_block rt_param_block(const struct rt_plan *plan, const struct rt_param *param, int rank)
{
	struct rt_block block = {.rows = param->padded_rows, .columns = columns_of(param)};
	if (param->local_rows == 0)
		return block;
	block.rows = param->local_rows;
	if (param->local_columns > 0)
		block.columns = param->local_columns;
	uint32_t rows = row_axes(plan, param), columns = column_axes(plan, param);
	block.first_row = block.rows * group_index(plan->axes, plan->naxes, rows, rank);
	block.first_column = block.columns * group_index(plan->axes, plan->naxes, columns, rank);
	return block;
}

struct rt_param_home rt_param_home(const struct rt_plan *plan, const struct rt_role *role,
				   const struct rt_param *param)
{
	if (role->homes != NULL)
		return role->homes[param - plan->param];
	return (struct rt_param_home){param->weight, param->gradient, param->moment1,
				      param->moment2, param->master};
}

int64_t rt_param_layer(const struct rt_plan *plan, const struct rt_role *role,
		       const struct rt_param *param, int64_t layer)
{
	int64_t first = 0;
	if (rt_param_home(plan, role, param).weight == NULL)
		return -1;
	if (role->chunks == NULL || param->layers == 1)
		return layer;
	for (uint32_t c = 0; c < role->schedule.chunks; c++) {
		const struct rt_chunk *chunk = &role->chunks[c];
		if (layer >= chunk->first && layer < chunk->first + chunk->count)
			return first + layer - chunk->first;
		first += chunk->count;
	}
	return -1;
}

/* The first stage that holds a layer, as a rank: its other coordinates are 0. */
static int stage_rank(const struct rt_plan *plan, const struct rt_param *param, int64_t layer)
{
	uint32_t stage = 0;
	if (plan->stages <= 1)
		return 0;
	while (stage + 1 < plan->stages &&
	       rt_param_layer(plan, &plan->roles[stage], param, layer) < 0)
		stage++;
	return group_rank(plan->axes, plan->naxes, plan->groups[plan->pipeline_group].axes,
			  (int)stage);
}

/* Where a role has a part of a parameter. */
static const struct rt_place *place_of(const struct rt_plan *plan, const struct rt_role *role,
				       const struct rt_param *param, enum rt_part part)
{
	struct rt_param_home home = rt_param_home(plan, role, param);
	return part == RT_WEIGHT ? home.weight : part == RT_GRADIENT ? home.gradient : home.moment1;
}

void *rt_param_at(struct rt *rt, int rank, const struct rt_param *param, enum rt_part part,
		  int64_t layer)
{
	const struct rt_role *role = rt_role_of(rt->plan, rank);
	const struct rt_place *place = place_of(rt->plan, role, param, part);
	int64_t local = rt_param_layer(rt->plan, role, param, layer);
	if (local < 0 || place == NULL)
		return NULL;
	return rt_layer_of(rt, rank, place, local);
}

int rt_param_owner(const struct rt_plan *plan, const struct rt_param *param, int64_t layer,
		   int64_t row, int64_t column)
{
	uint32_t rows = row_axes(plan, param), columns = column_axes(plan, param);
	int rank = stage_rank(plan, param, layer);
	if (rows != 0)
		rank += group_rank(plan->axes, plan->naxes, rows, (int)(row / param->local_rows));
	if (columns != 0)
		rank += group_rank(plan->axes, plan->naxes, columns,
				   (int)(column / param->local_columns));
	return rank;
}

int64_t rt_param_elements(const struct rt_param *param)
{
	if (param->local_rows == 0)
		return param->padded_rows * columns_of(param);
	return param->local_rows *
	       (param->local_columns > 0 ? param->local_columns : columns_of(param));
}

static uint32_t flat_axes(const struct rt_plan *plan, const struct rt_param *param)
{
	bool cut = param->weight_slice > 0 || param->gradient_slice > 0 || param->moment_slice > 0;
	return cut ? plan->groups[param->flat_group].axes : 0;
}

static enum rt_type type_of(const struct rt_param *param, enum rt_part part)
{
	if (part == RT_WEIGHT)
		return param->type;
	return part == RT_GRADIENT ? param->gradient_type : param->state_type;
}

static bool in_place(const struct rt_param *param, enum rt_part part)
{
	return part == RT_GRADIENT && param->gradient_in_place;
}

/* Elements of a slice; of one tensor of all layers they follow from the layers of the stage. */
static int64_t slice_of(const struct rt_plan *plan, const struct rt_role *role,
			const struct rt_param *param, enum rt_part part)
{
	bool joined = param->layers_joined;
	int64_t stride = (rt_param_elements(param) + 63) / 64 * 64;
	int64_t slice = part == RT_WEIGHT     ? param->weight_slice
			: part == RT_GRADIENT ? param->gradient_slice
					      : param->moment_slice;
	if (slice == 0 || !joined || role->chunks == NULL || param->layers == 1)
		return slice;
	return RT_SLICE(role->layers * stride, parts(plan, flat_axes(plan, param)));
}

int64_t rt_param_held(const struct rt_plan *plan, const struct rt_role *role,
		      const struct rt_param *param, enum rt_part part)
{
	int64_t slice = slice_of(plan, role, param, part);
	return slice > 0 && !in_place(param, part) ? slice : rt_param_elements(param);
}

int64_t rt_weight_member(const struct rt_plan *plan, const struct rt_param *param, int rank)
{
	if (param->weight_slice == 0)
		return 0;
	return group_index(plan->axes, plan->naxes, flat_axes(plan, param), rank);
}

/* Who has an element of a block, where in the layer, how many follow. */
struct flat {
	int64_t member, element, run;
};

static struct flat flat_of(const struct rt_plan *plan, const struct rt_role *role,
			   const struct rt_param *param, enum rt_part part, int64_t layer,
			   int64_t index)
{
	int64_t slice = slice_of(plan, role, param, part);
	if (slice == 0)
		return (struct flat){-1, index, INT64_MAX};
	if (!in_place(param, part))
		return (struct flat){index / slice, index % slice, slice - index % slice};
	const struct rt_place *place = place_of(plan, role, param, part);
	int64_t stride = place->layer_stride / rt_type_bytes(type_of(param, part));
	int64_t at = rt_param_layer(plan, role, param, layer) * stride + index;
	int64_t members = parts(plan, flat_axes(plan, param));
	return (struct flat){at / slice % members, index, slice - at % slice};
}

/* The first rank with these coordinates that is this member. */
static int member_rank(const struct rt_plan *plan, const struct rt_param *param, int rank,
		       int64_t member)
{
	uint32_t axes = flat_axes(plan, param);
	if (member < 0)
		return rank;
	int own = (int)group_index(plan->axes, plan->naxes, axes, rank);
	return rank - group_rank(plan->axes, plan->naxes, axes, own) +
	       group_rank(plan->axes, plan->naxes, axes, (int)member);
}

void *rt_param_element(struct rt *rt, const struct rt_param *param, enum rt_part part,
		       int64_t layer, int64_t index, int rank, bool any)
{
	const struct rt_role *role = rt_role_of(rt->plan, rank);
	if (rt_param_layer(rt->plan, role, param, layer) < 0)
		return NULL;
	struct flat flat = flat_of(rt->plan, role, param, part, layer, index);
	int has = member_rank(rt->plan, param, rank, flat.member);
	if (!any && has != rank)
		return NULL;
	return (unsigned char *)rt_param_at(rt, has, param, part, layer) +
	       flat.element * rt_type_bytes(type_of(param, part));
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t rt_param_run(struct rt *rt, const struct rt_param *param, enum rt_part part, int64_t layer,
		     int64_t index, unsigned char **at)
{
	int64_t columns = columns_of(param), row = index / columns, column = index % columns;
	int owner = rt_param_owner(rt->plan, param, layer, row, column);
	struct rt_block block = rt_param_block(rt->plan, param, owner);
	int64_t element =
		(row - block.first_row) * block.columns + column - block.first_column;
	*at = rt_param_element(rt, param, part, layer, element, owner, true);
	int64_t end = (block.first_row + block.rows) * columns;
	if (block.columns != columns) {
		int64_t last = block.first_column + block.columns;
		end = row * columns + (last < columns ? last : columns);
	}
	return smaller(smaller(end, param->padded_rows * columns) - index,
		       flat_of(rt->plan, rt_role_of(rt->plan, owner), param, part, layer, element)
			       .run);
}

bool rt_weights_sliced(const struct rt_plan *plan)
{
	for (uint32_t p = 0; p < plan->nparam; p++)
		if (plan->param[p].weight_slice > 0)
			return true;
	return false;
}

bool rt_params_cut(const struct rt_plan *plan)
{
	if (plan->stages > 1)
		return true;
	for (uint32_t p = 0; p < plan->nparam; p++)
		if (parts(plan, row_axes(plan, &plan->param[p])) > 1 ||
		    parts(plan, column_axes(plan, &plan->param[p])) > 1 ||
		    parts(plan, flat_axes(plan, &plan->param[p])) > 1)
			return true;
	return false;
}

static int bad(const struct rt_param *param, const char *what)
{
	return rt_fail("plan: parameter `%s`: %s", param->path, what);
}

static int check_flat(const struct rt_plan *plan, const struct rt_param *param)
{
	int64_t slices[] = {param->weight_slice,
			    param->gradient_in_place ? 0 : param->gradient_slice};
	if (param->weight_slice == 0 && param->gradient_slice == 0 && param->moment_slice == 0)
		return 0;
	if (param->flat_group < 0 || param->flat_group >= (int)plan->ngroups)
		return bad(param, "it is cut over a group that is not there");
	uint32_t axes = flat_axes(plan, param);
	if ((axes & (row_axes(plan, param) | column_axes(plan, param))) != 0)
		return bad(param, "it is cut twice over one axis");
	for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++)
		if (slices[i] > 0 && slices[i] * parts(plan, axes) < rt_param_elements(param))
			return bad(param, "its slices do not hold all elements");
	return 0;
}

static int check_param(const struct rt_plan *plan, const struct rt_param *param)
{
	if (check_flat(plan, param) != 0)
		return -1;
	if (param->local_rows == 0)
		return 0;
	if (param->row_group >= (int)plan->ngroups || param->column_group >= (int)plan->ngroups)
		return bad(param, "it is cut over a group that is not there");
	uint32_t rows = row_axes(plan, param), columns = column_axes(plan, param);
	if ((rows & columns) != 0)
		return bad(param, "its rows and its columns are cut over one axis");
	if (param->local_rows * parts(plan, rows) < param->padded_rows)
		return bad(param, "its blocks do not hold all rows");
	if (param->columns > 0 && param->local_columns > 0 &&
	    param->local_columns * parts(plan, columns) < param->columns)
		return bad(param, "its blocks do not hold all columns");
	return 0;
}

int rt_params_check(const struct rt_plan *plan)
{
	for (uint32_t p = 0; p < plan->nparam; p++)
		if (check_param(plan, &plan->param[p]) != 0)
			return -1;
	if (plan->data_group < plan->ngroups &&
	    parts(plan, plan->groups[plan->data_group].axes) != plan->train.data_ranks)
		return rt_fail("plan: %lld data ranks, but the data group has %lld",
			       (long long)plan->train.data_ranks,
			       (long long)parts(plan, plan->groups[plan->data_group].axes));
	return 0;
}
