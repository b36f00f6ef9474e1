/* SPDX-License-Identifier: Apache-2.0 */
#include "forward.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

enum { DIMS_MOST = 64 };

/* A tensor, row-major over the logical sizes of its dims. */
struct tensor_value {
	struct dims dims;
	double *at;
};

struct forward {
	const struct interpret *in;
	const struct model *model;
	struct tensor_value *values;
	int64_t layer;
};

/* Where in every dim; by index into model->dims. */
struct place_in {
	uint64_t at[DIMS_MOST];
};

static uint64_t elements(const struct forward *f, const struct dims *dims)
{
	uint64_t n = 1;
	for (uint32_t i = 0; i < dims->n; i++)
		n *= f->model->dims[dims->at[i]].size;
	return n;
}

static void go_to(const struct forward *f, const struct dims *dims, uint64_t i,
		  struct place_in *place)
{
	for (uint32_t k = dims->n; k-- > 0;) {
		uint64_t size = f->model->dims[dims->at[k]].size;
		place->at[dims->at[k]] = i % size;
		i /= size;
	}
}

static double value_at(const struct forward *f, uint32_t value, const struct place_in *place)
{
	const struct tensor_value *v = &f->values[value];
	uint64_t i = 0;
	for (uint32_t k = 0; k < v->dims.n; k++)
		i = i * f->model->dims[v->dims.at[k]].size + place->at[v->dims.at[k]];
	return v->at[i];
}

/* ---- weights ------------------------------------------------------------------------------- */

static struct sample_param param_named(const struct forward *f, const struct model_name *name,
				       const char *part)
{
	const struct graph *graph = f->in->program->graph;
	char path[4096];
	snprintf(path, sizeof path, "%s.%s", name->path, part);
	for (uint32_t i = 0; i < graph->nparams; i++)
		if (!strcmp(graph->params[i].path, path))
			return sample_param(f->in, i);
	fprintf(stderr, "no parameter `%s`\n", path);
	exit(2);
}

static struct sample_param weight_of(const struct forward *f, const struct model_call *call)
{
	return param_named(f, call->as ? call->as : call->tied, "weight");
}

/* In memory a padded dim is longer than its size. */
static double weight_at(const struct forward *f, const struct sample_param *p,
			const struct place_in *place)
{
	struct interpret_at at = {.layer = f->layer};
	uint64_t i = 0;
	for (uint32_t k = 0; k < p->dims.n; k++)
		i = i * f->model->dims[p->dims.at[k]].padded + place->at[p->dims.at[k]];
	return interpret_get(f->in, p->buffers->weight, at, i);
}

/* ---- operators: each fills y, whose dims are known ----------------------------------------- */

typedef void operator_rule(const struct forward *f, const struct model_call *call,
			   struct tensor_value *y);

static void do_lookup(const struct forward *f, const struct model_call *call,
		      struct tensor_value *y)
{
	struct sample_param w = weight_of(f, call);
	struct place_in place = {{0}};
	for (uint64_t i = 0; i < elements(f, &y->dims); i++) {
		go_to(f, &y->dims, i, &place);
		place.at[call->from.at[0]] = (uint64_t)value_at(f, call->operands[0], &place);
		y->at[i] = weight_at(f, &w, &place);
	}
}

static void do_linear(const struct forward *f, const struct model_call *call,
		      struct tensor_value *y)
{
	struct sample_param w = weight_of(f, call), bias = {0};
	struct place_in place = {{0}};
	if (call->bias)
		bias = param_named(f, call->as, "bias");
	for (uint64_t i = 0; i < elements(f, &y->dims); i++) {
		double sum = 0;
		go_to(f, &y->dims, i, &place);
		for (uint64_t k = 0; k < elements(f, &call->from); k++) {
			go_to(f, &call->from, k, &place);
			sum += value_at(f, call->operands[0], &place) * weight_at(f, &w, &place);
		}
		y->at[i] = sum + (call->bias ? weight_at(f, &bias, &place) : 0);
	}
}

static void norm(const struct forward *f, const struct model_call *call, struct tensor_value *y,
		 bool centred)
{
	uint32_t along = call->from.at[0];
	uint64_t n = f->model->dims[along].size;
	struct sample_param w = weight_of(f, call), bias = {0};
	struct place_in place = {{0}};
	if (centred)
		bias = param_named(f, call->as, "bias");
	for (uint64_t i = 0; i < elements(f, &y->dims); i++) {
		double mean = 0, square = 0;
		go_to(f, &y->dims, i, &place);
		for (place.at[along] = 0; centred && place.at[along] < n; place.at[along]++)
			mean += value_at(f, call->operands[0], &place) / (double)n;
		for (place.at[along] = 0; place.at[along] < n; place.at[along]++) {
			double d = value_at(f, call->operands[0], &place) - mean;
			square += d * d / (double)n;
		}
		go_to(f, &y->dims, i, &place);
		y->at[i] = (value_at(f, call->operands[0], &place) - mean) /
			   sqrt(square + call->eps) * weight_at(f, &w, &place);
		y->at[i] += centred ? weight_at(f, &bias, &place) : 0;
	}
}

