/* SPDX-License-Identifier: Apache-2.0 */
/* Operator calls that this version checks but cannot emit yet. */
#include "plan/rules/plan_rules.h"

enum { RUNS_MOST = 4 }; /* of rt/kernels.def: pairs (count, stride) of an operand */

static void note(struct work *work, const struct model_call *call, const char *what)
{
	diag_add(work->diags, N0901, call->span, "this version cannot emit `%s` %s yet",
		 operator_row(call->op)->name, what);
}

static bool padded(const struct model *model, uint32_t dim)
{
	return model->dims[dim].padded != model->dims[dim].size;
}

static bool any_padded(const struct model *model, const struct dims *dims, uint32_t from)
{
	for (uint32_t i = from; i < dims->n; i++)
		if (padded(model, dims->at[i]))
			return true;
	return false;
}

/* Padding lies behind whole rows of a weight, and nothing but the loss tells it from values. */
static bool meets_padding(const struct model *model, const struct model_call *call)
{
	switch (call->op) {
	case OPERATOR_lookup:
		return any_padded(model, &call->to, 0) || any_padded(model, &call->from, 1);
	case OPERATOR_linear:
		return any_padded(model, &call->from, 0) || any_padded(model, &call->to, 1);
	case OPERATOR_layernorm:
	case OPERATOR_rmsnorm:
	case OPERATOR_rope:
	case OPERATOR_attend:
		return any_padded(model, &model->value_dims[call->operands[0]], 0);
	case OPERATOR_dropout:
		return call->rate > 0 &&
		       any_padded(model, &model->value_dims[call->operands[0]], 0);
	default:
		return false;
	}
}

/* How often the dims of the longer operand change between such that the shorter one has and such
 * that it lacks, plus one. */
static uint32_t runs(const struct dims *whole, const struct dims *part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < whole->n; i++)
		n += i == 0 || dims_have(part, whole->at[i]) != dims_have(part, whole->at[i - 1]);
	return n;
}

static bool many_runs(const struct model *model, const struct model_call *call)
{
	const struct dims *a = &model->value_dims[call->operands[0]], *b;

	if (call->noperands != 2 || call->op == OPERATOR_cross_entropy)
		return false;
	b = &model->value_dims[call->operands[1]];
	return (a->n < b->n ? runs(b, a) : runs(a, b)) > RUNS_MOST;
}

/* Its mask is drawn by the number of the sample. */
static bool no_sample(const struct model *model, const struct model_call *call)
{
	return call->op == OPERATOR_attend && call->rate > 0 &&
	       !dims_have(&model->value_dims[call->operands[0]], model->batch);
}

void note_calls(const struct plan *plan, struct work *work)
{
	const struct model *model = rule_model(plan);

	for (uint32_t i = 0; model && i < model->ncalls; i++) {
		const struct model_call *call = &model->calls[i];

		if (meets_padding(model, call))
			note(work, call, "over a padded dim");
		if (many_runs(model, call))
			note(work, call, "of dims that alternate so often");
		if (no_sample(model, call))
			note(work, call, "with dropout without `batch`");
	}
}
