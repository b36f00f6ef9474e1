/* SPDX-License-Identifier: Apache-2.0 */
/* planc show traffic: what a rank sends and receives in a step, by collective and by link. */
#include "driver/show.h"

#include "base/num.h"
#include "driver/columns.h"
#include "judge/traffic.h"

static const char *const phase_names[PHASES] = {"init", "forward", "backward", "update"};

static const char *group_name(const struct traffic *traffic, uint32_t group)
{
	return traffic->program->groups[group].name->text;
}

static void text_lines(const struct show *show, const struct traffic *traffic)
{
	struct columns table = columns_new(show->arena, "lllrrr");

	columns_row(&table, "phase", "what", "over", "calls a step", "out", "in");
	for (enum phase phase = PHASE_INIT; phase < PHASES; phase++)
		for (uint32_t i = 0; i < traffic->nlines; i++) {
			const struct traffic_line *line = &traffic->lines[i];

			if (line->phase == phase)
				columns_row(&table, phase_names[phase], traffic_kind(line->kind),
					    group_name(traffic, line->group),
					    num_grouped(show->arena, line->calls),
					    num_bytes(show->arena, line->out, 2),
					    num_bytes(show->arena, line->in, 2));
		}
	columns_row(&table, "", "", "", "sum", num_bytes(show->arena, traffic->out, 2),
		    num_bytes(show->arena, traffic->in, 2));
	columns_print(&table, show->out);
}

static void text_links(const struct show *show, const struct traffic *traffic)
{
	struct columns table = columns_new(show->arena, "lllrr");

	columns_row(&table, "over", "link", "", "out a step", "in a step");
	for (uint32_t i = 0; i < traffic->nlinks; i++) {
		const struct traffic_link *link = &traffic->links[i];

		columns_row(&table, group_name(traffic, link->group),
			    ranks_link(traffic->program->plan, link->between),
			    link->between ? "between nodes" : "in a node",
			    num_bytes(show->arena, link->out, 2),
			    num_bytes(show->arena, link->in, 2));
	}
	text_add(show->out, "\n");
	columns_print(&table, show->out);
}

/* A line a stage: its first rank. */
static void text_stages(const struct show *show)
{
	struct columns table = columns_new(show->arena, "rrrr");

	columns_row(&table, "stage", "rank", "out a step", "in a step");
	for (uint32_t stage = 0; stage < show->head->stages; stage++) {
		uint64_t rank = ranks_first(show->head, stage);
		struct traffic traffic;

		traffic_of(show->head, rank, &traffic, show->arena);
		columns_row(&table, arena_text(show->arena, "%u", stage),
			    arena_text(show->arena, "%llu", (unsigned long long)rank),
			    num_bytes(show->arena, traffic.out, 2),
			    num_bytes(show->arena, traffic.in, 2));
	}
	text_add(show->out, "\n");
	columns_print(&table, show->out);
}

static void json_lines(const struct show *show, const struct traffic *traffic)
{
	json_list(show->json, "calls");
	for (uint32_t i = 0; i < traffic->nlines; i++) {
		const struct traffic_line *line = &traffic->lines[i];

		json_object(show->json, NULL);
		json_text(show->json, "phase", phase_names[line->phase]);
		json_text(show->json, "kind", traffic_kind(line->kind));
		json_text(show->json, "group", group_name(traffic, line->group));
		json_number(show->json, "count", line->calls);
		json_number(show->json, "out_bytes", line->out);
		json_number(show->json, "in_bytes", line->in);
		json_end(show->json);
	}
	json_end(show->json);
}

static void json_links(const struct show *show, const struct traffic *traffic)
{
	json_list(show->json, "links");
	for (uint32_t i = 0; i < traffic->nlinks; i++) {
		const struct traffic_link *link = &traffic->links[i];

		json_object(show->json, NULL);
		json_text(show->json, "group", group_name(traffic, link->group));
		json_text(show->json, "link", ranks_link(traffic->program->plan, link->between));
		json_bool(show->json, "between_nodes", link->between);
		json_number(show->json, "out_bytes", link->out);
		json_number(show->json, "in_bytes", link->in);
		json_end(show->json);
	}
	json_end(show->json);
}

static void json_stages(const struct show *show)
{
	json_list(show->json, "stages");
	for (uint32_t stage = 0; stage < show->head->stages; stage++) {
		uint64_t rank = ranks_first(show->head, stage);
		struct traffic traffic;

		traffic_of(show->head, rank, &traffic, show->arena);
		json_object(show->json, NULL);
		json_number(show->json, "stage", stage);
		json_number(show->json, "first_rank", rank);
		json_number(show->json, "out_bytes", traffic.out);
		json_number(show->json, "in_bytes", traffic.in);
		json_end(show->json);
	}
	json_end(show->json);
}

void show_traffic(const struct show *show)
{
	struct traffic traffic;

	traffic_of(show->head, show->rank, &traffic, show->arena);
	if (show->json) {
		show_rank_json(show);
		json_number(show->json, "out_bytes", traffic.out);
		json_number(show->json, "in_bytes", traffic.in);
		json_lines(show, &traffic);
		json_links(show, &traffic);
		json_stages(show);
		return;
	}
	text_add(show->out, "%s, a step of training\n", show_rank(show));
	if (!traffic.nlines) {
		text_add(show->out, "no rank talks to another one\n");
		return;
	}
	text_lines(show, &traffic);
	if (traffic.nlinks)
		text_links(show, &traffic);
	if (show->session->options.all_ranks && show->head->stages > 1)
		text_stages(show);
}
