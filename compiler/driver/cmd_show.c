/* SPDX-License-Identifier: Apache-2.0 */
/* planc show: one topic of a plan, or all of them. */
#include "driver/show.h"

#include <string.h>

#include "driver/artifacts.h"

const struct verdict *show_verdict(const struct show *show, uint32_t stage)
{
	return show->verdict->stages ? &show->verdict->stages[stage] : show->verdict;
}

const char *show_layers(const struct role *role, struct arena *arena)
{
	const char *text = "";

	for (uint32_t c = 0; c < role->schedule.chunks; c++) {
		const struct chunk *chunk = &role->chunks[c];
		unsigned long long last = chunk->first + chunk->count - 1;

		if (!chunk->count)
			continue;
		text = arena_text(arena, "%s%s%llu", text, *text ? ", " : "",
				  (unsigned long long)chunk->first);
		if (chunk->count > 1)
			text = arena_text(arena, "%s-%llu", text, last);
	}
	return text;
}

const char *show_rank(const struct show *show)
{
	const char *place = ranks_place(&show->head->flow->factors, show->rank, show->arena);

	return arena_text(show->arena, "rank %llu of %llu%s%s%s", (unsigned long long)show->rank,
			  (unsigned long long)ranks_all(show->head), *place ? " (" : "", place,
			  *place ? ")" : "");
}

void show_rank_json(const struct show *show)
{
	const struct factors *factors = &show->head->flow->factors;

	json_number(show->json, "rank", show->rank);
	json_number(show->json, "ranks", ranks_all(show->head));
	json_number(show->json, "stage", ranks_stage(show->head, show->rank));
	json_object(show->json, "at");
	for (uint32_t i = 0; i < factors->n; i++)
		json_number(show->json, factors->at[i].name->text,
			    ranks_coordinate(factors, i, show->rank));
	json_end(show->json);
}

const char *show_factors(const struct factors *factors, uint32_t mask, const char *separator,
			 struct arena *arena)
{
	const char *text = "";

	for (uint32_t i = 0; i < factors->n; i++)
		if (mask >> i & 1)
			text = arena_text(arena, "%s%s%s", text, *text ? separator : "",
					  factors->at[i].name->text);
	return text;
}

static const struct topic {
	const char *name;
	void (*show)(const struct show *show);
} topics[] = {
#define SHOW(name, doc) {#name, show_##name},
#include "driver/show.def"
#undef SHOW
};

enum { TOPICS = sizeof topics / sizeof *topics };

/* The topic of a word; TOPICS for `all`, -1 with E0602 for what is none. */
static int find_topic(struct session *session, struct argument what)
{
	if (!strcmp(what.text, "all"))
		return TOPICS;
	for (int i = 0; i < TOPICS; i++)
		if (!strcmp(what.text, topics[i].name))
			return i;
	if (!strcmp(what.text, "cost"))
		wrong_operand(session, what, "`planc show cost` is not in this version");
	else
		diag_note(wrong_operand(session, what, "`planc show` cannot show `%s`", what.text),
			  "valid values: "
#define SHOW(name, doc) #name " "
#include "driver/show.def"
#undef SHOW
			  "all");
	return -1;
}

/* Topics that are of one rank. */
static bool is_of_rank(const char *topic)
{
	return !strcmp(topic, "split") || !strcmp(topic, "traffic") || !strcmp(topic, "all");
}

/* --rank, else the first rank of the heaviest stage. False with E0602. */
static bool choose_rank(struct show *show)
{
	struct session *session = show->session;
	uint64_t ranks = ranks_all(show->head);

	show->rank = ranks_first(show->head, show->verdict->layout->program->stage);
	if (session->options.rank == UINT32_MAX)
		return true;
	if (!is_of_rank(session->options.operands.at[0].text)) {
		diag_note(wrong_operand(session, session->options.operands.at[0],
					"`planc show %s` is not of one rank",
					session->options.operands.at[0].text),
			  "`--rank` goes with: split traffic all; `--all-ranks` shows each class");
		return false;
	}
	show->rank = session->options.rank;
	if (show->rank < ranks)
		return true;
	diag_add(session->work.diags, E0602, session->options.command_span,
		 "there is no rank %llu: the plan has %llu, from 0", (unsigned long long)show->rank,
		 (unsigned long long)ranks);
	return false;
}

static void show_text(const struct show *show, int topic)
{
	for (int i = 0; i < TOPICS; i++) {
		if (topic != i && topic != TOPICS)
			continue;
		if (topic == TOPICS)
			text_add(show->out, "%s== %s\n", i ? "\n" : "", topics[i].name);
		topics[i].show(show);
	}
}

static void show_json(struct show *show, int topic)
{
	struct json json = json_new(show->out);

	show->json = &json;
	json_object(&json, NULL);
	for (int i = 0; i < TOPICS; i++) {
		if (topic == TOPICS)
			json_object(&json, topics[i].name);
		if (topic == i || topic == TOPICS)
			topics[i].show(show);
		if (topic == TOPICS)
			json_end(&json);
	}
	json_end(&json);
}

void command_show(struct session *session)
{
	int topic = find_topic(session, session->options.operands.at[0]);
	struct outcome *outcome = topic < 0 ? NULL : session_compile(session, 1, NULL);
	struct show show = {.session = session, .arena = session->work.keep, .out = &session->out};

	if (!outcome)
		return;
	if (!outcome->compiled.judged) {
		session_summary(session, outcome);
		return;
	}
	show.verdict = &outcome->compiled.verdict;
	show.head = &outcome->compiled.program;
	if (!choose_rank(&show))
		return;
	if (session->options.json)
		show_json(&show, topic);
	else
		show_text(&show, topic);
}
