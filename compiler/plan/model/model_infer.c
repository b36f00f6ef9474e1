/* SPDX-License-Identifier: Apache-2.0 */
/* Dims of every value, by the rule of each operator. */
#include <string.h>

#include "plan/model.h"

/* One walk over the calls. `known[v]`: dims of value v hold. */
struct infer {
	const struct model *model;
	struct dims *dims;
	bool *known;
	struct work *work;
	bool faulty;
};

static const char *text_of(struct infer *infer, const struct dims *dims)
{
	return model_dims_text(infer->model, dims, infer->work->keep);
}

static struct diag *fault(struct infer *infer, const struct model_call *call, const char *what)
{
	infer->faulty = true;
	return diag_add(infer->work->diags, E0213, call->span, "%s", what);
}

static const char *op_name(const struct model_call *call)
{
	return operator_row(call->op)->name;
}

static bool same(const struct dims *a, const struct dims *b)
{
	return a->n == b->n && !memcmp(a->at, b->at, a->n * sizeof *a->at);
}

/* True if `tail` are the last dims of x, in order. */
static bool ends_in(const struct dims *x, const struct dims *tail)
{
	return tail->n <= x->n &&
	       !memcmp(x->at + x->n - tail->n, tail->at, tail->n * sizeof *tail->at);
}

/* Appends b to a; false after a report. */
static bool join(struct infer *infer, const struct model_call *call, struct dims *a,
		 const struct dims *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		if (dims_have(a, b->at[i])) {
			fault(infer, call,
			      arena_text(infer->work->keep,
					 "dim `%s` would stand twice in the result of `%s`",
					 infer->model->dims[b->at[i]].name->text, op_name(call)));
			return false;
		}
		if (a->n == DIM_MAX) {
			fault(infer, call, "a tensor has at most eight dims");
			return false;
		}
		a->at[a->n++] = b->at[i];
	}
	return true;
}

static bool infer_lookup(struct infer *infer, const struct model_call *call,
			 const struct dims *const *x, struct dims *out)
{
	*out = *x[0];
	return join(infer, call, out, &call->to);
}

static bool infer_linear(struct infer *infer, const struct model_call *call,
			 const struct dims *const *x, struct dims *out)
{
	*out = *x[0];
	if (!ends_in(x[0], &call->from)) {
		diag_at(fault(infer, call,
			      arena_text(infer->work->keep,
					 "`linear` contracts %s, the tensor has %s",
					 text_of(infer, &call->from), text_of(infer, x[0]))),
			"what is contracted are the tensor's last dims, in order");
		return false;
	}
	out->n -= call->from.n;
	return join(infer, call, out, &call->to);
}

static bool infer_norm(struct infer *infer, const struct model_call *call,
		       const struct dims *const *x, struct dims *out)
{
	*out = *x[0];
	if (x[0]->n && ends_in(x[0], &call->from))
		return true;
	diag_at(fault(infer, call,
		      arena_text(infer->work->keep, "`%s` runs along %s, the tensor has %s",
				 op_name(call), text_of(infer, &call->from), text_of(infer, x[0]))),
		"`along` is the tensor's last dim");
	return false;
}

static bool infer_rope(struct infer *infer, const struct model_call *call,
		       const struct dims *const *x, struct dims *out)
{
	const struct model *model = infer->model;
	const struct dim *last = x[0]->n ? &model->dims[x[0]->at[x[0]->n - 1]] : NULL;
	struct diag *diag;

	*out = *x[0];
	if (!dims_have(x[0], model->tokens) || x[0]->at[x[0]->n - 1] == model->tokens) {
		fault(infer, call,
		      arena_text(infer->work->keep,
				 "`rope` turns a dim after `tokens`, the tensor has %s",
				 text_of(infer, x[0])));
		return false;
	}
	if (last->size % 2 == 0)
		return true;
	infer->faulty = true;
	diag = diag_add(infer->work->diags, E0213, model->span,
			"`rope` turns pairs, and `%s` (%llu) is odd", last->name->text,
			(unsigned long long)last->size);
	diag_label(diag, last->span, "`%s`", last->name->text);
	diag_label(diag, call->span, "turned here");
	return false;
}

/* q [.., H, D], k and v [.., K, D], .. ends in tokens. */
static bool attend_fits(const struct model *model, const struct dims *q, const struct dims *k)
{
	return q->n >= 3 && q->n == k->n && q->at[q->n - 3] == model->tokens &&
	       q->at[q->n - 1] == k->at[k->n - 1] &&
	       !memcmp(q->at, k->at, (q->n - 2) * sizeof *q->at);
}

/* Shown where the smaller number was given: the call stands in a library as a rule. */
static void report_groups(struct infer *infer, const struct model_call *call,
			  const struct dim *heads, const struct dim *groups)
{
	struct diag *diag =
		diag_add(infer->work->diags, E0213, groups->span.hi ? groups->span : call->span,
			 "`%s` (%llu) does not divide over `%s` (%llu)", heads->name->text,
			 (unsigned long long)heads->size, groups->name->text,
			 (unsigned long long)groups->size);

	infer->faulty = true;
	diag_at(diag, "each serves the same number of `%s`", heads->name->text);
	diag_label(diag, heads->span, "`%s`", heads->name->text);
	diag_label(diag, call->span, "both meet here");
	diag_note(diag, "valid values of `%s`: %s", groups->name->text,
		  num_divisors(infer->work->keep, heads->size, heads->size));
}

