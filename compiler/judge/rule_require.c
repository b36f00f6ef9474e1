/* SPDX-License-Identifier: Apache-2.0 */
/* E0402: `require` lines, compared exactly. */
#include "judge/rules.h"

#include <string.h>

#include "base/bug.h"
#include "plan/ratio.h"

enum { MOST_DIGITS = 6 };

struct demand {
	const struct verdict *verdict;
	const struct require *require;
	struct work *work;
};

static struct ratio whole(uint64_t value)
{
	return (struct ratio){value, 1};
}

/* value / by; a quotient that leaves 128 bits cannot come from 64-bit numbers. */
static struct ratio over(uint64_t value, uint64_t by)
{
	struct ratio out;

	BUG_IF(!by || !ratio_div(whole(value), whole(by), &out), "a quotient of sizes");
	return out;
}

static uint64_t chunks_of(const struct plan *plan)
{
	return plan->pipeline.chunks.i > 0 ? (uint64_t)plan->pipeline.chunks.i : 1;
}

static struct ratio bubble_of(const struct plan *plan)
{
	uint64_t micro_batches = plan->micro_batches > 0 ? (uint64_t)plan->micro_batches : 1;

	if (plan->stages < 2)
		return whole(0);
	return over((uint64_t)plan->stages - 1, chunks_of(plan) * micro_batches);
}

static bool as_share(const struct demand *demand)
{
	return demand->require->limit.type == TYPE_SHARE;
}

/* The quantity in the unit of the limit. */
static struct ratio value_of_quantity(const struct demand *demand)
{
	const struct verdict *verdict = demand->verdict;
	const struct plan *plan = verdict->plan;

	switch (demand->require->quantity) {
	case QUANTITY_PEAK_MEMORY:
		return as_share(demand) ? over(verdict->peak, verdict->capacity)
					: whole(verdict->peak);
	case QUANTITY_ARENA:
		return as_share(demand) ? over(verdict->arena, verdict->capacity)
					: whole(verdict->arena);
	case QUANTITY_BUBBLE:
		return bubble_of(plan);
	case QUANTITY_TOKENS_PER_STEP:
		return whole(verdict->tokens_per_step);
	case QUANTITY_PARAMS:
		return whole(verdict->params);
	case QUANTITY_DEVICES:
		return whole((uint64_t)plan->devices);
	case QUANTITY_MICRO_BATCHES:
		return whole((uint64_t)plan->micro_batches);
	default:
		BUG("quantity %d has no number", (int)demand->require->quantity);
	}
}

static bool holds(enum binary op, int order)
{
	switch (op) {
	case BINARY_EQ:
		return order == 0;
	case BINARY_NE:
		return order != 0;
	case BINARY_LE:
		return order <= 0;
	case BINARY_GE:
		return order >= 0;
	case BINARY_LT:
		return order < 0;
	case BINARY_GT:
		return order > 0;
	default:
		BUG("operator %d is no comparison", (int)op);
	}
}

/* "7.8 %" with `digits` decimals, rounded to the nearest. */
static const char *percent(struct ratio share, int digits, struct arena *arena)
{
	__int128 power = 1, scaled;

	for (int i = 0; i < digits; i++)
		power *= 10;
	scaled = (share.top * 200 * power + share.bottom) / 2 / share.bottom;
	return arena_text(arena, "%lld.%0*lld %%", (long long)(scaled / power), digits,
			  (long long)(scaled % power));
}

static const char *number_text(const struct demand *demand, struct ratio value, int digits)
{
	struct arena *arena = demand->work->scratch;

	if (as_share(demand))
		return percent(value, digits, arena);
	if (demand->require->limit.type == TYPE_BYTES)
		return num_bytes(arena, (uint64_t)value.top, digits);
	return num_grouped(arena, (uint64_t)value.top);
}

/* With as many decimals as it takes to tell it from the limit. */
static const char *told_apart(const struct demand *demand, struct ratio value)
{
	const struct ratio limit = demand->require->limit.exact;
	const char *text;
	int digits = 1;

	do
		text = number_text(demand, value, digits);
	while (limit.bottom > 0 && limit.top >= 0 &&
	       !strcmp(text, number_text(demand, limit, digits)) && ++digits <= MOST_DIGITS);
	return text;
}

/* The condition as written, blanks and line ends made one blank each. */
static const char *condition(const struct demand *demand)
{
	char *text = arena_text(demand->work->scratch, "%s", demand->require->text), *to = text;

	for (const char *from = text; *from; from++) {
		bool blank = strchr(" \t\r\n", *from) != NULL;

		if (!blank)
			*to++ = *from;
		else if (to != text && to[-1] != ' ')
			*to++ = ' ';
	}
	*to = '\0';
	return text;
}

static struct diag *add(const struct demand *demand, const char *says, const char *text)
{
	struct diag *diag =
		diag_add(demand->work->diags, E0402, demand->require->span,
			 "`require %s` is not met: %s %s", condition(demand), says, text);

