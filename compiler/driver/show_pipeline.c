/* SPDX-License-Identifier: Apache-2.0 */
/* planc show pipeline: turns over time, a row a stage, by the clock that places the messages: each
 * turn takes one unit of time. F and B with the micro-batch, and the chunk where there are several.
 */
#include "driver/show.h"

#include <string.h>

#include "base/bug.h"
#include "base/num.h"
#include "driver/columns.h"

enum { PAGE = 100, TABLE_STAGES = 32, EDGE_STAGES = 8 };

struct grid {
	const struct show *show;
	const struct rt_schedule *s;
	uint32_t turns;        /* of a stage */
	uint32_t *start;       /* [stages][turns] */
	uint32_t *at;          /* [stages][units]: turn + 1, or 0 */
	uint32_t units;        /* from the first turn to the end of the last */
};

static struct grid grid_new(const struct show *show)
{
	struct grid g = {.show = show, .s = &show->head->roles[0].schedule};
	struct arena *arena = show->arena;
	uint32_t n = g.s->stages;
	struct rt_clock clock;
	bool ends;

	g.turns = rt_schedule_turns(g.s);
	clock.start = ARENA_ARRAY(arena, uint32_t, (size_t)n * g.turns);
	clock.end = ARENA_ARRAY(arena, uint32_t, (size_t)n * g.turns);
	ends = rt_schedule_clock(g.s, &clock, ARENA_ARRAY(arena, uint32_t, n));
	BUG_IF(!ends, "a schedule that ends in a circle");
	g.start = clock.start;
	for (uint32_t i = 0; i < n; i++)
		if (clock.start[(i + 1) * g.turns - 1] + 1 > g.units)
			g.units = clock.start[(i + 1) * g.turns - 1] + 1;
	g.at = ARENA_ARRAY(arena, uint32_t, (size_t)n * g.units);
	for (uint32_t i = 0; i < n * g.turns; i++)
		g.at[i / g.turns * g.units + g.start[i]] = i % g.turns + 1;
	return g;
}

/* "F12", "B12.1" */
static const char *turn_text(const struct grid *g, uint32_t stage, uint32_t turn)
{
	struct rt_turn t = rt_schedule_turn(g->s, stage, turn);
	char letter = t.backward ? 'B' : 'F';

	if (g->s->chunks == 1)
		return arena_text(g->show->arena, "%c%u", letter, t.micro_batch);
	return arena_text(g->show->arena, "%c%u.%u", letter, t.micro_batch, t.chunk);
}

static int digits(uint32_t value)
{
	int n = 1;

	for (; value >= 10; value /= 10)
		n++;
	return n;
}

/* A blank included. */
static int cell_width(const struct grid *g)
{
	int width = 2 + digits(g->s->micro_batches - 1);

	return g->s->chunks == 1 ? width : width + 1 + digits(g->s->chunks - 1);
}

/* Units [first, last) are left out of the middle: as many as do not fit on the page. */
static void choose_middle(const struct grid *g, uint32_t *first, uint32_t *last)
{
	int room = PAGE - (8 + digits(g->s->stages - 1)) - 4;
	uint32_t fit = (uint32_t)(room / cell_width(g));

	*first = *last = g->units;
	if (g->units <= fit)
		return;
	*first = (fit + 1) / 2;
	*last = g->units - fit / 2;
}

static void grid_row(const struct grid *g, uint32_t stage, uint32_t first, uint32_t last)
{
	struct text row = text_new(g->show->arena);
	size_t length;

	text_add(&row, "stage %-*u ", digits(g->s->stages - 1), stage);
	for (uint32_t time = 0; time < g->units; time++) {
		uint32_t turn = g->at[stage * g->units + time];

		if (time == first)
			text_add(&row, " ...");
		if (time >= first && time < last)
			continue;
		text_add(&row, " %-*s", cell_width(g) - 1,
			 turn ? turn_text(g, stage, turn - 1) : ".");
	}
	for (length = row.length; row.at[length - 1] == ' ';)
		length--;
	text_add(g->show->out, "%.*s\n", (int)length, row.at);
}

/* Stages of a deep pipeline that have no line of their own. */
static bool left_out(const struct grid *g, uint32_t stage)
{
	return g->s->stages > TABLE_STAGES && stage >= EDGE_STAGES &&
	       stage + EDGE_STAGES < g->s->stages;
}

static void text_grid(const struct grid *g)
{
	uint32_t first, last;

	choose_middle(g, &first, &last);
	for (uint32_t stage = 0; stage < g->s->stages; stage++) {
		if (!left_out(g, stage))
			grid_row(g, stage, first, last);
		else if (stage == EDGE_STAGES)
			text_add(g->show->out, "%u stages more\n",
				 g->s->stages - 2 * EDGE_STAGES);
	}
	if (first < last)
		text_add(g->show->out, "... stands for %u of %u units of time\n", last - first,
			 g->units);
}