static bool infer_attend(struct infer *infer, const struct model_call *call,
			 const struct dims *const *x, struct dims *out)
{
	const struct model *model = infer->model;
	const struct dim *heads, *groups;

	*out = *x[0];
	if (!attend_fits(model, x[0], x[1]) || !same(x[1], x[2])) {
		struct diag *diag =
			fault(infer, call, "the tensors of `attend` do not fit together");

		diag_note(diag, "it takes q [.., tokens, H, D] and k, v [.., tokens, K, D]");
		diag_note(diag, "q has %s, k has %s, v has %s", text_of(infer, x[0]),
			  text_of(infer, x[1]), text_of(infer, x[2]));
		return false;
	}
	heads = &model->dims[x[0]->at[x[0]->n - 2]];
	groups = &model->dims[x[1]->at[x[1]->n - 2]];
	if (!heads->size || !groups->size || heads->size % groups->size == 0)
		return true;
	report_groups(infer, call, heads, groups);
	return false;
}

/* True if all of b stand in a, in order. */
static bool subsequence(const struct dims *a, const struct dims *b)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < a->n && at < b->n; i++)
		at += a->at[i] == b->at[at];
	return at == b->n;
}

static bool infer_binary(struct infer *infer, const struct model_call *call,
			 const struct dims *const *x, struct dims *out)
{
	const struct dims *a = x[0], *b = x[1];

	if (a->n < b->n) {
		a = x[1];
		b = x[0];
	}
	*out = *a;
	if (subsequence(a, b))
		return true;
	diag_note(fault(infer, call,
			arena_text(infer->work->keep,
				   "tensors with dims %s and %s cannot be combined",
				   text_of(infer, x[0]), text_of(infer, x[1]))),
		  "the dims of one stand, in order, in the other");
	return false;
}

static bool infer_same(struct infer *infer, const struct model_call *call,
		       const struct dims *const *x, struct dims *out)
{
	(void)infer;
	(void)call;
	*out = *x[0];
	return true;
}

static bool infer_cross_entropy(struct infer *infer, const struct model_call *call,
				const struct dims *const *x, struct dims *out)
{
	struct dims rows = *x[0];

	out->n = 0;
	rows.n -= rows.n > 0;
	if (x[0]->n && same(&rows, x[1]))
		return true;
	diag_note(fault(infer, call,
			arena_text(infer->work->keep,
				   "logits with dims %s do not fit targets with dims %s",
				   text_of(infer, x[0]), text_of(infer, x[1]))),
		  "the logits have the dims of the targets and one more, the vocabulary");
	return false;
}

typedef bool infer_rule(struct infer *infer, const struct model_call *call,
			const struct dims *const *x, struct dims *out);

static infer_rule *const rules[OPERATORS] = {
	[OPERATOR_lookup] = infer_lookup,
	[OPERATOR_linear] = infer_linear,
	[OPERATOR_layernorm] = infer_norm,
	[OPERATOR_rmsnorm] = infer_norm,
	[OPERATOR_rope] = infer_rope,
	[OPERATOR_attend] = infer_attend,
	[OPERATOR_gelu] = infer_same,
	[OPERATOR_gelu_erf] = infer_same,
	[OPERATOR_silu] = infer_same,
	[OPERATOR_relu] = infer_same,
	[OPERATOR_add] = infer_binary,
	[OPERATOR_sub] = infer_binary,
	[OPERATOR_mul] = infer_binary,
	[OPERATOR_dropout] = infer_same,
	[OPERATOR_cross_entropy] = infer_cross_entropy,
};

static void infer_call(struct infer *infer, const struct model_call *call)
{
	const struct dims *x[4] = {NULL};

	for (uint32_t i = 0; i < call->noperands; i++) {
		if (!infer->known[call->operands[i]])
			return;
		x[i] = &infer->dims[call->operands[i]];
	}
	infer->known[call->result] = rules[call->op](infer, call, x, &infer->dims[call->result]);
}

static void check_carried(struct infer *infer)
{
	const struct model *model = infer->model;
	uint32_t in = model->carried_in, out = model->carried_out;

	if (in == NO_ID || out == NO_ID || !infer->known[in] || !infer->known[out] ||
	    same(&infer->dims[in], &infer->dims[out]))
		return;
	for (uint32_t i = 0; i < model->ncalls; i++)
		if (model->calls[i].result == out)
			fault(infer, &model->calls[i],
			      arena_text(infer->work->keep,
					 "the repeated block takes dims %s and gives %s",
					 text_of(infer, &infer->dims[in]),
					 text_of(infer, &infer->dims[out])));
}

bool model_infer(const struct model *model, struct dims *value_dims, struct work *work)
{
	struct infer infer = {.model = model, .dims = value_dims, .work = work};

	infer.known = ARENA_ARRAY(work->keep, bool, model->nvalues);
	for (uint32_t i = 0; i < GIVENS; i++) {
		infer.known[i] = true;
		value_dims[i] = (struct dims){.n = 2, .at = {model->batch, model->tokens}};
	}
	value_dims[GIVEN_POSITION] = (struct dims){.n = 1, .at = {model->tokens}};
	for (uint32_t i = 0; i < model->ncalls; i++)
		infer_call(&infer, &model->calls[i]);
	check_carried(&infer);
	return !infer.faulty;
}