static void do_layernorm(const struct forward *f, const struct model_call *call,
			 struct tensor_value *y)
{
	norm(f, call, y, true);
}

static void do_rmsnorm(const struct forward *f, const struct model_call *call,
		       struct tensor_value *y)
{
	norm(f, call, y, false);
}

/* Llama 3.1: waves longer than original / low are stretched by factor, shorter than original / high
 * are kept, linear in between. */
static double speed(const struct model_call *call, double pair, double dim)
{
	double plain = pow(call->base, -2 * pair / dim);
	double turns = call->scaling[3] * plain / (2 * acos(-1));
	double share = (turns - call->scaling[1]) / (call->scaling[2] - call->scaling[1]);
	if (call->scaling[0] == 1)
		return plain;
	share = fmin(1, fmax(0, share));
	return share * plain + (1 - share) * plain / call->scaling[0];
}

static void do_rope(const struct forward *f, const struct model_call *call, struct tensor_value *y)
{
	uint32_t turned = y->dims.at[y->dims.n - 1];
	uint64_t size = f->model->dims[turned].size, half = size / 2;
	struct place_in place = {{0}};
	for (uint64_t i = 0; i < elements(f, &y->dims); i++) {
		go_to(f, &y->dims, i, &place);
		uint64_t j = place.at[turned];
		double angle = (double)place.at[f->model->tokens] *
			       speed(call, (double)(j % half), (double)size);
		double x = value_at(f, call->operands[0], &place);
		place.at[turned] = (j + half) % size;
		double other = value_at(f, call->operands[0], &place);
		y->at[i] = x * cos(angle) + (j < half ? -other : other) * sin(angle);
	}
}

/* Score of a query and a key, both at `place` but for the key's token and head. */
static double score(const struct forward *f, const struct model_call *call, struct place_in place,
		    uint64_t key)
{
	const struct dims *q = &f->values[call->operands[0]].dims;
	const struct dims *k = &f->values[call->operands[1]].dims;
	uint32_t inner = q->at[q->n - 1], heads = q->at[q->n - 2], groups = k->at[k->n - 2];
	uint64_t n = f->model->dims[inner].size, query = place.at[f->model->tokens];
	uint64_t head = place.at[heads];
	uint64_t group = head / (f->model->dims[heads].size / f->model->dims[groups].size);
	double sum = 0;
	for (place.at[inner] = 0; place.at[inner] < n; place.at[inner]++) {
		place.at[f->model->tokens] = query;
		place.at[heads] = head;
		double x = value_at(f, call->operands[0], &place);
		place.at[f->model->tokens] = key;
		place.at[groups] = group;
		sum += x * value_at(f, call->operands[1], &place);
	}
	return sum / sqrt((double)n);
}

static void do_attend(const struct forward *f, const struct model_call *call,
		      struct tensor_value *y)
{
	const struct dims *k = &f->values[call->operands[1]].dims;
	uint32_t heads = y->dims.at[y->dims.n - 2], groups = k->at[k->n - 2];
	uint64_t each = f->model->dims[heads].size / f->model->dims[groups].size;
	uint64_t tokens = f->model->dims[f->model->tokens].size;
	struct place_in place = {{0}};
	for (uint64_t i = 0; i < elements(f, &y->dims); i++) {
		double sum = 0, weighted = 0;
		go_to(f, &y->dims, i, &place);
		uint64_t last = call->causal ? place.at[f->model->tokens] + 1 : tokens;
		for (uint64_t key = 0; key < last; key++) {
			struct place_in there = place;
			double share = exp(score(f, call, place, key));
			there.at[groups] = place.at[heads] / each;
			there.at[f->model->tokens] = key;
			sum += share;
			weighted += share * value_at(f, call->operands[2], &there);
		}
		y->at[i] = weighted / sum;
	}
}

