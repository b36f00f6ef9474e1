/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of roles: schedule, functions, where things lie, the memory table. */
#include "emit/emit_text.h"

/* The number of a stage behind the names of its tables; nothing where there is one. */
static const char *suffix(struct emitter *e)
{
	return e->piped ? arena_text(e->arena, "_%u", e->program->stage) : "";
}

static void emit_items(struct emitter *e, const struct verdict *verdict)
{
	text_add(e->out, "\n/* The memory table: bytes. */\n"
			 "static const struct rt_item items%s[] = {\n",
		 suffix(e));
	for (uint32_t i = 0; i < verdict->nlines; i++) {
		const struct verdict_line *line = &verdict->lines[i];
		text_add(e->out, "\t{%s, %d, %llu},\n", emit_string(e, line->name), line->depth,
			 (unsigned long long)line->bytes);
	}
	text_add(e->out, "};\n");
}

static void emit_copies(struct emitter *e, const char *what, uint64_t n, uint64_t stride)
{
	if (n > 1)
		text_add(e->out, ", .%ss = %llu, .%s_stride = %llu", what, (unsigned long long)n,
			 what, (unsigned long long)stride);
}

static void emit_places(struct emitter *e)
{
	text_add(e->out, "\nstatic const struct rt_place places_%u[PLACES] = {\n",
		 e->program->stage);
	for (uint32_t i = 0; i < e->program->nbuffers; i++) {
		const struct buffer *b = &e->program->buffers[i];
		const struct place *p = &e->layout->homes[0].places[i];
		text_add(e->out, "\t[PLACE_%s] = {.offset = %llu, .bytes = %llu", emit_buffer(e, i),
			 (unsigned long long)p->offset, (unsigned long long)b->bytes);
		emit_copies(e, "layer", b->layers, p->layer_stride);
		emit_copies(e, "slot", b->slots, p->slot_stride);
		emit_copies(e, "level", b->levels, p->level_stride);
		text_add(e->out, "},\n");
	}
	text_add(e->out, "};\n");
}

static void emit_chunks(struct emitter *e)
{
	const struct role *role = &e->program->roles[0];
	text_add(e->out, "\n/* Layers: the first, how many. */\n"
			 "static const struct rt_chunk chunks_%u[] = {",
		 e->program->stage);
	for (uint32_t i = 0; i < role->schedule.chunks; i++)
		text_add(e->out, "%s{%llu, %llu}", i ? ", " : "",
			 (unsigned long long)role->chunks[i].first,
			 (unsigned long long)role->chunks[i].count);
	text_add(e->out, "};\n");
}

/* Tensors that pass by the layers. */
static void emit_past(struct emitter *e, const char *name, const uint32_t *buffers, uint32_t n)
{
	if (n == 0)
		return;
	text_add(e->out, "\nstatic const struct rt_place *const %s_%u[] = {\n", name,
		 e->program->stage);
	for (uint32_t i = 0; i < n; i++)
		text_add(e->out, "\t%s,\n", emit_place_of(e, buffers[i]));
	text_add(e->out, "};\n");
}

static void emit_all_past(struct emitter *e)
{
	const struct role *role = &e->program->roles[0];
	emit_past(e, "past", role->past[0], role->npast[0]);
	emit_past(e, "past_gradients", role->past[1], role->npast[1]);
	if (role->has[REGION_AFTER])
		emit_past(e, "past_received", role->past_received, role->npast[0]);
}

static void emit_past_of(struct emitter *e, const struct role *role)
{
	uint32_t stage = e->program->stage;
	if (role->npast[0])
		text_add(e->out, ".past = past_%u,\n.npast = %u,\n", stage, role->npast[0]);
	if (role->npast[0] && role->has[REGION_AFTER])
		text_add(e->out, ".past_received = past_received_%u,\n", stage);
	if (role->npast[1])
		text_add(e->out, ".past_gradients = past_gradients_%u,\n.npast_gradients = %u,\n",
			 stage, role->npast[1]);
}

static void emit_functions(struct emitter *e)
{
	const char *const *names = e->bodies[e->program->stage];
	text_add(e->out, ".start = %s,\n.begin = %s,\n.forward = %s,\n.backward = %s,\n",
		 names[BODY_START], names[BODY_BEGIN], names[BODY_FORWARD], names[BODY_BACKWARD]);
	if (names[BODY_MERGE])
		text_add(e->out, ".merge_sums = %s,\n.merge = %s,\n", names[BODY_MERGE_SUMS],
			 names[BODY_MERGE]);
	text_add(e->out, ".update = %s,\n", names[BODY_UPDATE]);
}

