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

bool rule_emitted(const struct plan *plan, struct work *work)
{
	if (plan->poisoned || work->diags->errors > work->errors_before)
		return true;
	note_features(plan, work);
	note_calls(plan, work);
	return true;
}
