/* SPDX-License-Identifier: Apache-2.0 */
/* planc diff: what changed between two plans, and what that does. */
#include "driver/commands.h"

#include <string.h>

#include "base/num.h"
#include "driver/columns.h"
#include "driver/json.h"
#include "judge/traffic.h"
#include "judge/walk.h"
#include "plan/effect.h"

struct change {
	const char *path, *from, *to; /* from, to: "-" if it is not set */
};

/* A figure of both plans; text "" where one has none. */
struct figure {
	const char *name, *key, *from, *to;
	double a, b; /* for JSON */
	bool differs;
};

struct diff {
	struct session *session;
	struct arena *arena;
	const struct compiled *a, *b;
	const struct traffic *sent[2]; /* by stage */
	VEC(struct change) changes;
	VEC(struct figure) figures;
	struct plan_effect effect;
	bool differs;
};

/* ---- settings -------------------------------------------------------------------------------- */

/* n: it has none of this path. */
static uint32_t place(const struct plan_settings *settings, const char *path)
{
	uint32_t i = 0;

	while (i < settings->n && strcmp(settings->at[i].path, path) != 0)
		i++;
	return i;
}

static void add_change(struct diff *d, const char *path, const char *from, const char *to)
{
	if (!from || !to || strcmp(from, to))
		vec_push(d->arena, &d->changes,
			 (struct change){path, from ? from : "-", to ? to : "-"});
}

/* Settings of `b` alone, from `at` on to the next that `a` has too. */
static void add_new(struct diff *d, const struct plan_settings *a, const struct plan_settings *b,
		    uint32_t at)
{
	for (; at < b->n && place(a, b->at[at].path) == a->n; at++)
		add_change(d, b->at[at].path, NULL, b->at[at].text);
}

/* Settings of the first plan in its order, what only the second has behind what it stands behind
 * there. */
static void find_changes(struct diff *d)
{
	struct work *work = &d->session->work;
	struct plan_settings a, b;

	plan_settings(d->a->plan, &a, work);
	plan_settings(d->b->plan, &b, work);
	add_new(d, &a, &b, 0);
	for (uint32_t i = 0; i < a.n; i++) {
		uint32_t k = place(&b, a.at[i].path);

		add_change(d, a.at[i].path, a.at[i].text, k < b.n ? b.at[k].text : NULL);
		if (k < b.n)
			add_new(d, &a, &b, k + 1);
	}
}

/* ---- figures --------------------------------------------------------------------------------- */

static void add_figure(struct diff *d, struct figure figure)
{
	figure.differs = strcmp(figure.from, figure.to) || figure.a < figure.b ||
			 figure.a > figure.b;
	vec_push(d->arena, &d->figures, figure);
}

static const char *memory_text(const struct verdict *v, struct arena *arena)
{
	unsigned long long share = 0;

	if (v->capacity)
		share = (unsigned long long)(((unsigned __int128)v->peak * 200 + v->capacity) / 2 /
					     v->capacity);
	return arena_text(arena, "%s %llu %%", num_bytes(arena, v->peak, 1), share);
}

static const char *percent(double share, struct arena *arena)
{
	unsigned long long tenths = (unsigned long long)(share * 1000 + 0.5);

	return arena_text(arena, "%llu.%llu %%", tenths / 10, tenths % 10);
}

/* Of all ranks. */
static double arithmetic(const struct compiled *c)
{
	double sum = 0;

	for (const struct program *p = &c->program; p; p = p->next)
		sum += (double)walk_flops(p) * (double)ranks_of_stage(p);
	return sum;
}

/* Of the first rank of each stage. */
static const struct traffic *traffic_of_stages(const struct compiled *c, struct arena *arena)
{
	struct traffic *all = ARENA_ARRAY(arena, struct traffic, c->program.stages);

	for (uint32_t stage = 0; stage < c->program.stages; stage++)
		traffic_of(&c->program, ranks_first(&c->program, stage), &all[stage], arena);
	return all;
}

/* Bytes that all ranks send in a step over groups of this name: those of the first rank of a stage,
 * as often as there are ranks in it. */
