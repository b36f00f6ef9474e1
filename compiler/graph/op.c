/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"

#include <stddef.h>

#include "base/num.h"

static const struct op_row rows[] = {
#define OP(name, ins, outs, gradient, backward, doc) {#name, doc, ins, outs, backward},
#include "graph/ops.def"
#undef OP
};

_Static_assert((int)OP_cross_entropy == (int)OPERATOR_cross_entropy,
	       "graph/ops.def starts with the operators of plan/operators.def, in their order");

const struct op_row *op_row(enum op op)
{
	return &rows[op];
}

uint64_t graph_elements(const struct graph *graph, struct dims dims, bool padded)
{
	struct num n = num_from(1);
	for (uint32_t i = 0; i < dims.n; i++) {
		const struct dim *dim = &graph->model->dims[dims.at[i]];
		n = num_times(n, padded ? dim->padded : dim->size);
	}
	return n.value;
}

bool graph_params(const struct graph *graph, uint64_t *out)
{
	struct num sum = num_from(0);
	for (uint32_t i = 0; i < graph->nparams; i++) {
		const struct param *param = &graph->params[i];
		struct num n = num_from(graph_elements(graph, param->rows, false));
		n = num_times(n, graph_elements(graph, param->columns, false));
		sum = num_plus(sum, num_times(n, param->layers));
	}
	*out = sum.value;
	return !sum.overflow;
}
