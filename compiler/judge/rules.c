/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/rules.h"

#include <string.h>

#include "base/bug.h"

enum rule_id {
	RULE_none,
#define RULE(code, name, level, fn, needs) RULE_##name,
#include "judge/rules.def"
#undef RULE
	RULES
};

struct rule {
	enum diag_code code;
	enum diag_level level;
	bool (*holds)(const struct verdict *verdict, struct work *work);
	enum rule_id needs;
};

static const struct rule rules[RULES] = {
#define RULE(code, name, level, fn, needs) [RULE_##name] = {code, level, fn, RULE_##needs},
#include "judge/rules.def"
#undef RULE
};

void rules_run(const struct verdict *verdict, struct work *work)
{
	bool failed[RULES] = {false};

	for (int i = RULE_none + 1; i < RULES; i++) {
		BUG_IF(diag_row(rules[i].code)->level != rules[i].level, "level of judge rule %d",
		       i);
		failed[i] = failed[rules[i].needs] || !rules[i].holds(verdict, work);
	}
}

const char *rules_device(const struct plan *plan)
{
	return plan->device.sm.i > 0 ? "GPU" : "device";
}

const char *rules_where(const struct plan *plan)
{
	bool gpu = plan->device.sm.i > 0;

	if (plan->devices > 1)
		return gpu ? "on each GPU" : "on each device";
	return gpu ? "on the GPU" : "on the device";
}

const char *rules_article(const char *word)
{
	return *word && strchr("aeiouAEIOU", *word) ? "an" : "a";
}
