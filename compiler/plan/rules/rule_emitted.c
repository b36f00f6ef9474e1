/* SPDX-License-Identifier: Apache-2.0 */
/* What this version checks but cannot emit yet: a note each; to emit makes errors of them. */
#include "plan/combinations.h"
#include "plan/rules/plan_rules.h"

static void note(struct work *work, struct span span, const char *what)
{
	diag_add(work->diags, N0901, span, "this version cannot emit %s yet", what);
}

/* Rows LATER of the table of combinations: features alone, and pairs. */
static void note_features(const struct plan *plan, struct work *work)
{
	for (enum feature a = 0; a < FEATURES; a++)
		for (enum feature b = 0; b <= a; b++) {
			struct combination is = combination_of(a, b);
			struct span where, beside;

			if (is.answer == ANSWER_LATER && feature_in(plan, b, &beside) &&
			    feature_in(plan, a, &where))
				note(work, where, is.why);
		}
}

/* One type throughout, or bf16 with gradients in either and an fp32 master copy. */
static const struct recipe {
	const char *compute, *params, *gradients, *optimizer, *loss;
} recipes[] = {
	{"fp64", "fp64", "fp64", "fp64", "fp64"},
	{"fp32", "fp32", "fp32", "fp32", "fp32"},
	{"bf16", "bf16", "fp32", "fp32", "fp32"},
	{"bf16", "bf16", "bf16", "fp32", "fp32"},
};

static bool is_recipe(const struct plan_precision *p, const struct recipe *r)
{
	return name_is(p->compute.word, r->compute) && name_is(p->params.word, r->params) &&
	       name_is(p->gradients.word, r->gradients) &&
	       name_is(p->optimizer.word, r->optimizer) && name_is(p->loss.word, r->loss);
}

static bool same_wire(const struct value *wire, const struct value *carried)
{
	return wire->origin == ORIGIN_UNSET || wire->word == carried->word;
}

bool plan_types_emitted(const struct plan *plan)
{
	const struct plan_precision *p = &plan->precision;
	bool found = false;

	for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
		found |= is_recipe(p, &recipes[i]);
	return found && same_wire(&p->gradient_wire, &p->gradients) &&
	       same_wire(&p->partial_wire, &p->compute);
}

/* A list of types that no row of the table of combinations names. */
static void note_precision(const struct plan *plan, struct work *work)
{
	const struct plan_precision *p = &plan->precision;

	if (value_known(&p->compute) && value_known(&p->params) && value_known(&p->gradients) &&
	    value_known(&p->optimizer) && value_known(&p->loss) && !plan_types_emitted(plan))
		note(work, plan->precision_span, "these element types together");
}

bool rule_emitted(const struct plan *plan, struct work *work)
{
	if (plan->poisoned || work->diags->errors > work->errors_before)
		return true;
	note_features(plan, work);
	note_precision(plan, work);
	note_calls(plan, work);
	return true;
}