#define UNARY(name, formula)                                                                       \
	static void do_##name(const struct forward *f, const struct model_call *call,              \
			      struct tensor_value *y)                                              \
	{                                                                                          \
		for (uint64_t i = 0; i < elements(f, &y->dims); i++) {                             \
			double x = f->values[call->operands[0]].at[i];                             \
			y->at[i] = formula;                                                        \
		}                                                                                  \
	}
UNARY(gelu, x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x))))
UNARY(gelu_erf, x / 2 * (1 + erf(x / sqrt(2))))
UNARY(silu, x / (1 + exp(-x)))
UNARY(relu, x > 0 ? x : 0)
UNARY(dropout, x)

#define BINARY(name, formula)                                                                      \
	static void do_##name(const struct forward *f, const struct model_call *call,              \
			      struct tensor_value *y)                                              \
	{                                                                                          \
		struct place_in place = {{0}};                                                     \
		for (uint64_t i = 0; i < elements(f, &y->dims); i++) {                             \
			go_to(f, &y->dims, i, &place);                                             \
			double a = value_at(f, call->operands[0], &place);                         \
			double b = value_at(f, call->operands[1], &place);                         \
			y->at[i] = formula;                                                        \
		}                                                                                  \
	}
BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a *b)

/* y: one number, the sum. */
static void do_cross_entropy(const struct forward *f, const struct model_call *call,
			     struct tensor_value *y)
{
	struct dims rows = f->values[call->operands[0]].dims;
	uint32_t classes = rows.at[--rows.n];
	struct place_in place = {{0}};
	y->at[0] = 0;
	for (uint64_t i = 0; i < elements(f, &rows); i++) {
		double sum = 0;
		go_to(f, &rows, i, &place);
		double target = value_at(f, call->operands[1], &place);
		if (target < 0)
			continue;
		for (uint64_t c = 0; c < f->model->dims[classes].size; c++) {
			place.at[classes] = c;
			sum += exp(value_at(f, call->operands[0], &place));
		}
		place.at[classes] = (uint64_t)target;
		y->at[0] += log(sum) - value_at(f, call->operands[0], &place);
	}
}

static operator_rule *const rules[] = {
#define OPERATOR(name, operands, arrow, params, doc) do_##name,
#include "plan/operators.def"
#undef OPERATOR
};

/* ---- the model ----------------------------------------------------------------------------- */

static void run_region(struct forward *f, enum region region)
{
	for (uint32_t i = 0; i < f->model->ncalls; i++) {
		const struct model_call *call = &f->model->calls[i];
		if (call->region == region)
			rules[call->op](f, call, &f->values[call->result]);
	}
}

static void run_layers(struct forward *f)
{
	if (f->model->carried_in == NO_ID)
		return;
	struct tensor_value *in = &f->values[f->model->carried_in];
	struct tensor_value *out = &f->values[f->model->carried_out];
	size_t bytes = (size_t)elements(f, &in->dims) * sizeof(double);
	double *first = malloc(bytes);
	memcpy(first, in->at, bytes);
	for (f->layer = 0; f->layer < (int64_t)f->model->layers; f->layer++) {
		run_region(f, REGION_REPEAT);
		memcpy(in->at, out->at, bytes);
	}
	memcpy(in->at, first, bytes);
	f->layer = 0;
	free(first);
}

static void load(struct forward *f, uint32_t micro_batch)
{
	uint64_t n = elements(f, &f->values[GIVEN_TOKENS].dims);
	for (uint64_t i = 0; i < n; i++) {
		f->values[GIVEN_TOKENS].at[i] = f->in->tokens[micro_batch * n + i];
		f->values[GIVEN_TARGETS].at[i] = f->in->targets[micro_batch * n + i];
	}
	for (uint64_t i = 0; i < f->model->dims[f->model->tokens].size; i++)
		f->values[GIVEN_POSITION].at[i] = (double)i;
}

double forward_loss(const struct interpret *in)
{
	struct forward f = {.in = in, .model = in->program->graph->model};
	const struct model *m = f.model;
	double loss = 0;
	f.values = calloc(m->nvalues, sizeof *f.values);
	for (uint32_t i = 0; i < m->nvalues; i++) {
		f.values[i].dims = m->value_dims[i];
		f.values[i].at = calloc(elements(&f, &f.values[i].dims), sizeof(double));
	}
	for (uint32_t i = 0; i < in->role->schedule.micro_batches; i++) {
		load(&f, i);
		run_region(&f, REGION_BEFORE);
		run_layers(&f);
		run_region(&f, REGION_AFTER);
		loss += f.values[m->calls[m->loss].result].at[0];
	}
	for (uint32_t i = 0; i < m->nvalues; i++)
		free(f.values[i].at);
	free(f.values);
	return loss;
}
