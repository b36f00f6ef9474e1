/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/weights.h"

static const char layer_mark[] = "{layer}";

static void put_name(char *out, const char *pattern, int64_t layer)
{
	const char *mark = strstr(pattern, layer_mark);
	if (mark == NULL)
		snprintf(out, STORED_NAME, "%s", pattern);
	else
		snprintf(out, STORED_NAME, "%.*s%lld%s", (int)(mark - pattern), pattern,
			 (long long)layer, mark + strlen(layer_mark));
}

void stored_param_name(const struct rt_param *param, int64_t layer, char *out)
{
	put_name(out, param->stored, layer);
	size_t used = strlen(out);
	if (param->pieces > 1)
		snprintf(out + used, STORED_NAME - used, "[%lld]", (long long)param->piece);
}

static int64_t stored_rows(const struct rt_param *param)
{
	return param->pieces > 1 ? param->stored_rows : param->rows;
}

static void describe(const struct rt_param *param, int64_t layer, struct stored *out)
{
	int64_t rows = stored_rows(param), columns = param->columns > 0 ? param->columns : 1;
	bool swap = param->transposed && param->columns > 0;
	out->param = param;
	out->layer = layer;
	out->dims = param->columns > 0 ? 2 : 1;
	out->outer = swap ? columns : rows;
	out->inner = swap ? rows : columns;
	put_name(out->name, param->stored, layer);
}

bool stored_at(const struct rt_plan *plan, int64_t i, struct stored *out)
{
	for (uint32_t p = 0; p < plan->nparam; p++) {
		const struct rt_param *param = &plan->param[p];
		if (param->pieces > 1 && param->piece > 0)
			continue;
		if (i < param->layers) {
			describe(param, i, out);
			return true;
		}
		i -= param->layers;
	}
	return false;
}

static bool holds(const struct rt_param *param, int64_t row)
{
	int64_t first = param->pieces > 1 ? param->first_row : 0;
	return row >= first && row < first + param->rows;
}

static const struct rt_param *piece_of(const struct rt_plan *plan, const struct rt_param *front,
				       int64_t row)
{
	if (holds(front, row))
		return front;
	for (uint32_t p = 0; p < plan->nparam; p++)
		if (strcmp(plan->param[p].stored, front->stored) == 0 &&
		    holds(&plan->param[p], row))
			return &plan->param[p];
	return NULL;
}

static bool inside(const struct rt_block *block, int64_t row, int64_t column)
{
	return row >= block->first_row && row < block->first_row + block->rows &&
	       column >= block->first_column && column < block->first_column + block->columns;
}

/* The block of `rank`, to which the cursor points from now on. */
static void enter(struct rt *rt, enum weights_part part, int rank, struct stored_cursor *cursor)
{
	const struct rt_param *param = cursor->param;
	cursor->part = part == WEIGHTS_VALUES ? RT_WEIGHT : RT_GRADIENT;
	cursor->block = rt_param_block(rt->plan, param, rank);
	cursor->owner = rank;
}

enum rt_type stored_type(const struct rt_param *param, enum weights_part part)
{
	return part == WEIGHTS_VALUES ? param->type : param->gradient_type;
}

void *stored_element(struct rt *rt, const struct stored *stored, enum weights_part part,
		     int64_t index, struct stored_cursor *cursor)
{
	bool swap = stored->param->transposed && stored->dims == 2;
	int64_t outer = index / stored->inner, inner = index % stored->inner;
	int64_t row = swap ? inner : outer, column = swap ? outer : inner;
	if (cursor->param == NULL || !holds(cursor->param, row)) {
		cursor->param = piece_of(rt->plan, stored->param, row);
		if (cursor->param == NULL)
			return NULL;
		int owner = rt_param_owner(rt->plan, cursor->param, stored->layer, 0, 0);
		enter(rt, part, cursor->rank < 0 ? owner : cursor->rank, cursor);
	}
	const struct rt_param *param = cursor->param;
	row -= param->pieces > 1 ? param->first_row : 0;
	if (!inside(&cursor->block, row, column)) {
		if (cursor->rank >= 0)
			return NULL;
		enter(rt, part, rt_param_owner(rt->plan, param, stored->layer, row, column),
		      cursor);
	}
	int64_t element = (row - cursor->block.first_row) * cursor->block.columns + column -
			  cursor->block.first_column;
	return rt_param_element(rt, param, cursor->part, stored->layer, element, cursor->owner,
				cursor->rank < 0);
}
