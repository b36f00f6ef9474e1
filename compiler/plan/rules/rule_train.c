/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on what is computed and measured: types that the device has, samples that are held out. */
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
