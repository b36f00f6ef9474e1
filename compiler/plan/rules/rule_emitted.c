/* SPDX-License-Identifier: Apache-2.0 */
/* What this version checks but cannot emit yet: a note each; to emit makes errors of them. */
#include "plan/rules/plan_rules.h"

static const enum strategy_kind not_emitted[] = {
	STRATEGY_CONTEXT, STRATEGY_EXPERT,
};

static void note(struct work *work, struct span span, const char *what)
{
	diag_add(work->diags, N0901, span, "this version cannot emit %s yet", what);
}

static void note_strategies(const struct plan *plan, struct work *work)
{
	for (uint32_t i = 0; i < plan->nstrategies; i++) {
		const struct strategy *strategy = &plan->strategies[i];

		for (size_t k = 0; k < sizeof not_emitted / sizeof *not_emitted; k++)
			if (strategy->kind == not_emitted[k] && plan_ranks(plan, strategy) > 1)
				note(work, strategy->span,
				     arena_text(work->keep, "`%s`", strategy_word(strategy->kind)));
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

static void note_precision(const struct plan *plan, struct work *work)
{
	const struct plan_precision *p = &plan->precision;

	if (value_known(&p->compute) && value_known(&p->params) && value_known(&p->gradients) &&
	    value_known(&p->optimizer) && value_known(&p->loss) && !plan_types_emitted(plan))
		note(work, plan->precision_span, "these element types together");
}

/* A setting with a word that is not emitted. */
static void note_word(struct work *work, const struct value *value, const char *word,
		      const char *what)
{
	if (value_known(value) && name_is(value->word, word))
		note(work, value->span, what);
}

bool rule_emitted(const struct plan *plan, struct work *work)
{
	if (plan->poisoned || work->diags->errors > work->errors_before)
		return true;
	note_strategies(plan, work);
	note_precision(plan, work);
	note_calls(plan, work);
	note_word(work, &plan->train.kernels, "generated", "generated kernels");
	if (plan->has_checkpoint)
		note(work, plan->checkpoint.every.span, "checkpoints");
	if (value_known(&plan->device.cores) && plan->device.cores.i == 0)
		note(work, plan->device_span, "programs for GPUs");
	return true;
}
