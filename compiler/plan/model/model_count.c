/* SPDX-License-Identifier: Apache-2.0 */
/* The operators table as data; counting elements and weights. */
#include "plan/model.h"

static const struct operator_row rows[OPERATORS] = {
#define OPERATOR(name, operands, arrow, params, doc) {#name, doc, operands, arrow, params},
#include "plan/operators.def"
#undef OPERATOR
};

const struct operator_row *operator_row(enum operator_id op)
{
	return &rows[op];
}

uint32_t model_dim(const struct model *model, const struct name *name)
{
	for (uint32_t i = 0; i < model->ndims; i++)
		if (model->dims[i].name == name)
			return i;
	return NO_ID;
}

bool dims_have(const struct dims *dims, uint32_t dim)
{
	for (uint32_t i = 0; i < dims->n; i++)
		if (dims->at[i] == dim)
			return true;
	return false;
}

struct dims dims_without(struct dims dims, uint32_t dim)
{
	struct dims rest = {0};
	for (uint32_t i = 0; i < dims.n; i++)
		if (dims.at[i] != dim)
			rest.at[rest.n++] = dims.at[i];
	return rest;
}

char *model_dims_text(const struct model *model, const struct dims *dims, struct arena *arena)
{
	char *text = arena_text(arena, "[");

	for (uint32_t i = 0; i < dims->n; i++)
		text = arena_text(arena, "%s%s%s", text, i ? ", " : "",
				  model->dims[dims->at[i]].name->text);
	return arena_text(arena, "%s]", text);
}

static struct num elements(const struct model *model, const struct dims *dims)
{
	struct num product = num_from(1);

	for (uint32_t i = 0; i < dims->n; i++)
		product = num_times(product, model->dims[dims->at[i]].size);
	return product;
}

bool model_elements(const struct model *model, const struct dims *dims, uint64_t *out)
{
	struct num product = elements(model, dims);

	*out = product.value;
	return !product.overflow;
}

bool model_call_params(const struct model *model, const struct model_call *call, uint64_t *out)
{
	struct num from = elements(model, &call->from), to = elements(model, &call->to);
	struct num count = num_from(0);

	if (call->as)
		count = num_times(from, to.value);
	if (call->as && call->op == OPERATOR_layernorm)
		count = num_times(count, 2);
	if (call->as && call->bias)
		count = num_plus(count, to);
	*out = count.value;
	return !count.overflow && !from.overflow && !to.overflow;
}

bool model_params(const struct model *model, uint64_t *out)
{
	struct num total = num_from(0);
	bool good = true;

	for (uint32_t i = 0; i < model->ncalls; i++) {
		const struct model_call *call = &model->calls[i];
		struct num count;
		uint64_t one;

		good &= model_call_params(model, call, &one);
		count = num_times(num_from(one), call->region == REGION_REPEAT ? model->layers : 1);
		total = num_plus(total, count);
		good &= !count.overflow;
	}
	*out = total.value;
	return good && !total.overflow;
}
