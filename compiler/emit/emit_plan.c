/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: sizes, the memory table, where every buffer lies. */
#include "emit/emit_text.h"

#include <string.h>

#include "base/num.h"

static void define(struct emitter *e, const char *name, uint64_t value, struct span span)
{
	text_add(e->out, "#define %s INT64_C(%llu)", name, (unsigned long long)value);
	if (span.hi)
		text_add(e->out, " /* %s */",
			 emit_comment(e, sources_where(e->work->sources, e->arena, span)));
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
		define(e, emit_dim(e, i, true, 0), dim->size, dim->span);
		if (dim->padded != dim->size)
			define(e, emit_dim(e, i, false, 0), dim->padded, dim->span);
	}
	const struct role *role = &e->program->roles[0];
	uint32_t levels = e->program->buffers[role->sums].levels;
	if (levels > 1)
		define(e, "N_LEVELS", levels, e->plan->train.lanes.span);
}

struct local_dim {
	uint32_t dim, cuts;
};

struct local_dims {
	VEC(struct local_dim) all;
};

static void add_local(struct emitter *e, struct local_dims *dims, const struct size *size)
{
	for (uint32_t i = 0; i < size->dims.n; i++) {
		struct local_dim one = {size->dims.at[i], size->cuts[i]};
		bool known = one.cuts == 0 || emit_part(e, one.dim, one.cuts) > 1;
		for (uint32_t k = 0; k < dims->all.n && !known; k++)
			known = dims->all.at[k].dim == one.dim && dims->all.at[k].cuts == one.cuts;
		if (!known)
			vec_push(e->arena, &dims->all, one);
	}
}

/* Sizes of what a rank holds where a dim is cut, each once, in the order of their use. */
static void add_locals(struct emitter *e, struct local_dims *dims, const struct program *program)
{
	for (uint32_t i = 0; i < program->nsegments; i++) {
		const struct segment *s = &program->segments[i];
		for (uint32_t k = 0; k < s->nsteps; k++) {
			add_local(e, dims, &s->steps[k].rows);
			for (uint32_t n = 0; n < s->steps[k].nsizes; n++)
				add_local(e, dims, &s->steps[k].sizes[n]);
		}
	}
}

static void emit_local_dims(struct emitter *e)
{
	struct local_dims dims = {0};
	for (const struct layout *l = e->stages; l; l = l->next)
		add_locals(e, &dims, l->program);
	if (dims.all.n)
		text_add(e->out, "\n/* What one rank holds of a dim that is cut. */\n");
	for (uint32_t i = 0; i < dims.all.n; i++) {
		struct local_dim d = dims.all.at[i];
		text_add(e->out, "#define %s (%s / %llu)\n", emit_dim(e, d.dim, false, d.cuts),
			 emit_dim(e, d.dim, false, 0),
			 (unsigned long long)factors_ranks(&e->program->flow->factors, d.cuts));
	}
}

static void emit_table(struct emitter *e)
{
	char *table = verdict_table(e->verdict, e->arena);
	text_add(e->out, e->piped ? "\n/* Bytes of a rank of the heaviest stage, %s.\n"
				  : "\n/* Bytes of a rank.\n",
		 e->verdict->layout->program->roles[0].name->text);
	for (char *line = strtok(table, "\n"); line; line = strtok(NULL, "\n"))
		text_add(e->out, " * %s\n", emit_comment(e, line));
	text_add(e->out, " */\n");
	if (!e->piped)
		define(e, "ARENA_BYTES", e->layout->homes[0].arena, (struct span){0});
}

static const char *life_text(enum life life)
{
	static const char *const texts[] = {"always", "during a step", "until its backward pass",
					    "between blocks", "inside one segment"};
	return texts[life];
}

static void add_copies(struct text *line, const char *what, uint64_t n, uint64_t stride)
{
	if (n > 1)
		text_add(line, ", .%ss = %llu, .%s_stride = %llu", what, (unsigned long long)n,
			 what, (unsigned long long)stride);
}

