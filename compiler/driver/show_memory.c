/* SPDX-License-Identifier: Apache-2.0 */
/* planc show memory: the table of the heaviest rank; with --all-ranks that of each class of ranks
 * (a stage of the pipeline: its ranks hold the same bytes), and the fullest instant of each phase.
 */
#include "driver/show.h"

#include "base/num.h"
#include "driver/columns.h"
#include "judge/table_lines.h"

static const char *const phase_names[PHASES] = {"init", "forward", "backward", "update"};

static const struct home *home_of(const struct verdict *verdict)
{
	return &verdict->layout->homes[verdict->role];
}

/* "`layer_backward` step 3 of 9" */
static const char *instant(const struct show *show, const struct verdict *verdict,
			   const struct peak *peak)
{
	const struct segment *segment;

	if (peak->segment == NO_ID)
		return "-";
	segment = &verdict->layout->program->segments[peak->segment];
	return arena_text(show->arena, "%s step %u of %u", segment->name->text, peak->step + 1,
			  segment->nsteps);
}

/* A column a phase, a row an item. */
static void text_phases(const struct show *show, const struct verdict *verdict)
{
	struct columns table = columns_new(show->arena, "lrrrr");
	const struct peak *peak = home_of(verdict)->peak;
	const char *cells[PHASES];

	columns_row(&table, " at its fullest", phase_names[0], phase_names[1], phase_names[2],
		    phase_names[3]);
	for (int item = 0; item <= ITEMS; item++) {
		uint64_t any = 0;

		for (int k = 0; k < PHASES; k++) {
			uint64_t bytes = item < ITEMS ? peak[k].items[item] : peak[k].gaps;

			any |= bytes;
			cells[k] = bytes ? num_bytes(show->arena, bytes, 2) : "-";
		}
		if (any)
			columns_row(&table,
				    arena_text(show->arena, " %s",
					       item < ITEMS ? lines_item(item) : "gaps"),
				    cells[0], cells[1], cells[2], cells[3]);
	}
	for (int k = 0; k < PHASES; k++)
		cells[k] = num_bytes(show->arena, peak[k].total, 2);
	columns_row(&table, " arena", cells[0], cells[1], cells[2], cells[3]);
	columns_print(&table, show->out);
	for (int k = 0; k < PHASES; k++)
		text_add(show->out, " %s: %s\n", phase_names[k],
			 instant(show, verdict, &peak[k]));
}

static void text_class(const struct show *show, uint32_t stage)
{
	const struct verdict *verdict = show_verdict(show, stage);
	const struct program *p = verdict->layout->program;

	text_add(show->out, "%s%llu ranks, the first is %llu", stage ? "\n" : "",
		 (unsigned long long)ranks_of_stage(p),
		 (unsigned long long)ranks_first(show->head, stage));
	if (p->stages > 1)
		text_add(show->out, ": stage %u, layers %s", stage,
			 show_layers(&p->roles[0], show->arena));
	text_add(show->out, "\n%s\n", verdict_table(verdict, show->arena));
	text_phases(show, verdict);
}

static void json_phases(const struct show *show, const struct verdict *verdict)
{
	const struct peak *peak = home_of(verdict)->peak;

	json_list(show->json, "phases");
	for (int k = 0; k < PHASES; k++) {
		json_object(show->json, NULL);
		json_text(show->json, "phase", phase_names[k]);
		json_text(show->json, "fullest", instant(show, verdict, &peak[k]));
		json_object(show->json, "items");
		for (int item = 0; item < ITEMS; item++)
			json_number(show->json, lines_item(item), peak[k].items[item]);
		json_number(show->json, "gaps", peak[k].gaps);
		json_end(show->json);
		json_number(show->json, "total", peak[k].total);
		json_end(show->json);
	}
	json_end(show->json);
}

static void json_class(const struct show *show, uint32_t stage)
{
	const struct verdict *verdict = show_verdict(show, stage);
	struct text members = text_new(show->arena);

	verdict_members(verdict, &members);
	json_object(show->json, NULL);
	json_number(show->json, "stage", stage);
	json_number(show->json, "ranks", ranks_of_stage(show->head));
	json_number(show->json, "first_rank", ranks_first(show->head, stage));
	json_text(show->json, "layers", show_layers(&verdict->layout->program->roles[0],
						    show->arena));
	json_members(show->json, members.at);
	json_phases(show, verdict);
	json_end(show->json);
}

void show_memory(const struct show *show)
{
	bool all = show->session->options.all_ranks;
	struct text members = text_new(show->arena);

	if (show->json) {
		verdict_members(show->verdict, &members);
		json_members(show->json, members.at);
	}
	if (show->json && all)
		json_list(show->json, "classes");
	else if (!all && !show->json)
		text_add(show->out, "%s\n", verdict_table(show->verdict, show->arena));
	for (uint32_t stage = 0; all && stage < show->head->stages; stage++) {
		if (show->json)
			json_class(show, stage);
		else
			text_class(show, stage);
	}
	if (show->json && all)
		json_end(show->json);
}