static void emit_logits(struct emitter *e, const struct role *role)
{
	if (role->logits == NO_ID)
		return;
	const struct buffer *logits = &e->program->buffers[role->logits];
	uint32_t vocab = logits->dims.at[logits->dims.n - 1];
	const struct flow *flow = e->program->flow;
	uint32_t cuts = spread_cuts(&logits->spread, &flow->factors, vocab);
	text_add(e->out, ".logits = %s,\n.logits_type = %s,\n.logits_columns = %s,\n",
		 emit_place_of(e, role->logits), emit_rt_type(logits->type),
		 emit_dim(e, vocab, false, cuts));
	if (cuts)
		text_add(e->out, ".logits_group = %s,\n", emit_group(e, cuts));
}

/* What only a stage of several has. */
static void emit_stage_of(struct emitter *e, const struct role *role)
{
	uint32_t stage = e->program->stage;
	if (!e->piped)
		return;
	text_add(e->out, ".places = places_%u,\n.homes = homes_%u,\n.chunks = chunks_%u,\n",
		 stage, stage, stage);
	text_add(e->out, ".layers = %llu,\n.carried = %s,\n.adjoint = %s,\n",
		 (unsigned long long)role->layers, emit_place_of(e, role->carried),
		 emit_place_of(e, role->adjoint));
	text_add(e->out, ".received = {%s,\n\t     %s},\n", emit_place_of(e, role->received[0]),
		 emit_place_of(e, role->received[1]));
	emit_past_of(e, role);
}

static void emit_role(struct emitter *e, const struct verdict *verdict)
{
	const struct role *role = &e->program->roles[0];
	const struct rt_schedule *s = &role->schedule;
	text_add(e->out, "{\n");
	e->out->indent++;
	text_add(e->out, ".name = \"%s\",\n.schedule = {%s, %u, %u, %u, %u, %u, {%u, %u}%s},\n",
		 role->name->text, s->kind == RT_GPIPE ? "RT_GPIPE" : "RT_1F1B", s->micro_batches,
		 s->stages, s->stage, s->chunks, s->slots, s->received[0], s->received[1],
		 s->past ? ", true" : "");
	if (e->piped)
		text_add(e->out, ".arena = %llu,\n", (unsigned long long)verdict->arena);
	else
		text_add(e->out, ".arena = ARENA_BYTES,\n");
	emit_functions(e);
	text_add(e->out, ".tokens = %s,\n.targets = %s,\n", emit_place_of(e, role->tokens),
		 emit_place_of(e, role->targets));
	text_add(e->out, ".control = %s,\n.sums = %s,\n", emit_place_of(e, role->control),
		 emit_place_of(e, role->sums));
	emit_logits(e, role);
	emit_stage_of(e, role);
	text_add(e->out, ".items = items%s,\n.nitems = %u,\n", suffix(e), verdict->nlines);
	e->out->indent--;
	text_add(e->out, "}");
}

static const struct verdict *verdict_of(const struct emitter *e, uint32_t stage)
{
	return e->verdict->stages ? &e->verdict->stages[stage] : e->verdict;
}

void emit_roles(struct emitter *e)
{
	uint32_t stage = 0;
	for (const struct layout *l = e->stages; l; l = l->next, stage++) {
		emit_stage(e, l);
		emit_items(e, verdict_of(e, stage));
		if (!e->piped)
			continue;
		emit_places(e);
		emit_chunks(e);
		emit_all_past(e);
		emit_homes(e);
	}
	emit_stage(e, e->stages);
	emit_params(e);
	text_add(e->out, "\n/* Turns follow from kind, micro-batches, stages, stage, chunks; then "
			 "slots and what waits. */\n"
			 "static const struct rt_role roles[] = {");
	stage = 0;
	for (const struct layout *l = e->stages; l; l = l->next, stage++) {
		emit_stage(e, l);
		text_add(e->out, "%s", stage ? ", " : "");
		emit_role(e, verdict_of(e, stage));
	}
	emit_stage(e, e->stages);
	text_add(e->out, "};\n");
}