static void emit_place(struct emitter *e, uint32_t buffer)
{
	const struct buffer *b = &e->program->buffers[buffer];
	const struct place *p = &e->layout->homes[0].places[buffer];
	const char *shape = emit_buffer_shape(e, b);
	struct text line = text_new(e->arena);
	text_add(&line, "PLACE(%s, .offset = %llu", emit_buffer(e, buffer),
		 (unsigned long long)p->offset);
	add_copies(&line, "layer", b->layers, p->layer_stride);
	add_copies(&line, "slot", b->slots, p->slot_stride);
	add_copies(&line, "level", b->levels, p->level_stride);
	bool copies = b->layers > 1 || b->slots > 1 || b->levels > 1;
	text_add(e->out, "%s);%s/* %s */\n", line.at, copies ? "\n\t" : " ", shape);
}

/* Elements of all slices of one layer. */
static uint64_t flat_elements(const struct program *program, uint32_t param, uint64_t shard)
{
	return shard * factors_ranks(&program->flow->factors, program->params[param].flat);
}

/* Where the number of layers is that of the stage. */
static void emit_whole_piped(struct emitter *e, uint32_t param)
{
	const struct layout *l = e->stages;
	while (l->program->params[param].weight == NO_ID)
		l = l->next;
	const struct param_buffers *p = &l->program->params[param];
	const struct param *of = &l->program->graph->params[param];
	const struct buffer *b = &l->program->buffers[p->gradient[0]];
	unsigned long long stride = (b->elements + 63) / 64 * 64;
	unsigned long long ranks = factors_ranks(&l->program->flow->factors, p->flat);
	const char *name = emit_param_name(e, param);
	if (p->layered)
		stride = flat_elements(l->program, param, p->shard);
	if (of->region == REGION_REPEAT)
		text_add(e->out,
			 "#define LAYER_%s INT64_C(%llu)\n"
			 "#define ALL_%s (rt_layers(rt) * LAYER_%s)\n",
			 name, stride, name, name);
	else
		define(e, arena_text(e->arena, "ALL_%s", name), p->layered ? stride : b->elements,
		       (struct span){0});
	if (p->layered) {
		define(e, arena_text(e->arena, "FLAT_%s", name), stride, (struct span){0});
		define(e, arena_text(e->arena, "SLICE_%s", name), p->shard, (struct span){0});
	} else if (p->flat) {
		text_add(e->out, "#define SLICE_%s RT_SLICE(ALL_%s, %llu)\n", name, name, ranks);
	}
}

/* Elements of all layers of a parameter: equal for its weight, gradients and moments. */
static void emit_wholes(struct emitter *e)
{
	const struct graph *graph = e->program->graph;
	text_add(e->out, "\n/* Elements of all layers of a parameter, padding between layers "
			 "included. */\n");
	for (uint32_t i = 0; i < graph->nparams; i++) {
		if (e->piped) {
			emit_whole_piped(e, i);
			continue;
		}
		uint32_t weight = e->program->params[i].weight;
		const struct buffer *b = &e->program->buffers[weight];
		const struct place *p = &e->layout->homes[0].places[weight];
		uint64_t elements = b->elements;
		uint64_t shard = e->program->params[i].shard;
		const char *name = emit_param_name(e, i);
		if (b->layers > 1)
			elements = b->layers * (p->layer_stride / (b->bytes / b->elements));
		if (e->program->params[i].layered)
			elements = flat_elements(e->program, i, shard) * graph->params[i].layers;
		define(e, arena_text(e->arena, "ALL_%s", name), elements,
		       (struct span){0});
		if (shard)
			define(e, arena_text(e->arena, "SLICE_%s", name),
			       shard, (struct span){0});
		if (e->program->params[i].layered)
			define(e, arena_text(e->arena, "FLAT_%s", name),
			       flat_elements(e->program, i, shard), (struct span){0});
	}
}

