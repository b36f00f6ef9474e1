/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of plan_rules.def, and what they share. A rule looks at known values only: what is
 * poisoned or unset was reported already. */
#ifndef PLAN_PLAN_RULES_H
#define PLAN_PLAN_RULES_H

#include "plan/plan.h"

enum rule_id {
#define RULE(name, code, needs) RULE_##name,
#include "plan/rules/plan_rules.def"
#undef RULE
	RULES
};

struct rule_row {
	const char *name;
	enum diag_code code;
	uint64_t needs;						 /* bits of rule_id */
	bool (*run)(const struct plan *plan, struct work *work); /* true: it holds */
};
const struct rule_row *rule_row(enum rule_id id);

#define RULE(name, code, needs) bool rule_##name(const struct plan *plan, struct work *work);
#include "plan/rules/plan_rules.def"
#undef RULE

/* True if a value was given or worked out, without a fault. */
bool value_known(const struct value *value);
/* The model if it resolved without a fault, or NULL. */
const struct model *rule_model(const struct plan *plan);
const char *strategy_word(enum strategy_kind kind);
/* "`dp`" or "`dp` * `pp`" */
char *strategy_axes(const struct plan *plan, const struct strategy *strategy, struct arena *arena);
/* Labels the sizes of a strategy's axes: "8 ranks". */
void label_axes(struct diag *diag, const struct plan *plan, const struct strategy *strategy);
/* Ranks that cut a dim under `tensor`: copies of replicated heads are one. 1 if it is not cut. */
int64_t tensor_cut(const struct plan *plan, uint32_t dim);
/* Notes on operator calls that cannot be emitted yet. rule_emitted_calls.c */
void note_calls(const struct plan *plan, struct work *work);

#endif
