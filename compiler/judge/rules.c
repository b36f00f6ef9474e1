/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/rules.h"

#include <string.h>

#define NEED(name) (1u << RULE_##name)

enum rule_id {
#define RULE(name, code, needs) RULE_##name,
#include "judge/rules.def"
#undef RULE
	RULES
};

struct rule {
	uint32_t needs; /* bits of rule_id */
	bool (*holds)(const struct verdict *verdict, struct work *work);
};

static const struct rule rules[RULES] = {
#define RULE(name, code, needs) {needs, rule_##name},
#include "judge/rules.def"
#undef RULE
};

void rules_run(const struct verdict *verdict, struct work *work)
{
	uint32_t failed = 0;

	for (int i = 0; i < RULES; i++)
		if ((rules[i].needs & failed) || !rules[i].holds(verdict, work))
			failed |= 1u << i;
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
