/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/rules.h"

#include <string.h>

#include "base/num.h"

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

/* Axes stand outermost first, the last one numbered fastest. */
bool rules_crosses(const struct plan *plan, uint32_t axis)
{
	struct num reach = num_from(1);
	uint64_t in_node = (uint64_t)plan->cluster.devices.i;

	for (uint32_t i = axis; i < plan->naxes; i++)
		reach = num_times(reach, (uint64_t)plan->axes[i].size);
	return plan->cluster.nodes.i > 1 &&
	       (reach.overflow || reach.value > in_node || in_node % reach.value != 0);
}

double rules_rate(const struct plan *plan, uint32_t axis)
{
	bool crosses = rules_crosses(plan, axis);
	const struct plan_link *link = crosses ? &plan->cluster_link : &plan->node_link;
	const char *name = crosses ? plan->cluster_link_name : plan->node_link_name;

	if (!name || link->bandwidth.poisoned)
		return 0;
	if (!crosses)
		return link->bandwidth.f;
	return link->bandwidth.f * (double)link->rails.i / (double)plan->cluster.devices.i;
}

const char *rules_time(double seconds, struct arena *arena)
{
	if (seconds >= 1)
		return arena_text(arena, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
	if (seconds >= 1e-3)
		return arena_text(arena, "%.1f ms", seconds * 1e3);
	return arena_text(arena, "%.1f us", seconds * 1e6);
}