/* The places are used by model.c and schedule.c, not each by both. */
static void emit_places_of(struct emitter *e, enum item item, enum life life)
{
	static const char *const names[] = {
#define ITEM(id, name, doc) name,
#include "part/items.def"
#undef ITEM
	};
	bool first = true;
	for (uint32_t i = 0; i < e->program->nbuffers; i++) {
		const struct buffer *b = &e->program->buffers[i];
		if (b->item != item || b->life != life)
			continue;
		if (first)
			text_add(e->out, "/* %s, %s */\n", names[item], life_text(life));
		if (item == ITEM_WORKSPACE)
			define(e, "WORKSPACE_BYTES", b->bytes, (struct span){0});
		first = false;
		emit_place(e, i);
	}
}

/* Places differ by stage: they are numbered here, and lie in the tables of the roles. */
static void emit_numbers(struct emitter *e)
{
	const struct names *names = emit_buffers(e);
	const char *workspace = NULL;
	text_add(e->out, "\n/* Buffers, with the shape of one copy; where they lie is told by the "
			 "role of a rank. */\nenum {\n");
	for (uint32_t i = 0; i < names->all.n; i++) {
		const struct named *one = &names->all.at[i];
		text_add(e->out, "\tPLACE_%s, /* %s */\n", one->text,
			 emit_buffer_shape(e, one->buffer));
		if (one->buffer->item == ITEM_WORKSPACE)
			workspace = one->text;
	}
	text_add(e->out,
		 "\tPLACES\n};\n"
		 "#define WORKSPACE_BYTES (rt_place(rt, PLACE_%s)->bytes)\n"
		 "\n/* Address of a buffer: the copy that a segment works on, that of the next "
		 "layer,\n * of the next level. */\n"
		 "#define HERE(name) rt_buffer(rt, rt_place(rt, PLACE_##name), at, 0)\n"
		 "#define NEXT(name) rt_buffer(rt, rt_place(rt, PLACE_##name), at, 1)\n"
		 "#define ABOVE(name) rt_buffer(rt, rt_place(rt, PLACE_##name), &above, 0)\n",
		 workspace);
}

static void emit_places(struct emitter *e)
{
	if (e->piped) {
		emit_numbers(e);
		return;
	}
	text_add(e->out, "\n/* Where every buffer lies in the arena, in bytes; the shape of one "
			 "copy. */\n");
	text_add(e->out, "#define PLACE(name, ...) \\\n"
			 "\tstatic const struct rt_place place_##name __attribute__((unused)) = "
			 "{__VA_ARGS__}\n");
	for (int item = 0; item < ITEMS; item++)
		for (int life = LIFE_RUN; life <= LIFE_SEGMENT; life++)
			emit_places_of(e, (enum item)item, (enum life)life);
	text_add(e->out,
		 "\n/* Address of a buffer: the copy that a segment works on, that of the next "
		 "layer,\n * of the next level. */\n"
		 "#define HERE(name) rt_buffer(rt, &place_##name, at, 0)\n"
		 "#define NEXT(name) rt_buffer(rt, &place_##name, at, 1)\n"
		 "#define ABOVE(name) rt_buffer(rt, &place_##name, &above, 0)\n");
}

static void emit_declarations(struct emitter *e)
{
	text_add(e->out, "\n/* Groups of ranks that talk. */\nenum {");
	for (uint32_t i = 0; i < e->program->ngroups; i++)
		text_add(e->out, " %s,", emit_group_at(e, i));
	text_add(e->out, " GROUPS };\n\n/* Segments: model.c. */\n");
	const struct variants *variants = emit_segments(e);
	for (uint32_t i = 0; i < variants->all.n; i++)
		text_add(e->out, "int %s(struct rt *rt, const struct rt_at *at);\n",
			 variants->all.at[i].name);
}

void emit_plan_h(struct emitter *e)
{
	emit_head(e, "Constants");
	text_add(e->out, "#ifndef PLAN_H\n#define PLAN_H\n\n#include \"rt/rt.h\"\n");
	emit_dims(e);
	emit_local_dims(e);
	emit_table(e);
	emit_wholes(e);
	emit_places(e);
	emit_declarations(e);
	text_add(e->out, "\n#endif\n");
}
