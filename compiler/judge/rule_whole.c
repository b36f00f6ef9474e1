/* SPDX-License-Identifier: Apache-2.0 */
/* W0501: a large weight that a tensor axis could cut and does not. */
#include "judge/lines.h"
#include "judge/rules.h"

#include "base/num.h"

/* Large: at least this part of the device's memory. */
enum { PARTS = 100 };

/* A dim of the parameter that the architecture would cut and the strategy leaves out, or NO_ID. */
static uint32_t left_out(const struct model *model, const struct strategy *strategy,
			 const struct param *param)
{
	const struct dims *sides[] = {&param->rows, &param->columns};

	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < sides[side]->n; i++) {
			uint32_t dim = sides[side]->at[i];

			if (dims_have(&model->tensor_dims, dim) && !dims_have(&strategy->dims, dim))
				return dim;
		}
	}
	return NO_ID;
}

static void warn(const struct verdict *verdict, const struct strategy *strategy, uint32_t axis,
		 uint32_t index, struct work *work)
{
	const struct program *program = verdict->layout->program;
	const struct param *param = &program->graph->params[index];
	const struct model *model = program->graph->model;
	uint64_t bytes = lines_bytes(program, program->params[index].weight);
	uint32_t dim = left_out(model, strategy, param);
	struct diag *diag;

	if (dim == NO_ID)
		return;
	diag = diag_add(
		work->diags, W0501, strategy->dims_given ? strategy->dims_span : strategy->span,
		"`%s` (%s) is kept whole on all %lld ranks of axis `%s`", param->path,
		num_bytes(work->scratch, bytes, 2), (long long)verdict->plan->axes[axis].size,
		verdict->plan->axes[axis].name->text);
	diag_at(diag, "`%s` is not split", model->dims[dim].name->text);
	diag_note(diag, "on by default; silence with `allow W0501` in this block, or `-A W0501`");
}

static void check_axis(const struct verdict *verdict, const struct strategy *strategy,
		       uint32_t axis, struct work *work)
{
	const struct program *program = verdict->layout->program;

	if (verdict->plan->axes[axis].size < 2 || axis >= AXIS_MAX)
		return;
	for (uint32_t i = 0; i < program->graph->nparams; i++) {
		uint32_t weight = program->params[i].weight;

		if (weight != NO_ID && program->buffers[weight].spread.kind[axis] == SPREAD_WHOLE &&
		    lines_bytes(program, weight) >= verdict->capacity / PARTS)
			warn(verdict, strategy, axis, i, work);
	}
}

bool rule_whole(const struct verdict *verdict, struct work *work)
{
	const struct strategy *strategy = plan_strategy(verdict->plan, STRATEGY_TENSOR);

	if (!strategy || !verdict->layout->program->params)
		return true;
	for (uint32_t i = 0; i < strategy->naxes; i++)
		check_axis(verdict, strategy, strategy->axes[i], work);
	return true;
}