static const char *schedule_name(const struct grid *g)
{
	return g->show->verdict->plan->pipeline.schedule.word->text;
}

/* To a tenth of a percent. */
static const char *percent(const struct show *show, double share)
{
	unsigned long tenths = (unsigned long)(share * 1000 + 0.5);

	return arena_text(show->arena, "%lu.%lu %%", tenths / 10, tenths % 10);
}

/* "31 F, 353 x F B, 31 B": forwards, then pairs, then what is left. */
static const char *order_text(const struct grid *g, uint32_t stage)
{
	uint32_t from = 0, to = g->turns, pairs;
	struct arena *arena = g->show->arena;
	const char *text = "";

	while (from < to && !rt_schedule_turn(g->s, stage, from).backward &&
	       (from + 1 == to || !rt_schedule_turn(g->s, stage, from + 1).backward))
		from++;
	while (to > from && rt_schedule_turn(g->s, stage, to - 1).backward &&
	       (to - 1 == from || rt_schedule_turn(g->s, stage, to - 2).backward))
		to--;
	pairs = (to - from) / 2;
	if (pairs == 1) {
		pairs = 0;
		from++;
		to--;
	}
	if (from)
		text = arena_text(arena, "%u F", from);
	if (pairs)
		text = arena_text(arena, "%s%s%u x F B", text, *text ? ", " : "", pairs);
	return to < g->turns ? arena_text(arena, "%s%s%u B", text, *text ? ", " : "", g->turns - to)
			     : text;
}

static void text_stages(const struct grid *g)
{
	struct columns table = columns_new(g->show->arena, "rllrrr");
	struct arena *arena = g->show->arena;

	columns_row(&table, "stage", "layers", "turns", "idle units", "copies",
		    "received ahead");
	for (uint32_t stage = 0; stage < g->s->stages; stage++) {
		const struct role *role = &ranks_program(g->show->head, stage)->roles[0];

		if (left_out(g, stage))
			continue;
		columns_row(&table, arena_text(arena, "%u", stage), show_layers(role, arena),
			    order_text(g, stage), arena_text(arena, "%u", g->units - g->turns),
			    arena_text(arena, "%u", role->schedule.slots),
			    arena_text(arena, "%u", role->schedule.received[0] +
						     role->schedule.received[1]));
	}
	columns_print(&table, g->show->out);
}

static void json_stages(const struct grid *g)
{
	struct json *json = g->show->json;

	json_list(json, "rows");
	for (uint32_t stage = 0; stage < g->s->stages; stage++) {
		const struct role *role = &ranks_program(g->show->head, stage)->roles[0];

		json_object(json, NULL);
		json_number(json, "stage", stage);
		json_text(json, "layers", show_layers(role, g->show->arena));
		json_number(json, "idle_units", g->units - g->turns);
		json_number(json, "slots", role->schedule.slots);
		json_number(json, "received_ahead", role->schedule.received[0] +
						     role->schedule.received[1]);
		json_list(json, "turns");
		for (uint32_t i = 0; i < g->turns; i++)
			json_text(json, NULL, turn_text(g, stage, i));
		json_end(json);
		json_list(json, "starts");
		for (uint32_t i = 0; i < g->turns; i++)
			json_number(json, NULL, g->start[stage * g->turns + i]);
		json_end(json);
		json_end(json);
	}
	json_end(json);
}

static void grid_json(const struct grid *g)
{
	struct json *json = g->show->json;

	json_text(json, "schedule", g->s->stages > 1 ? schedule_name(g) : "none");
	json_number(json, "stages", g->s->stages);
	json_number(json, "chunks", g->s->chunks);
	json_number(json, "micro_batches", g->s->micro_batches);
	json_number(json, "turns", g->turns);
	json_number(json, "units", g->units);
	json_real(json, "bubble", g->show->verdict->bubble);
	json_stages(g);
}

void show_pipeline(const struct show *show)
{
	struct grid g = grid_new(show);

	if (show->json) {
		grid_json(&g);
		return;
	}
	if (g.s->stages == 1) {
		text_add(show->out, "no pipeline: %u micro-batch%s, each forward and backward\n",
			 g.s->micro_batches, g.s->micro_batches == 1 ? "" : "es");
		return;
	}
	text_add(show->out, "schedule %s: %u stages x %u chunk%s x %u micro-batch%s\n",
		 schedule_name(&g), g.s->stages, g.s->chunks, g.s->chunks == 1 ? "" : "s",
		 g.s->micro_batches, g.s->micro_batches == 1 ? "" : "es");
	text_grid(&g);
	text_add(show->out, "\nbubble %s = (stages - 1) / (chunks * micro-batches) = %u / %u; "
			    "idle %u of %u units\n\n",
		 percent(show, show->verdict->bubble), g.s->stages - 1,
		 g.s->chunks * g.s->micro_batches, g.units - g.turns, g.units);
	text_stages(&g);
}
