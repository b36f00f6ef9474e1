/* SPDX-License-Identifier: Apache-2.0 */
/* Stages side by side: what they share is printed once. */
#include "emit/emit_text.h"

#include <string.h>

#include "base/bug.h"

void emit_stage(struct emitter *e, const struct layout *layout)
{
	e->layout = layout;
	e->program = layout->program;
}

uint32_t variants_add(struct emitter *e, struct variants *variants, uint32_t first,
		      const char *text, uint32_t segment)
{
	for (uint32_t i = first; i < variants->all.n; i++)
		if (!strcmp(variants->all.at[i].text, text))
			return i;
	struct variant one = {.text = text, .program = e->program, .segment = segment};
	vec_push(e->arena, &variants->all, one);
	return variants->all.n - 1;
}

static const char *kind_of(const struct program *program)
{
	const bool *has = program->roles[0].has;
	return has[REGION_BEFORE] ? "first" : has[REGION_AFTER] ? "last" : "middle";
}

static bool name_used(const struct variants *variants, const char *name)
{
	for (uint32_t i = 0; i < variants->all.n; i++)
		if (variants->all.at[i].name && !strcmp(variants->all.at[i].name, name))
			return true;
	return false;
}

void variants_name(struct emitter *e, struct variants *variants, uint32_t first, const char *base)
{
	bool alone = variants->all.n == first + 1;
	for (uint32_t i = first; i < variants->all.n; i++) {
		struct variant *v = &variants->all.at[i];
		const char *name = alone ? base
					 : arena_text(e->arena, "%s_%s", base, kind_of(v->program));
		if (name_used(variants, name))
			name = arena_text(e->arena, "%s_%u", name, v->program->stage);
		v->name = name;
	}
}

static const char *segment_text(struct emitter *e, uint32_t segment)
{
	struct text text = text_new(e->arena), *out = e->out;
	e->out = &text;
	e->out->indent++;
	emit_steps(e, segment);
	e->out = out;
	return text.at ? text.at : "";
}

struct segment_table {
	const char ***names;
	uint32_t **index; /* by stage and segment: variant, or NO_ID */
	struct variants *variants;
};

/* All stages' segments of one name. */
static void add_named(struct emitter *e, struct segment_table *table, const struct name *name)
{
	uint32_t first = table->variants->all.n, s = 0;
	for (const struct layout *l = e->stages; l; l = l->next, s++) {
		emit_stage(e, l);
		for (uint32_t i = 0; i < l->program->nsegments; i++)
			if (l->program->segments[i].name == name)
				table->index[s][i] = variants_add(e, table->variants, first,
								  segment_text(e, i), i);
	}
	variants_name(e, table->variants, first, name->text);
	s = 0;
	for (const struct layout *l = e->stages; l; l = l->next, s++)
		for (uint32_t i = 0; i < l->program->nsegments; i++)
			if (l->program->segments[i].name == name)
				table->names[s][i] =
					table->variants->all.at[table->index[s][i]].name;
}

struct variants *emit_segments(struct emitter *e)
{
	struct segment_table table = {.variants = ARENA_NEW(e->arena, struct variants)};
	uint32_t n = e->piped ? e->stages->program->stages : 1, s = 0;
	table.names = ARENA_ARRAY(e->arena, const char **, n);
	table.index = ARENA_ARRAY(e->arena, uint32_t *, n);
	for (const struct layout *l = e->stages; l; l = l->next, s++) {
		table.names[s] = ARENA_ARRAY(e->arena, const char *, l->program->nsegments + 1);
		table.index[s] = ARENA_ARRAY(e->arena, uint32_t, l->program->nsegments + 1);
	}
	s = 0;
	for (const struct layout *l = e->stages; l; l = l->next, s++)
		for (uint32_t i = 0; i < l->program->nsegments; i++)
			if (!table.names[s][i])
				add_named(e, &table, l->program->segments[i].name);
	emit_stage(e, e->stages);
	e->segments = (const char *const **)table.names;
	return table.variants;
}

const char *emit_place_of(struct emitter *e, uint32_t buffer)
{
	if (buffer == NO_ID)
		return "NULL";
	const char *name = emit_buffer(e, buffer);
	return e->piped ? arena_text(e->arena, "&places_%u[PLACE_%s]", e->program->stage, name)
			: arena_text(e->arena, "&place_%s", name);
}
