/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: sizes, the memory table, where every buffer lies. */
#include "emit/emit_text.h"

#include <string.h>

#include "base/num.h"

static void define(struct emitter *e, const char *name, uint64_t value, struct span span)
{
	text_add(e->out, "#define %s INT64_C(%llu)", name, (unsigned long long)value);
	if (span.hi)
		text_add(e->out, " /* %s */", sources_where(e->work->sources, e->arena, span));
	text_add(e->out, "\n");
}

static void emit_dims(struct emitter *e)
{
	const struct model *m = e->program->graph->model;
	text_add(e->out, "\n/* Sizes: the dims of the model; batch and tokens are those of a "
			 "micro-batch on one rank. */\n");
	define(e, "N_LAYERS", m->layers, m->layers_span);
	for (uint32_t i = 0; i < m->ndims; i++) {
		const struct dim *dim = &m->dims[i];
		if (name_is(dim->name, "layers"))
			continue;
		define(e, emit_dim(e, i, true), dim->size, dim->span);
		if (dim->padded != dim->size)
			define(e, emit_dim(e, i, false), dim->padded, dim->span);
	}
	const struct role *role = &e->program->roles[0];
	uint32_t levels = e->program->buffers[role->sums].levels;
	if (levels > 1)
		define(e, "N_LEVELS", levels, e->plan->train.lanes.span);
}

static void emit_table(struct emitter *e)
{
	char *table = verdict_table(e->verdict, e->arena);
	text_add(e->out, "\n/* Bytes of a rank.\n");
	for (char *line = strtok(table, "\n"); line; line = strtok(NULL, "\n"))
		text_add(e->out, " * %s\n", line);
	text_add(e->out, " */\n");
	define(e, "ARENA_BYTES", e->layout->homes[0].arena, (struct span){0});
}

static const char *life_text(enum life life)
{
	static const char *const texts[] = {"always", "during a step", "until its backward pass",
					    "between blocks", "inside one segment"};
	return texts[life];
}

static void emit_copies(struct emitter *e, const char *what, uint64_t n, uint64_t stride)
{
	if (n > 1)
		text_add(e->out, ", .%ss = %llu, .%s_stride = %llu", what, (unsigned long long)n,
			 what, (unsigned long long)stride);
}

static void emit_place(struct emitter *e, uint32_t buffer)
{
	const struct buffer *b = &e->program->buffers[buffer];
	const struct place *p = &e->layout->homes[0].places[buffer];
	text_add(e->out, "static const struct rt_place place_%s = {.offset = %llu", b->name->text,
		 (unsigned long long)p->offset);
	emit_copies(e, "layer", b->layers, p->layer_stride);
	emit_copies(e, "slot", b->slots, p->slot_stride);
	emit_copies(e, "level", b->levels, p->level_stride);
	text_add(e->out, "};\n");
}

/* Elements of all layers of the buffers of a parameter; bytes of the others that are cleared. */
static void emit_wholes(struct emitter *e)
{
	text_add(e->out, "\n/* Elements of all layers of a buffer, padding between them "
			 "included. */\n");
	for (uint32_t i = 0; i < e->program->nbuffers; i++) {
		const struct buffer *b = &e->program->buffers[i];
		const struct place *p = &e->layout->homes[0].places[i];
		uint64_t elements = b->elements;
		if (b->param == NO_ID)
			continue;
		if (b->layers > 1)
			elements = b->layers * (p->layer_stride / (b->bytes / b->elements));
		define(e, arena_text(e->arena, "ALL_%s", b->name->text), elements,
		       (struct span){0});
	}
	define(e, "BYTES_loss_sums", e->program->buffers[e->program->roles[0].sums].bytes,
	       (struct span){0});
	define(e, "BYTES_norm_words", RT_EXACT_WORDS * 8, (struct span){0});
}

/* The places are used by model.c and schedule.c, not each by both. */
static void emit_places(struct emitter *e)
{
	int item = -1;
	text_add(e->out, "\n/* Where every buffer lies in the arena, in bytes. */\n");
	text_add(e->out, "#pragma GCC diagnostic push\n"
			 "#pragma GCC diagnostic ignored \"-Wunused-const-variable\"\n");
	for (uint32_t i = 0; i < e->program->nbuffers; i++) {
		const struct buffer *b = &e->program->buffers[i];
		int here = (int)b->item * 8 + (int)b->life;
		if (b->item == ITEM_WORKSPACE)
			define(e, "WORKSPACE_BYTES", b->bytes, (struct span){0});
		if (here != item)
			text_add(e->out, "/* %s, %s */\n",
				 (const char *const[]){
#define ITEM(id, name, doc) name,
#include "part/items.def"
#undef ITEM
				 }[b->item],
				 life_text(b->life));
		item = here;
		emit_place(e, i);
	}
	text_add(e->out, "#pragma GCC diagnostic pop\n");
}

static void emit_declarations(struct emitter *e)
{
	text_add(e->out, "\n/* Groups of ranks that talk. */\nenum {");
	for (uint32_t i = 0; i < e->program->ngroups; i++)
		text_add(e->out, " GROUP_%s,", e->program->groups[i].name->text);
	text_add(e->out, " GROUPS };\n\n/* Segments: model.c. */\n");
	for (uint32_t i = 0; i < e->program->nsegments; i++)
		text_add(e->out, "int %s(struct rt *rt, const struct rt_at *at);\n",
			 e->program->segments[i].name->text);
}

void emit_plan_h(struct emitter *e)
{
	emit_head(e, "Constants");
	text_add(e->out, "#ifndef PLAN_H\n#define PLAN_H\n\n#include \"rt/rt.h\"\n");
	emit_dims(e);
	emit_table(e);
	emit_wholes(e);
	emit_places(e);
	emit_declarations(e);
	text_add(e->out, "\n#endif\n");
}