static double traffic_over(const struct compiled *c, const struct traffic *stages,
			   const char *group)
{
	double sum = 0;

	for (uint32_t stage = 0; stage < c->program.stages; stage++)
		for (uint32_t i = 0; i < stages[stage].nlines; i++) {
			const struct traffic_line *line = &stages[stage].lines[i];

			if (!strcmp(c->program.groups[line->group].name->text, group))
				sum += (double)line->out * (double)ranks_of_stage(&c->program);
		}
	return sum;
}

static const char *bytes_text(double bytes, struct arena *arena)
{
	return bytes < 1.8e19 ? num_bytes(arena, (uint64_t)bytes, 1) : "over 16 EiB";
}

static void add_traffic(struct diff *d, const char *group)
{
	double a = traffic_over(d->a, d->sent[0], group), b = traffic_over(d->b, d->sent[1], group);
	const char *key = arena_text(d->arena, "traffic_bytes_%s", group);

	for (uint32_t i = 0; i < d->figures.n; i++)
		if (!strcmp(d->figures.at[i].key, key))
			return;
	if (a > 0 || b > 0)
		add_figure(d,
			   (struct figure){
				   arena_text(d->arena, "traffic over %s, all ranks", group), key,
				   bytes_text(a, d->arena), bytes_text(b, d->arena), a, b, false});
}

static void add_memory(struct diff *d, const struct verdict *a, const struct verdict *b)
{
	add_figure(d, (struct figure){"peak memory", "peak_bytes", memory_text(a, d->arena),
				      memory_text(b, d->arena), (double)a->peak, (double)b->peak,
				      false});
	add_figure(d, (struct figure){"devices", "devices",
				      num_grouped(d->arena, (uint64_t)a->plan->devices),
				      num_grouped(d->arena, (uint64_t)b->plan->devices),
				      (double)a->plan->devices, (double)b->plan->devices, false});
}

static void add_step(struct diff *d, const struct verdict *a, const struct verdict *b)
{
	double work[] = {arithmetic(d->a), arithmetic(d->b)};

	add_figure(d, (struct figure){"micro-batches a rank", "micro_batches",
				      num_grouped(d->arena, (uint64_t)a->plan->micro_batches),
				      num_grouped(d->arena, (uint64_t)b->plan->micro_batches),
				      (double)a->plan->micro_batches,
				      (double)b->plan->micro_batches, false});
	add_figure(d, (struct figure){"tokens a step", "tokens_per_step",
				      num_grouped(d->arena, a->tokens_per_step),
				      num_grouped(d->arena, b->tokens_per_step),
				      (double)a->tokens_per_step, (double)b->tokens_per_step,
				      false});
	add_figure(d, (struct figure){"arithmetic a step", "flops", "100.0 %",
				      percent(work[0] > 0 ? work[1] / work[0] : 1, d->arena),
				      work[0], work[1], false});
}

static void find_figures(struct diff *d)
{
	const struct verdict *a = &d->a->verdict, *b = &d->b->verdict;

	add_memory(d, a, b);
	add_step(d, a, b);
	d->sent[0] = traffic_of_stages(d->a, d->arena);
	d->sent[1] = traffic_of_stages(d->b, d->arena);
	for (uint32_t i = 0; i < d->a->program.ngroups; i++)
		add_traffic(d, d->a->program.groups[i].name->text);
	for (uint32_t i = 0; i < d->b->program.ngroups; i++)
		add_traffic(d, d->b->program.groups[i].name->text);
	add_figure(d, (struct figure){"bubble", "bubble", percent(a->bubble, d->arena),
				      percent(b->bubble, d->arena), a->bubble, b->bubble, false});
}

/* ---- output ---------------------------------------------------------------------------------- */

static const char *result_text(enum effect effect)
{
	static const char *const words[] = {[EFFECT_NONE] = "same bits",
					    [EFFECT_ROUNDING] = "within rounding",
					    [EFFECT_RESULT] = "another training"};

	return words[effect];
}

