/* SPDX-License-Identifier: Apache-2.0 */
/* What this version checks but cannot emit yet: a note each; to emit makes errors of them. */
#include "plan/rules/plan_rules.h"

static const enum strategy_kind not_emitted[] = {
	STRATEGY_ZERO, STRATEGY_PIPELINE, STRATEGY_CONTEXT, STRATEGY_EXPERT,
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
			if (strategy->kind == not_emitted[k] && plan_ranks(plan, strategy) > 1 &&
			    (strategy->kind != STRATEGY_ZERO || strategy->stage > 1))
				note(work, strategy->span,
				     arena_text(work->keep, "`%s`", strategy_word(strategy->kind)));
	}
}

/* One type throughout, fp32 or fp64, is emitted. */
static void note_precision(const struct plan *plan, struct work *work)
{
	const struct plan_precision *p = &plan->precision;
	const struct value *types[] = {
		&p->compute,	  &p->params,	 &p->gradients, &p->gradient_wire,
		&p->partial_wire, &p->optimizer, &p->loss,
	};
	bool bf16 = false, mixed = false;

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (!value_known(types[i]))
			continue;
		bf16 |= name_is(types[i]->word, "bf16");
		mixed |= types[i]->word != p->compute.word;
	}
	if (bf16 || mixed)
		note(work, plan->precision_span, bf16 ? "bf16" : "several types in one program");
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
	for (uint32_t i = 0; i < plan->nrecompute; i++)
		if (plan->recompute[i].kind != RECOMPUTE_NONE)
			note(work, plan->recompute[i].span, "`recompute`");
	note_word(work, &plan->memory.attention, "stored", "stored attention");
	note_word(work, &plan->train.kernels, "generated", "generated kernels");
	if (plan->has_checkpoint)
		note(work, plan->checkpoint.every.span, "checkpoints");
	if (value_known(&plan->device.cores) && plan->device.cores.i == 0)
		note(work, plan->device_span, "programs for GPUs");
	return true;
}
