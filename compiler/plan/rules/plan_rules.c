/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the rules in order; what they share. */
#include "plan/rules/plan_rules.h"

#define NEED(name) (UINT64_C(1) << RULE_##name)

static const struct rule_row rows[RULES] = {
#define RULE(name, code, needs) {#name, code, needs, rule_##name},
#include "plan/rules/plan_rules.def"
#undef RULE
};

static const char *const strategy_words[STRATEGIES] = {
	[STRATEGY_DATA] = "data",	  [STRATEGY_ZERO] = "zero",
	[STRATEGY_TENSOR] = "tensor",	  [STRATEGY_SEQUENCE] = "sequence",
	[STRATEGY_PIPELINE] = "pipeline", [STRATEGY_CONTEXT] = "context",
	[STRATEGY_EXPERT] = "expert",
};

const struct rule_row *rule_row(enum rule_id id)
{
	return &rows[id];
}

bool value_known(const struct value *value)
{
	return !value->poisoned && value->origin != ORIGIN_UNSET;
}

const struct model *rule_model(const struct plan *plan)
{
	return plan->model && plan->model->complete ? plan->model : NULL;
}

const char *strategy_word(enum strategy_kind kind)
{
	return strategy_words[kind];
}

char *strategy_axes(const struct plan *plan, const struct strategy *strategy, struct arena *arena)
{
	char *text = arena_text(arena, "%s", "");

	for (uint32_t i = 0; i < strategy->naxes; i++)
		text = arena_text(arena, "%s%s`%s`", text, i ? " * " : "",
				  plan->axes[strategy->axes[i]].name->text);
	return text;
}

void label_axes(struct diag *diag, const struct plan *plan, const struct strategy *strategy)
{
	for (uint32_t i = 0; strategy && i < strategy->naxes; i++) {
		const struct axis *axis = &plan->axes[strategy->axes[i]];

		diag_label(diag, axis->size_span, "%lld rank%s", (long long)axis->size,
			   axis->size == 1 ? "" : "s");
	}
}

int64_t tensor_cut(const struct plan *plan, uint32_t dim)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	int64_t ranks = plan_ranks(plan, tensor);

	if (!tensor || !dims_have(&tensor->dims, dim))
		return 1;
	if (tensor->replicate_dim == dim && tensor->replicate > 1 && ranks % tensor->replicate == 0)
		return ranks / tensor->replicate;
	return ranks;
}

bool plan_check(const struct plan *plan, struct work *work)
{
	uint32_t errors = work->diags->errors;
	uint64_t held = 0;

	for (uint32_t i = 0; i < RULES; i++)
		if ((rows[i].needs & ~held) == 0 && rows[i].run(plan, work))
			held |= UINT64_C(1) << i;
	return work->diags->errors == errors;
}