static void text_settings(const struct diff *d, struct columns *table)
{
	for (uint32_t i = 0; i < d->changes.n; i++)
		columns_row(table, d->changes.at[i].path, d->changes.at[i].from, "->",
			    d->changes.at[i].to);
}

/* What was set, a line, what follows. */
static void text_figures(const struct diff *d, struct columns *table)
{
	bool parted = d->changes.n == 0;

	for (uint32_t i = 0; i < d->figures.n; i++) {
		const struct figure *f = &d->figures.at[i];

		if (!f->differs)
			continue;
		if (!parted)
			columns_row(table, "", "------", "", "------");
		parted = true;
		columns_row(table, f->name, f->from, "->", f->to);
	}
}

static void print_text(const struct diff *d)
{
	struct text *out = &d->session->out;
	struct columns table = columns_new(d->arena, "llll");

	text_settings(d, &table);
	text_figures(d, &table);
	if (d->differs)
		columns_print(&table, out);
	if (!d->figures.n)
		text_add(out, "memory and traffic of one of the plans could not be worked out\n");
	text_add(out, "trained result: %s\n", result_text(d->effect.effect));
	for (uint32_t i = 0; i < d->effect.ncauses; i++)
		if (d->effect.causes[i].effect == d->effect.effect)
			text_add(out, "  %s: %s\n", d->effect.causes[i].what,
				 d->effect.causes[i].why);
}

static void json_changes(const struct diff *d, struct json *json)
{
	json_list(json, "settings");
	for (uint32_t i = 0; i < d->changes.n; i++) {
		json_object(json, NULL);
		json_text(json, "path", d->changes.at[i].path);
		json_text(json, "from", d->changes.at[i].from);
		json_text(json, "to", d->changes.at[i].to);
		json_end(json);
	}
	json_end(json);
}

static void json_figures(const struct diff *d, struct json *json)
{
	json_object(json, "figures");
	for (uint32_t i = 0; i < d->figures.n; i++) {
		json_object(json, d->figures.at[i].key);
		json_real(json, "from", d->figures.at[i].a);
		json_real(json, "to", d->figures.at[i].b);
		json_end(json);
	}
	json_end(json);
}

static void json_causes(const struct diff *d, struct json *json)
{
	static const char *const words[] = {"none", "rounding", "result"};

	json_text(json, "trained_result", result_text(d->effect.effect));
	json_list(json, "causes");
	for (uint32_t i = 0; i < d->effect.ncauses; i++) {
		json_object(json, NULL);
		json_text(json, "what", d->effect.causes[i].what);
		json_text(json, "effect", words[d->effect.causes[i].effect]);
		json_text(json, "why", d->effect.causes[i].why);
		json_end(json);
	}
	json_end(json);
}

static void print_json(const struct diff *d)
{
	struct json json = json_new(&d->session->out);

	json_object(&json, NULL);
	json_bool(&json, "differs", d->differs);
	json_changes(d, &json);
	json_figures(d, &json);
	json_causes(d, &json);
	json_end(&json);
}

/* Valid; it may be over a limit. */
static bool valid(const struct outcome *outcome)
{
	return outcome && (outcome->good || outcome->compiled.judged);
}

/* Without --exit-code a difference is no failure, and a plan that does not fit says so itself. */
static void compare(struct diff *d)
{
	find_changes(d);
	plan_compare(d->a->plan, d->b->plan, &d->effect, &d->session->work);
	if (d->a->judged && d->b->judged)
		find_figures(d);
	d->differs = d->changes.n > 0 || d->effect.effect != EFFECT_NONE;
	for (uint32_t i = 0; i < d->figures.n; i++)
		d->differs |= d->figures.at[i].differs;
	if (d->session->options.exit_code)
		d->session->differs = d->differs;
}

void command_diff(struct session *session)
{
	const struct outcome *a = session_compile(session, 0, NULL);
	const struct outcome *b = session_compile(session, 1, NULL);
	struct diff d = {.session = session, .arena = session->work.keep};

	if (!valid(a) || !valid(b))
		return;
	d.a = &a->compiled;
	d.b = &b->compiled;
	compare(&d);
	if (session->options.json)
		print_json(&d);
	else
		print_text(&d);
}
