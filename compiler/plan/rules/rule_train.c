/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on what is computed and measured: types that the device has, ranges, samples held out. */
#include "plan/rules/plan_rules.h"

/* bf16 arithmetic exists from compute capability 8.0 on. */
bool rule_device_type(const struct plan *plan, struct work *work)
{
	enum { SM_BF16 = 80 };
	const struct value *compute = &plan->precision.compute, *sm = &plan->device.sm;
	struct diag *diag;

	if (!value_known(compute) || !name_is(compute->word, "bf16") || !value_known(sm) ||
	    sm->i == 0 || sm->i >= SM_BF16)
		return true;
	diag = diag_add(work->diags, E0326, compute->span, "the device cannot compute in bf16");
	diag_label(diag, plan->device_span, "compute capability %lld.%lld",
		   (long long)(sm->i / 10), (long long)(sm->i % 10));
	diag_note(diag, "bf16 arithmetic needs compute capability %d.%d, `sm = %d`", SM_BF16 / 10,
		  SM_BF16 % 10, SM_BF16);
	return false;
}

/* A bf16 number has 8 significant bits: rounded to the nearest, a weight keeps its value under any
 * update of less than half its last bit, which is 2^-9 of the weight at least. */
bool rule_updates_lost(const struct plan *plan, struct work *work)
{
	const struct plan_precision *precision = &plan->precision;
	const struct value *optimizer = &precision->optimizer, *params = &precision->params;
	struct diag *diag;

	if (!value_known(optimizer) || !name_is(optimizer->word, "bf16") || !value_known(params) ||
	    !value_known(&precision->stochastic_rounding) || precision->stochastic_rounding.i)
		return true;
	diag = diag_add(work->diags, W0508, optimizer->span,
			"weights are updated in bf16 without stochastic rounding");
	diag_at(diag, "an update under 1/512 of its weight is lost");
	diag_note(diag, "`optimizer = fp32` keeps a copy of the weights in fp32");
	if (name_is(params->word, "bf16"))
		diag_note(diag, "`stochastic_rounding = true` keeps the mean without a copy");
	return false;
}

/* E0115 at a number that is not above 0. */
static struct diag *not_positive(const struct value *value, const char *name, struct work *work)
{
	struct diag *diag = diag_add(work->diags, E0115, value->span, "`%s` cannot be `%s`", name,
				     value_text(value, work->keep));

	diag_at(diag, "has to be above 0");
	return diag;
}

/* The largest norm of the gradients: of zero they would all be zero. */
bool rule_clip(const struct plan *plan, struct work *work)
{
	const struct value *clip = &plan->train.clip;

	if (!value_known(clip) || clip->f > 0)
		return true;
	diag_note(not_positive(clip, "clip", work), "without `clip` gradients are not clipped");
	return false;
}

/* A weight that has had no gradient yet is updated by 0 / (0 + eps). */
bool rule_eps(const struct plan *plan, struct work *work)
{
	const struct value *eps = &plan->optimizer.eps;

	if (!value_known(eps) || eps->f > 0)
		return true;
	diag_note(not_positive(eps, "eps", work),
		  "the update of a weight without a gradient would be 0 / 0");
	return false;
}

/* Something is held out, and something is left. */
bool rule_held_out_share(const struct plan *plan, struct work *work)
{
	const struct value *share = &plan->validate.share;

	if (!value_known(share) || (share->f > 0 && share->f < 1))
		return true;
	diag_at(diag_add(work->diags, E0115, share->span, "`share` cannot be `%s`",
			 value_text(share, work->keep)),
		"%s", share->f > 0 ? "nothing is left to train on" : "nothing is held out");
	return false;
}

/* The program hands its seed to kernels as a double. */
bool rule_seed(const struct plan *plan, struct work *work)
{
	const int64_t largest = (INT64_C(1) << 53) - 1;
	const struct value *seed = &plan->train.seed;

	if (!value_known(seed) || seed->i <= largest)
		return true;
	diag_at(diag_add(work->diags, E0115, seed->span, "`seed` cannot be `%lld`",
			 (long long)seed->i),
		"the largest value is `%lld`", (long long)largest);
	return false;
}

enum { BYTES = 256 }; /* kinds of tokens of `bytes` */

/* The dim that has a place for each kind of token: of the logits, or of a table of tokens or
 * targets. NO_ID: the call has none. Rows by position are rule_context's. */
static uint32_t kinds_of(const struct model *model, const struct model_call *call)
{
	if (call->op == OPERATOR_cross_entropy)
		return model->vocab;
	if (call->op == OPERATOR_lookup && call->operands[0] != GIVEN_POSITION)
		return call->from.at[0];
	return NO_ID;
}

static void report_bytes(const struct dim *kinds, const struct value *kind, struct work *work)
{
	struct diag *diag = diag_add(work->diags, W0511, kinds->span.hi ? kinds->span : kind->span,
				     "`%s` is %llu, and `data` may hold tokens up to %d",
				     kinds->name->text, (unsigned long long)kinds->size, BYTES - 1);

	diag_at(diag, "all bytes need %d", BYTES);
	diag_label(diag, kind->span, "each byte is a token");
	diag_note(diag, "the program stops at a byte of %llu or more",
		  (unsigned long long)kinds->size);
}

/* A token of `bytes` is any byte. Files of the first bytes alone can be trained, so no error. The
 * smallest dim is enough: what is said of it holds for all. */
bool rule_vocab_bytes(const struct plan *plan, struct work *work)
{
	const struct model *model = rule_model(plan);
	const struct value *kind = &plan->train.data_kind;
	const struct dim *least = NULL;

	if (!model || !value_known(kind) || !name_is(kind->word, "bytes"))
		return true;
	for (uint32_t i = 0; i < model->ncalls; i++) {
		uint32_t dim = kinds_of(model, &model->calls[i]);

		if (dim != NO_ID && (!least || model->dims[dim].size < least->size))
			least = &model->dims[dim];
	}
	if (!least || least->size >= BYTES)
		return true;
	report_bytes(least, kind, work);
	return false;
}

/* Samples that are held out come from one place: the end of the data, or files of their own. */
bool rule_held_out(const struct plan *plan, struct work *work)
{
	const struct plan_validate *validate = &plan->validate;
	bool share = validate->share.origin != ORIGIN_UNSET;
	bool data = validate->data.origin != ORIGIN_UNSET;

	if (!value_known(&validate->every) || share != data)
		return true;
	if (share)
		diag_label(diag_add(work->diags, E0202, validate->data.span,
				    "`validate` says twice what is held out"),
			   validate->share.span, "a share of `train.data`");
	else
		diag_note(diag_add(work->diags, E0206, validate->every.span,
				   "`validate` does not say what is held out"),
			  "`share` holds out the end of `train.data`, `data` names files of its "
			  "own");
	return false;
}