	diag_at(diag, "%s", text);
	return diag;
}

static void explain_bubble(struct diag *diag, const struct plan *plan)
{
	long long idle = (long long)plan->stages - 1, micro = (long long)plan->micro_batches;

	if (plan->stages < 2)
		return;
	diag_label(diag, plan->pipeline.schedule.span, "%lld idle slot%s for %lld micro-batches",
		   idle, idle == 1 ? "" : "s", micro);
	diag_note(diag, "bubble = (stages - 1) / (chunks * micro-batches) = %lld / (%llu * %lld)",
		  idle, (unsigned long long)chunks_of(plan), micro);
}

static void explain_memory(struct diag *diag, const struct demand *demand)
{
	const struct verdict *verdict = demand->verdict;
	struct arena *arena = demand->work->scratch;

	diag_label(diag, verdict->plan->device_span, "%s MiB = %s",
		   num_grouped(arena, verdict->capacity >> 20),
		   num_gib(arena, verdict->capacity, 1));
	if (demand->require->quantity == QUANTITY_PEAK_MEMORY)
		diag_note(diag, "peak_memory = arena + outside + reserve = %s + %s + %s",
			  num_bytes(arena, verdict->arena, 2),
			  num_bytes(arena, verdict->outside, 2),
			  num_bytes(arena, verdict->reserve, 2));
}

static void explain(struct diag *diag, const struct demand *demand)
{
	switch (demand->require->quantity) {
	case QUANTITY_BUBBLE:
		explain_bubble(diag, demand->verdict->plan);
		break;
	case QUANTITY_PEAK_MEMORY:
	case QUANTITY_ARENA:
		explain_memory(diag, demand);
		break;
	default:
		break;
	}
	if (demand->require->reason)
		diag_note(diag, "%s", demand->require->reason);
}

static bool number_holds(const struct demand *demand)
{
	static const char *const says[QUANTITIES] = {
		[QUANTITY_PEAK_MEMORY] = "the peak is",
		[QUANTITY_ARENA] = "the arena takes",
		[QUANTITY_BUBBLE] = "the bubble is",
		[QUANTITY_TOKENS_PER_STEP] = "the tokens of a step are",
		[QUANTITY_PARAMS] = "the number of weights is",
		[QUANTITY_DEVICES] = "the number of devices is",
		[QUANTITY_MICRO_BATCHES] = "the number of micro-batches is",
	};
	const struct require *require = demand->require;
	struct ratio value = value_of_quantity(demand);

	if (holds(require->op, ratio_compare(value, require->limit.exact)))
		return true;
	explain(add(demand, says[require->quantity], told_apart(demand, value)), demand);
	return false;
}

/* The link of an axis: that of a node if ranks along the axis share one. */
static const char *link_of(const struct plan *plan, uint32_t axis)
{
	const char *name =
		rules_crosses(plan, axis) ? plan->cluster_link_name : plan->node_link_name;

	return name ? name : "no link";
}

/* Names of links are compared without their library: `links.nvlink3` is `nvlink3`. */
static const char *own_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

static bool link_holds(const struct demand *demand)
{
	const struct require *require = demand->require;
	const struct plan *plan = demand->verdict->plan;
	const char *link = link_of(plan, require->axis);
	const char *limit = require->limit.word ? require->limit.word->text : "";
	struct diag *diag;

	if (holds(require->op, strcmp(own_name(link), own_name(limit)) != 0))
		return true;
	diag = add(demand,
		   arena_text(demand->work->scratch, "axis `%s` runs over",
			      plan->axes[require->axis].name->text),
		   link);
	diag_label(diag, plan->axes[require->axis].span, "%lld ranks, a node has %lld %ss",
		   (long long)plan->axes[require->axis].size, (long long)plan->cluster.devices.i,
		   rules_device(plan));
	explain(diag, demand);
	return false;
}

static bool of_memory(const struct require *require)
{
	return require->quantity == QUANTITY_PEAK_MEMORY || require->quantity == QUANTITY_ARENA;
}

static bool check(const struct verdict *verdict, struct work *work, bool memory)
{
	bool all = true;

	for (uint32_t i = 0; i < verdict->plan->nrequires; i++) {
		const struct require *require = &verdict->plan->requires[i];
		struct demand demand = {verdict, require, work};

		if (require->limit.poisoned || of_memory(require) != memory)
			continue;
		if (require->quantity == QUANTITY_AXIS_LINK)
			all &= link_holds(&demand);
		else
			all &= number_holds(&demand);
	}
	return all;
}

bool rule_require_memory(const struct verdict *verdict, struct work *work)
{
	return check(verdict, work, true);
}

bool rule_require(const struct verdict *verdict, struct work *work)
{
	return check(verdict, work, false);
}
