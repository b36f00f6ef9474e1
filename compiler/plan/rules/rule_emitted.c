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
