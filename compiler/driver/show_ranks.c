/* SPDX-License-Identifier: Apache-2.0 */
/* planc show ranks: classes of equal ranks, each rank of a small mesh, and the groups that talk. */
#include "driver/show.h"

#include "base/num.h"
#include "driver/columns.h"

enum {
	TABLE_RANKS = 32,   /* so many have a line each */
	LIST_RANKS = 65536, /* so many stand in JSON */
	RUNS = 4            /* runs of ranks named in a line */
};

/* "0-7, 64-71, ...": ascending ranks as runs. */
struct runs {
	struct arena *arena;
	const char *text;
	uint64_t first, last;
	uint32_t n;
	bool open;
};

static void end_run(struct runs *runs)
{
	struct arena *arena = runs->arena;

	if (!runs->open || runs->n > RUNS)
		return;
	runs->n++;
	runs->open = false;
	if (runs->n > RUNS) {
		runs->text = arena_text(arena, "%s, ...", runs->text);
		return;
	}
	runs->text = arena_text(arena, "%s%s%llu", runs->text, *runs->text ? ", " : "",
				(unsigned long long)runs->first);
	if (runs->last > runs->first)
		runs->text = arena_text(arena, "%s-%llu", runs->text,
					(unsigned long long)runs->last);
}

static void add_rank(struct runs *runs, uint64_t rank)
{
	if (runs->open && rank == runs->last + 1) {
		runs->last = rank;
		return;
	}
	end_run(runs);
	runs->first = runs->last = rank;
	runs->open = true;
}

/* Ranks of one group of `mask`, the one that `rank` is in. */
static const char *members_text(const struct show *show, uint32_t mask, uint64_t rank)
{
	const struct factors *factors = &show->head->flow->factors;
	struct runs runs = {.arena = show->arena, .text = ""};
	uint64_t n = factors_ranks(factors, mask);

	for (uint64_t i = 0; i < n && runs.n <= RUNS; i++)
		add_rank(&runs, ranks_member(factors, mask, rank, i));
	end_run(&runs);
	return runs.text;
}

static uint32_t stage_mask(const struct program *p)
{
	return p->stages > 1 ? ~p->groups[p->pipeline_group].factors : UINT32_MAX;
}

static const char *holds(const struct role *role)
{
	bool first = role->has[REGION_BEFORE], last = role->has[REGION_AFTER];

	return first && last ? "embedding, head" : first ? "embedding" : last ? "head" : "-";
}

static void text_classes(const struct show *show)
{
	struct columns table = columns_new(show->arena, "rrllrr");

	columns_row(&table, "stage", "ranks", "which", "holds, layers", "arena", "peak");
	for (uint32_t stage = 0; stage < show->head->stages; stage++) {
		const struct verdict *verdict = show_verdict(show, stage);
		const struct role *role = &verdict->layout->program->roles[0];
		uint64_t first = ranks_first(show->head, stage);

		columns_row(&table, arena_text(show->arena, "%u", stage),
			    num_grouped(show->arena, ranks_of_stage(show->head)),
			    members_text(show, stage_mask(show->head), first),
			    arena_text(show->arena, "%s, %s", holds(role),
				       show_layers(role, show->arena)),
			    num_bytes(show->arena, verdict->arena, 2),
			    num_bytes(show->arena, verdict->peak, 2));
	}
	columns_print(&table, show->out);
}

static void text_ranks(const struct show *show)
{
	struct columns table = columns_new(show->arena, "rrlrlr");

	columns_row(&table, "rank", "node", "at", "stage", "layers", "peak");
	for (uint64_t rank = 0; rank < ranks_all(show->head); rank++) {
		uint32_t stage = ranks_stage(show->head, rank);
		const struct verdict *verdict = show_verdict(show, stage);

		columns_row(&table,
			    arena_text(show->arena, "%llu", (unsigned long long)rank),
			    arena_text(show->arena, "%llu",
				       (unsigned long long)ranks_node(verdict->plan, rank)),
			    ranks_place(&show->head->flow->factors, rank, show->arena),
			    arena_text(show->arena, "%u", stage),
			    show_layers(&verdict->layout->program->roles[0], show->arena),
			    num_bytes(show->arena, verdict->peak, 2));
	}
	text_add(show->out, "\n");
	columns_print(&table, show->out);
}

static void text_groups(const struct show *show)
{
	struct columns table = columns_new(show->arena, "lrrl");
	const struct program *p = show->head;
	uint64_t all = ranks_all(p);

	columns_row(&table, "group", "how many", "of ranks", "the first");
	for (uint32_t i = 0; i < p->ngroups; i++)
		if (p->groups[i].ranks > 1)
			columns_row(&table, p->groups[i].name->text,
				    num_grouped(show->arena, all / p->groups[i].ranks),
				    num_grouped(show->arena, p->groups[i].ranks),
				    members_text(show, p->groups[i].factors, 0));
	if (all == 1)
		return;
	text_add(show->out, "\n");
	columns_print(&table, show->out);
}

static void json_classes(const struct show *show)
{
	json_list(show->json, "classes");
	for (uint32_t stage = 0; stage < show->head->stages; stage++) {
		const struct verdict *verdict = show_verdict(show, stage);
		const struct role *role = &verdict->layout->program->roles[0];

		json_object(show->json, NULL);
		json_number(show->json, "stage", stage);
		json_number(show->json, "ranks", ranks_of_stage(show->head));
		json_number(show->json, "first_rank", ranks_first(show->head, stage));
		json_text(show->json, "layers", show_layers(role, show->arena));
		json_bool(show->json, "embedding", role->has[REGION_BEFORE]);
		json_bool(show->json, "head", role->has[REGION_AFTER]);
		json_number(show->json, "arena_bytes", verdict->arena);
		json_number(show->json, "peak_bytes", verdict->peak);
		json_end(show->json);
	}
	json_end(show->json);
}

static void json_ranks(const struct show *show)
{
	const struct factors *factors = &show->head->flow->factors;
	uint64_t all = ranks_all(show->head);

	json_list(show->json, "ranks");
	for (uint64_t rank = 0; rank < all && all <= LIST_RANKS; rank++) {
		json_object(show->json, NULL);
		json_number(show->json, "rank", rank);
		json_number(show->json, "node", ranks_node(show->verdict->plan, rank));
		json_number(show->json, "stage", ranks_stage(show->head, rank));
		json_object(show->json, "at");
		for (uint32_t i = 0; i < factors->n; i++)
			json_number(show->json, factors->at[i].name->text,
				    ranks_coordinate(factors, i, rank));
		json_end(show->json);
		json_end(show->json);
	}
	json_end(show->json);
}

static void json_groups(const struct show *show)
{
	const struct program *p = show->head;

	json_list(show->json, "groups");
	for (uint32_t i = 0; i < p->ngroups; i++) {
		json_object(show->json, NULL);
		json_text(show->json, "name", p->groups[i].name->text);
		json_number(show->json, "ranks", p->groups[i].ranks);
		json_number(show->json, "groups", ranks_all(p) / p->groups[i].ranks);
		json_end(show->json);
	}
	json_end(show->json);
}

void show_ranks(const struct show *show)
{
	if (show->json) {
		json_number(show->json, "count", ranks_all(show->head));
		json_classes(show);
		json_groups(show);
		json_ranks(show);
		return;
	}
	text_classes(show);
	if (ranks_all(show->head) > 1 && ranks_all(show->head) <= TABLE_RANKS)
		text_ranks(show);
	text_groups(show);
}
