/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators over operands that lack dims of the result, and the sum that undoes it:
 * dims become runs (count, stride), as runtime/include/rt/kernels.def takes them. */
#include "part/lower.h"

enum { RUNS_MAX = 4 };

struct runs {
	uint32_t n;
	struct dims dims[RUNS_MAX]; /* of the longer tensor, consecutive */
	bool has[RUNS_MAX];         /* the shorter one has them */
};

/* What the plan noted already (plan/rules/rule_emitted_calls.c): an error for who asks for text. */
static void refuse(struct lower *l)
{
	l->refused = true;
	if (!l->work->check_only)
		diag_add(l->work->diags, E0901, l->span,
			 "dims that are broadcast alternate more than %d times", RUNS_MAX);
}

/* Cuts `whole` where it changes between dims that `part` has and dims that it lacks. */
static struct runs runs_of(struct lower *l, struct dims whole, struct dims part)
{
	struct runs runs = {0};
	for (uint32_t i = 0; i < whole.n; i++) {
		bool has = dims_have(&part, whole.at[i]);
		if (runs.n == 0 || runs.has[runs.n - 1] != has) {
			if (runs.n == RUNS_MAX) {
				refuse(l);
				break;
			}
			runs.has[runs.n++] = has;
		}
		struct dims *run = &runs.dims[runs.n - 1];
		run->at[run->n++] = whole.at[i];
	}
	return runs;
}

/* Dims of runs after run `i`: their product is its stride. `only_had`: within the shorter tensor.
 */
static struct dims after(const struct runs *runs, uint32_t i, bool only_had)
{
	struct dims dims = {0};
	for (uint32_t k = i + 1; k < runs->n; k++)
		if (!only_had || runs->has[k])
			dims = dims_join(dims, runs->dims[k]);
	return dims;
}

/* n, then (count, stride) of each run, for a tensor that has the `has` runs or (whole) all. */
static void layout(struct lower *l, struct step *step, const struct runs *runs,
		   struct tensor_id y, bool whole)
{
	step_size(step, size_number(runs->n));
	for (uint32_t i = 0; i < runs->n; i++) {
		bool missing = !whole && !runs->has[i];
		step_size(step, size_in(l, y, runs->dims[i]));
		step_size(step, missing ? size_number(0)
					: size_in(l, y, after(runs, i, !whole)));
	}
}

static void elements(struct lower *l, const struct graph_node *node, enum rt_row row)
{
	const struct tensor *tensors = l->graph->tensors;
	const struct tensor *y = &tensors[node->out[0].at];
	const struct tensor *a = &tensors[node->in[0].at], *b = &tensors[node->in[1].at];
	bool a_whole = a->dims.n == y->dims.n, b_whole = b->dims.n == y->dims.n;
	struct runs runs = runs_of(l, y->dims, a_whole ? b->dims : a->dims);
	struct step *step = step_new(l, row, y->type, size_in(l, node->out[0], y->dims));
	step_read(l, step, node->in[0]);
	step_read(l, step, node->in[1]);
	step_write(l, step, node->out[0]);
	layout(l, step, &runs, node->out[0], a_whole);
	layout(l, step, &runs, node->out[0], b_whole);
}

void lower_add(struct lower *l, const struct graph_node *node)
{
	elements(l, node, RT_ROW_add);
}

void lower_sub(struct lower *l, const struct graph_node *node)
{
	elements(l, node, RT_ROW_sub);
}

void lower_mul(struct lower *l, const struct graph_node *node)
{
	elements(l, node, RT_ROW_mul);
}

static void reduce_runs(struct lower *l, struct step *step, const struct runs *runs,
			struct tensor_id x, bool kept)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < runs->n; i++)
		n += runs->has[i] == kept;
	step_size(step, size_number(n));
	for (uint32_t i = 0; i < runs->n; i++) {
		if (runs->has[i] != kept)
			continue;
		step_size(step, size_in(l, x, runs->dims[i]));
		step_size(step, size_in(l, x, after(runs, i, false)));
	}
}

void lower_reduce(struct lower *l, const struct graph_node *node)
{
	const struct tensor *x = &l->graph->tensors[node->in[0].at];
	const struct tensor *y = &l->graph->tensors[node->out[0].at];
	struct runs runs = runs_of(l, x->dims, y->dims);
	struct step *step = step_new(l, RT_ROW_reduce, x->type, size_in(l, node->out[0], y->dims));
	step_read(l, step, node->in[0]);
	step_write(l, step, node->out[0]);
	reduce_runs(l, step, &runs, node->in[0], true);
	reduce_runs(l, step, &runs, node->in[0], false);
}
