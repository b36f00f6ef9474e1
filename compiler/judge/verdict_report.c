/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict as one line, as JSON, as a dump. */
#include "judge/table_lines.h"
#include "judge/rules.h"

#include <string.h>

#include "base/num.h"

/* "62.0 of 79.6 GiB", or "35.1 MiB of 1.0 GiB" where the units differ. */
static const char *memory_text(const struct verdict *verdict, struct arena *arena)
{
	char *peak = num_bytes(arena, verdict->peak, 1);
	const char *capacity = num_bytes(arena, verdict->capacity, 1);
	char *unit = strchr(peak, ' ');

	if (!strcmp(unit, strchr(capacity, ' ')))
		*unit = '\0';
	return arena_text(arena, "%s of %s", peak, capacity);
}

/* To the nearest whole number. */
static unsigned long long percent(uint64_t part, uint64_t whole)
{
	if (!whole)
		return 0;
	return (unsigned long long)(((unsigned __int128)part * 200 + whole) / 2 / whole);
}

char *verdict_summary(const struct verdict *verdict, struct arena *arena)
{
	const struct plan *plan = verdict->plan;
	unsigned long long micro = plan->micro_batches > 0 ? (uint64_t)plan->micro_batches : 1;
	uint64_t tokens = plan->train.seq_len.i > 0 ? (uint64_t)plan->train.seq_len.i : 1;
	uint64_t ranks = plan->data_ranks > 0 ? (uint64_t)plan->data_ranks : 1;

	return arena_text(
		arena,
		"%s: ok, %lld %s%s, %s (%llu %%), %llu micro-batch%s of %llu seq%s, "
		"%s tokens a step",
		plan->source->path, (long long)plan->devices, rules_device(plan),
		plan->devices == 1 ? "" : "s", memory_text(verdict, arena),
		percent(verdict->peak, verdict->capacity), micro, micro == 1 ? "" : "es",
		(unsigned long long)(verdict->tokens_per_step / tokens / micro / ranks),
		ranks == 1 ? "" : " a rank",
		num_grouped(arena, verdict->tokens_per_step));
}

/* Numbers of the summary by the names they have in JSON. */
struct figure {
	const char *name;
	uint64_t value;
};

enum { FIGURES = 9 };

static void figures(const struct verdict *verdict, struct figure out[FIGURES])
{
	const struct figure all[FIGURES] = {
		{"params", verdict->params},
		{"devices", (uint64_t)verdict->plan->devices},
		{"arena_bytes", verdict->arena},
		{"outside_bytes", verdict->outside},
		{"reserve_bytes", verdict->reserve},
		{"peak_bytes", verdict->peak},
		{"capacity_bytes", verdict->capacity},
		{"limit_bytes", verdict->limit},
		{"tokens_per_step", verdict->tokens_per_step},
	};

	memcpy(out, all, sizeof all);
}

static void add_item(struct text *out, const char *name, uint64_t bytes, bool last)
{
	text_add(out, "{\"name\": ");
	text_json(out, name);
	text_add(out, ", \"bytes\": %llu}%s", (unsigned long long)bytes, last ? "" : ", ");
}

void verdict_members(const struct verdict *verdict, struct text *out)
{
	struct figure all[FIGURES];

	figures(verdict, all);
	for (int i = 0; i < FIGURES; i++)
		text_add(out, "\"%s\": %llu, ", all[i].name, (unsigned long long)all[i].value);
	text_add(out, "\"bubble\": %s, \"items\": [", num_double(out->arena, verdict->bubble));
	for (int i = 0; i < ITEMS; i++)
		add_item(out, lines_item(i), verdict->at.items[i], false);
	add_item(out, "gaps", verdict->at.gaps, true);
	text_add(out, "]");
}

void verdict_json(const struct verdict *verdict, struct text *out)
{
	text_add(out, "{");
	verdict_members(verdict, out);
	text_add(out, "}");
}

void verdict_print(const struct verdict *verdict, const struct work *work, struct text *out)
{
	const struct program *program = verdict->layout->program;
	struct figure all[FIGURES];

	figures(verdict, all);
	for (int i = 0; i < FIGURES; i++)
		text_add(out, "%s %llu\n", all[i].name, (unsigned long long)all[i].value);
	text_add(out, "bubble %s\n", num_double(work->scratch, verdict->bubble));
	text_add(out, "role %s", program->roles[verdict->role].name->text);
	if (verdict->at.segment != NO_ID)
		text_add(out, ", %s step %u", program->segments[verdict->at.segment].name->text,
			 verdict->at.step);
	text_add(out, "\n");
	for (uint32_t i = 0; i < verdict->nlines; i++) {
		const struct verdict_line *line = &verdict->lines[i];

		text_add(out, "%s%s %llu", line->depth ? "  " : "", line->name,
			 (unsigned long long)line->bytes);
		text_add(out, "%s%s\n", *line->detail ? "  " : "", line->detail);
	}
}
