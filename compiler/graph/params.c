/* SPDX-License-Identifier: Apache-2.0 */
/* Logical parameters: made by operators in text order, shared by ties. */
#include "graph/build.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/bug.h"

/* An identifier for emitted text: "layer.attn.c_attn[0]" + "weight" gives
 * layer_attn_c_attn_0_weight. */
static char *param_name(struct arena *arena, const char *path, const char *part)
{
	char *text = arena_text(arena, "%s_%s", path, part);
	size_t n = 0;
	for (const char *c = text; *c; c++) {
		if (isalnum((unsigned char)*c))
			text[n++] = *c;
		else if (n && text[n - 1] != '_')
			text[n++] = '_';
	}
	text[n] = '\0';
	return text;
}

static double product(const struct builder *b, struct dims dims)
{
	double n = 1;
	for (uint32_t i = 0; i < dims.n; i++)
		n *= (double)b->model->dims[dims.at[i]].size;
	return n;
}

/* Sources of the scale: linear normal with the root of its inputs, halved in variance by every one
 * of the 2 * layers sums of a residual stream; lookup 0.02 (GPT-2). */
static double initial_std(const struct builder *b, const struct model_call *call)
{
	if (call->op == OPERATOR_lookup)
		return 0.02;
	double std = 1 / sqrt(product(b, call->from));
	if (call->init == INIT_RESIDUAL)
		std /= sqrt(2.0 * (double)b->model->layers);
	return std;
}

static struct tensor_id gradient_tensor(struct builder *b, uint32_t param, const char *suffix)
{
	const struct param *p = &b->params.at[param];
	struct dims dims = p->rows;
	for (uint32_t i = 0; i < p->columns.n; i++)
		dims.at[dims.n++] = p->columns.at[i];
	char *name = arena_text(b->work->keep, "%s_%s", p->name->text, suffix);
	struct tensor_id t = build_tensor(b, ROLE_GRADIENT, name, "grad", p->span, dims);
	b->tensors.at[t.at].param = param;
	b->tensors.at[t.at].site = p->sites;
	return t;
}

static struct tensor_id weight_tensor(struct builder *b, uint32_t param)
{
	const struct param *p = &b->params.at[param];
	struct dims dims = p->rows;
	for (uint32_t i = 0; i < p->columns.n; i++)
		dims.at[dims.n++] = p->columns.at[i];
	struct tensor_id t =
		build_tensor(b, ROLE_PARAM, p->name->text, "param", p->span, dims);
	b->tensors.at[t.at].param = param;
	return t;
}

static struct tensor_id make_param(struct builder *b, const struct model_call *call,
				   const char *part, struct dims rows, struct dims columns)
{
	struct arena *arena = b->work->keep;
	bool matrix = columns.n > 0, weight = !strcmp(part, "weight");
	bool repeat = b->region == REGION_REPEAT;
	struct param param = {
		.path = arena_text(arena, "%s.%s", call->as->path, part),
		.stored = arena_text(arena, "%s.%s", call->as->stored, part),
		.span = call->as->span,
		.region = b->region,
		.layers = repeat ? b->model->layers : 1,
		.rows = rows,
		.columns = columns,
		.transposed = matrix && call->op == OPERATOR_linear && call->stored_in_out,
		.piece = call->as->piece,
		.init = matrix ? PARAM_NORMAL : weight ? PARAM_ONE : PARAM_ZERO,
		.std = matrix ? initial_std(b, call) : 0,
		.decay = matrix,
		.stream = b->param_streams,
		.sites = 0,
	};
	param.name = name_of(b->work->names, param_name(arena, call->as->path, part));
	b->param_streams += (uint32_t)param.layers;
	uint32_t at = b->params.n;
	vec_push(arena, &b->params, param);
	struct tensor_id w = weight_tensor(b, at), grad = gradient_tensor(b, at, "grad");
	struct param *p = &b->params.at[at];
	p->weight = w;
	p->gradient[p->sites++] = grad;
	return w;
}

static bool same_dims(struct dims a, struct dims b)
{
	return a.n == b.n && !memcmp(a.at, b.at, a.n * sizeof a.at[0]);
}

/* One more use of an earlier weight, with an accumulator of its own. */
static struct tensor_id tie(struct builder *b, const struct model_call *call, struct dims rows,
			    struct dims columns)
{
	char *stored = arena_text(b->work->keep, "%s.weight", call->tied->stored);
	for (uint32_t i = 0; i < b->params.n; i++) {
		struct param *p = &b->params.at[i];
		if (p->piece != call->tied->piece || strcmp(p->stored, stored))
			continue;
		if (!same_dims(p->rows, rows) || !same_dims(p->columns, columns) ||
		    p->layers > 1 || b->region == REGION_REPEAT || p->sites == SITES_MAX)
			break;
		struct tensor_id grad = gradient_tensor(b, i, "tied_grad");
		p = &b->params.at[i];
		p->gradient[p->sites++] = grad;
		return p->weight;
	}
	struct diag *d = diag_add(b->work->diags, E0217, call->span, "`%s` cannot be shared here",
				  call->tied->stored);
	diag_label(d, call->tied->span, "made here");
	diag_note(d, "a tied weight is one that an operator outside the repeated block makes, with "
		     "the same dims, used at most %d times",
		  SITES_MAX);
	b->failed = true;
	return no_tensor;
}

void build_params(struct builder *b, const struct model_call *call, struct tensor_id *weight,
		  struct tensor_id *bias)
{
	const struct dims none = {0};
	struct dims rows = call->to, columns = call->from;
	if (!operator_row(call->op)->params)
		return;
	if (call->op == OPERATOR_lookup) {
		rows = call->from;
		columns = call->to;
	} else if (call->op != OPERATOR_linear) {
		struct dims x = b->dims[call->operands[0]];
		rows = (struct dims){1, {x.at[x.n - 1]}};
		columns = none;
	}
	if (call->tied) {
		*weight = tie(b, call, rows, columns);
		return;
	}
	*weight = make_param(b, call, "weight", rows, columns);
	if (call->op == OPERATOR_layernorm || (call->op == OPERATOR_linear && call->bias))
		*bias = make_param(b, call, "bias", rows, none);
}
