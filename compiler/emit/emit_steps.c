/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the runtime a step. */
#include "emit/emit_text.h"

#include <math.h>
#include <string.h>

#include "base/bug.h"

struct row_counts {
	const char *name;
	uint32_t ins, outs;
};

static const struct row_counts rows[] = {
#define LIB(name) {#name, 0, 0},
#define LOOP(name, block, ins, outs, sizes, scalars) {#name, ins, outs},
#include "rt/kernels.def"
#undef LIB
#undef LOOP
};

/* The local variable that holds a use's address. */
static const char *local(struct emitter *e, const struct use *use)
{
	if (use->buffer == NO_ID)
		return "NULL";
	const char *name = emit_buffer(e, use->buffer);
	if (use->layer_plus)
		return arena_text(e->arena, "%s_next", name);
	if (use->shard)
		return arena_text(e->arena, "%s_slice", name);
	return use->level_plus ? arena_text(e->arena, "%s_above", name) : name;
}

/* "{a, b, c}" of uses [first, first + n). */
static char *list(struct emitter *e, const struct step *step, uint32_t first, uint32_t n)
{
	char *text = arena_text(e->arena, "%s", "{");
	for (uint32_t i = first; i < first + n; i++) {
		const char *one = step->uses[i].buffer == NO_ID ? "NULL" : local(e, &step->uses[i]);
		text = arena_text(e->arena, "%s%s%s", text, i > first ? ", " : "", one);
	}
	return arena_text(e->arena, "%s}", text);
}

/* Rows of a step over all layers, a slice or all slices of a parameter: constants of plan.h. */
static char *rows_of(struct emitter *e, const struct step *step)
{
	const struct graph *graph = e->program->graph;
	if (!(step->flags & (STEP_WHOLE | STEP_SHARD | STEP_FLAT)))
		return emit_size(e, &step->rows);
	for (uint32_t i = 0; i < step->nuses; i++) {
		const struct buffer *b = &e->program->buffers[step->uses[i].buffer];
		if (b->param == NO_ID)
			continue;
		const char *name = emit_param_name(e, b->param);
		bool slice = step->flags & STEP_SHARD || b->flat;
		bool layers = slice && !(step->flags & STEP_SHARD);
		const char *number = step->flags & STEP_CHUNK ? "at->layers" : "rt_layers(rt)";
		if (layers && e->piped && graph->params[b->param].region == REGION_REPEAT)
			return arena_text(e->arena, "%s * SLICE_%s", number, name);
		if (step->flags & STEP_CHUNK)
			return arena_text(e->arena, "%s * LAYER_%s", number, name);
		if (layers && b->layers > 1)
			return arena_text(e->arena, "%llu * SLICE_%s",
					  (unsigned long long)b->layers, name);
		const struct param_buffers *p = &e->program->params[b->param];
		uint64_t ranks = factors_ranks(&e->program->flow->factors, p->flat);
		if (step->flags & STEP_FLAT && !p->layered)
			return arena_text(e->arena, "%llu * SLICE_%s", (unsigned long long)ranks,
					  name);
		return arena_text(e->arena, "%s_%s",
				  step->flags & STEP_FLAT ? "FLAT"
				  : slice		  ? "SLICE"
							  : "ALL",
				  name);
	}
	return arena_text(e->arena, "%lld", (long long)step->rows.value);
}

/* The number of a layer in the whole model, added to a random stream. Of a stage the update knows
 * its own number only. */
static const char *stream_layer(const struct emitter *e, const struct step *step)
{
	if (!e->piped)
		return " + at->layer";
	return step->node == NO_ID ? " + rt_model_layer(rt, at->layer)"
				   : " + at->layer + at->shift";
}

static void emit_sizes(struct emitter *e, const struct step *step)
{
	if (step->nsizes == 0)
		return;
	text_add(e->out, ".size = {");
	for (uint32_t i = 0; i < step->nsizes; i++) {
		const char *size = step->row == RT_ROW_square_sum
					   ? rows_of(e, step)
					   : emit_size(e, &step->sizes[i]);
		const char *layer = i == 0 && step->stream_by_layer ? stream_layer(e, step) : "";
		text_add(e->out, "%s%s%s", i ? ", " : "", size, layer);
	}
	text_add(e->out, "},\n");
}

static void emit_scalars(struct emitter *e, const struct step *step)
{
	if (step->nscalars == 0)
		return;
	text_add(e->out, ".scalar = {");
	for (uint32_t i = 0; i < step->nscalars; i++)
		text_add(e->out, "%s%s", i ? ", " : "", emit_double(e, step->scalars[i]));
	text_add(e->out, "},\n");
}

/* True if the row writes or reads what kernels.def calls G in fp32 beside values in bf16: the first
 * input of an optimizer, else the first output. */
static bool mixed(const struct emitter *e, const struct step *step)
{
	static const bool is_mixed[RT_ROWS] = {
#define LIB(name)
#define LOOP(name, block, ins, outs, sizes, scalars)
#define MIXED(name) [RT_ROW_##name] = true,
#include "rt/kernels.def"
#undef LIB
#undef LOOP
	};
	bool optimizer = step->row == RT_ROW_adamw || step->row == RT_ROW_adamw_master ||
			 step->row == RT_ROW_adamw_stochastic;
	if (step->type != RT_BF16 || !is_mixed[step->row])
		return false;
	const struct use *use = &step->uses[optimizer ? 0 : rows[step->row].ins];
	return e->program->buffers[use->buffer].type == RT_F32;
}

static void emit_loop(struct emitter *e, const struct step *step)
{
	const struct row_counts *row = &rows[step->row];
	text_add(e->out, "RT_TRY(rt_run(rt, 0, &rt_%s_%s%s, %s, &(struct rt_args){\n", row->name,
		 emit_suffix(step->type == RT_I32 ? e->program->compute : step->type),
		 mixed(e, step) ? "_f32" : "", rows_of(e, step));
	e->out->indent++;
	if (row->ins)
		text_add(e->out, ".in = %s,\n", list(e, step, 0, row->ins));
	text_add(e->out, ".out = %s,\n", list(e, step, row->ins, row->outs));
	emit_sizes(e, step);
	emit_scalars(e, step);
	e->out->indent--;
	text_add(e->out, "}));\n");
}

static void emit_matmul(struct emitter *e, const struct step *step)
{
	const struct use *u = step->uses;
	text_add(e->out, "RT_TRY(rt_matmul(rt, 0, &(struct rt_matmul){\n");
	e->out->indent++;
	text_add(e->out, ".type = %s, .m = %s, .n = %s, .k = %s,\n", emit_rt_type(step->type),
		 emit_size(e, &step->sizes[0]), emit_size(e, &step->sizes[1]),
		 emit_size(e, &step->sizes[2]));
	text_add(e->out, ".a = %s, .b = %s, .c = %s,\n", local(e, &u[MATMUL_A]),
		 local(e, &u[MATMUL_B]), local(e, &u[MATMUL_C]));
	if (step->flags & STEP_TRANS_A)
		text_add(e->out, ".trans_a = true,\n");
	if (step->flags & STEP_TRANS_B)
		text_add(e->out, ".trans_b = true,\n");
	if (step->flags & STEP_ADDS)
		text_add(e->out, ".accumulate = true,\n");
	if (step->flags & STEP_WIDE)
		text_add(e->out, ".wide_c = true,\n");
	if (u[MATMUL_BIAS].buffer != NO_ID && step->bias_by)
		text_add(e->out, ".epilogue = {.bias = rt_index(rt, %s) == 0 ? %s : NULL},\n",
			 emit_group(e, step->bias_by), local(e, &u[MATMUL_BIAS]));
	else if (u[MATMUL_BIAS].buffer != NO_ID)
		text_add(e->out, ".epilogue = {.bias = %s},\n", local(e, &u[MATMUL_BIAS]));
	text_add(e->out, ".workspace = %s, .workspace_bytes = WORKSPACE_BYTES,\n",
		 local(e, &u[MATMUL_WORKSPACE]));
	e->out->indent--;
	text_add(e->out, "}));\n");
}

/* What all rows of attention take. Scores are scaled by 1 / sqrt(head). */
static void emit_attention(struct emitter *e, const struct step *step)
{
	const struct use *u = step->uses;
	uint32_t control = step->nuses - 1;
	text_add(e->out, ".type = %s, .batch = %s, .tokens = %s,\n", emit_rt_type(step->type),
		 emit_size(e, &step->sizes[0]), emit_size(e, &step->sizes[1]));
	text_add(e->out, ".heads = %s, .kv_heads = %s, .head = %s,\n",
		 emit_size(e, &step->sizes[2]), emit_size(e, &step->sizes[3]),
		 emit_size(e, &step->sizes[4]));
	text_add(e->out, ".causal = %s, .scale = %s, .dropout = %s,\n",
		 step->flags & STEP_CAUSAL ? "true" : "false",
		 emit_double(e, 1 / sqrt((double)step->sizes[4].value)),
		 emit_double(e, step->scalars[0]));
	if (u[control].buffer != NO_ID)
		text_add(e->out, ".stream_id = %s%s, .control = %s,\n",
			 emit_size(e, &step->sizes[5]),
			 step->stream_by_layer ? stream_layer(e, step) : "", local(e, &u[control]));
	if (u[control].buffer != NO_ID && step->sizes[6].index_in)
		text_add(e->out, ".first_head = %s, .all_heads = %s,\n",
			 emit_size(e, &step->sizes[6]), emit_size(e, &step->sizes[7]));
	text_add(e->out, ".q = %s, .k = %s, .v = %s, .out = %s,\n", local(e, &u[0]),
		 local(e, &u[1]), local(e, &u[2]), local(e, &u[3]));
}

/* Of the forward pass, in front of the arguments of the way back. */
static void emit_stored(struct emitter *e, const struct step *step, bool backward)
{
	const struct use *u = step->uses;
	text_add(e->out, ".attend = {\n");
	e->out->indent++;
	emit_attention(e, step);
	e->out->indent--;
	text_add(e->out, "},\n.probabilities = %s, .dropped = %s, .mask = %s,\n",
		 local(e, &u[4]), local(e, &u[5]), local(e, &u[6]));
	if (!backward)
		text_add(e->out, ".scores = %s,\n", local(e, &u[7]));
}

static void emit_attend(struct emitter *e, const struct step *step, bool stored, bool backward)
{
	uint32_t dy = stored ? 7 : 5;
	const struct use *u = step->uses;
	text_add(e->out, "RT_TRY(rt_%s(rt, 0, &(struct rt_%s){\n", rows[step->row].name,
		 rows[step->row].name);
	e->out->indent++;
	if (backward) {
		text_add(e->out, ".forward = {\n");
		e->out->indent++;
	}
	if (stored) {
		emit_stored(e, step, backward);
	} else {
		emit_attention(e, step);
		text_add(e->out, ".lse = %s,\n", local(e, &u[4]));
	}
	if (backward) {
		e->out->indent--;
		text_add(e->out, "},\n.dout = %s,\n", local(e, &u[dy]));
		text_add(e->out, ".dq = %s, .dk = %s, .dv = %s,\n", local(e, &u[dy + 1]),
			 local(e, &u[dy + 2]), local(e, &u[dy + 3]));
	}
	e->out->indent--;
	text_add(e->out, "}));\n");
}

static void emit_load(struct emitter *e, const struct step *step)
{
	text_add(e->out, "RT_TRY(rt_load_batch(rt, 0, at, &(struct rt_load_batch){\n");
	e->out->indent++;
	text_add(e->out, ".tokens = %s, .targets = %s, .control = %s,\n", local(e, &step->uses[0]),
		 local(e, &step->uses[1]), local(e, &step->uses[2]));
	text_add(e->out, ".batch = %s, .length = %s,\n", emit_size(e, &step->sizes[0]),
		 emit_size(e, &step->sizes[1]));
	e->out->indent--;
	text_add(e->out, "}));\n");
}

/* All copies of a buffer, levels included unless it says which. */
static void emit_clear(struct emitter *e, const struct step *step)
{
	const struct use *use = &step->uses[0];
	const struct buffer *b = &e->program->buffers[use->buffer];
	text_add(e->out, "RT_TRY(rt_clear(rt, 0, &(struct rt_clear){\n");
	text_add(e->out, "\t.at = %s,\n", local(e, use));
	if (b->levels > 1 && !(step->flags & STEP_CHUNK))
		text_add(e->out,
			 e->piped ? "\t.bytes = %srt_place(rt, PLACE_%s)->level_stride,\n"
				  : "\t.bytes = %splace_%s.level_stride,\n",
			 use->level_plus ? "" : "N_LEVELS * ", emit_buffer(e, use->buffer));
	else if (b->param != NO_ID)
		text_add(e->out, "\t.bytes = %s * %llu,\n", rows_of(e, step),
			 (unsigned long long)graph_type_bytes(b->type));
	else
		text_add(e->out, "\t.bytes = %llu,\n", (unsigned long long)b->bytes);
	text_add(e->out, "}));\n");
}

/* reduce_scatter: elements of a block. all_gather, slice: blocks outside the dim, elements inside.
 */
static void emit_blocks(struct emitter *e, const struct step *step)
{
	static const char *const names[] = {NULL, NULL, "reduce_scatter", "all_gather", "slice"};
	bool sums = step->collective == COLLECTIVE_REDUCE_SCATTER;
	const char *group = emit_group_at(e, step->group);
	text_add(e->out, "RT_TRY(rt_%s(rt, 0, %s, %s, %s,\n", names[step->collective],
		 group, local(e, &step->uses[0]), local(e, &step->uses[1]));
	if (sums)
		text_add(e->out, "\t\t     %s, %s, RT_ORDER_TREE));\n", rows_of(e, step),
			 emit_rt_type(step->type));
	else
		text_add(e->out, "\t\t     %s, %s, %s));\n", emit_size(e, &step->sizes[0]),
			 step->flags & STEP_SHARD ? rows_of(e, step)
						  : emit_size(e, &step->sizes[1]),
			 emit_rt_type(step->type));
}

static void emit_collective(struct emitter *e, const struct step *step)
{
	const char *group = emit_group_at(e, step->group);
	bool max = step->collective == COLLECTIVE_MAX;
	text_add(e->out, "RT_TRY(rt_all_reduce%s(rt, 0, %s, %s,\n", max ? "_max" : "",
		 group, local(e, &step->uses[0]));
	text_add(e->out, "\t\t     %s, %s%s));\n", rows_of(e, step), emit_rt_type(step->type),
		 max ? "" : ", RT_ORDER_TREE");
}

/* One stage to another one. */
static void emit_hand(struct emitter *e, const struct step *step)
{
	text_add(e->out, "RT_TRY(rt_hand(rt, 0, %s, %u, %u, %s,\n",
		 emit_group_at(e, step->group), step->peers[0], step->peers[1],
		 local(e, &step->uses[0]));
	text_add(e->out, "\t       %s, %s));\n", rows_of(e, step), emit_rt_type(step->type));
}

static void emit_step(struct emitter *e, const struct step *step)
{
	if (step->first_only)
		text_add(e->out, "if (at->micro_batch == 0)\n\t");
	if (step->kind == STEP_COLLECTIVE && step->collective == COLLECTIVE_HAND) {
		emit_hand(e, step);
		return;
	}
	if (step->kind == STEP_COLLECTIVE) {
		if (step->collective <= COLLECTIVE_MAX)
			emit_collective(e, step);
		else
			emit_blocks(e, step);
		return;
	}
	if (step->counted_by) {
		text_add(e->out, "if (rt_index(rt, %s) == 0)\n", emit_group(e, step->counted_by));
		text_add(e->out, "\t");
	}
	switch (step->row) {
	case RT_ROW_matmul:
		emit_matmul(e, step);
		break;
	case RT_ROW_attend_forward:
	case RT_ROW_attend_backward:
		emit_attend(e, step, false, step->row == RT_ROW_attend_backward);
		break;
	case RT_ROW_attend_stored_forward:
	case RT_ROW_attend_stored_backward:
		emit_attend(e, step, true, step->row == RT_ROW_attend_stored_backward);
		break;
	case RT_ROW_load_batch:
		emit_load(e, step);
		break;
	case RT_ROW_clear:
		emit_clear(e, step);
		break;
	default:
		emit_loop(e, step);
	}
}

static bool same_use(const struct use *a, const struct use *b)
{
	return a->buffer == b->buffer && a->layer_plus == b->layer_plus &&
	       a->level_plus == b->level_plus && a->shard == b->shard;
}

static bool used_before(const struct segment *segment, uint32_t step, uint32_t use)
{
	const struct use *want = &segment->steps[step].uses[use];
	for (uint32_t s = 0; s <= step; s++)
		for (uint32_t u = 0; u < (s == step ? use : segment->steps[s].nuses); u++)
			if (same_use(&segment->steps[s].uses[u], want))
				return true;
	return false;
}

static void emit_local(struct emitter *e, const struct use *use)
{
	const struct buffer *b = &e->program->buffers[use->buffer];
	const char *copy = use->level_plus ? "ABOVE" : use->layer_plus ? "NEXT" : "HERE";
	text_add(e->out, "%s *%s = %s(%s)", emit_type(b->type), local(e, use), copy,
		 emit_buffer(e, use->buffer));
	if (use->shard)
		text_add(e->out, ";\n%s += rt_index(rt, %s) * SLICE_%s", local(e, use),
			 emit_group(e, e->program->params[b->param].flat),
			 emit_param_name(e, b->param));
	text_add(e->out, ";\n");
}

/* Addresses first, one a buffer and copy. */
static void emit_locals(struct emitter *e, const struct segment *segment)
{
	bool above = false;
	for (uint32_t s = 0; s < segment->nsteps; s++)
		for (uint32_t u = 0; u < segment->steps[s].nuses; u++)
			above |= segment->steps[s].uses[u].level_plus != 0;
	if (above)
		text_add(e->out, "const struct rt_at above = {.layer = at->layer, "
				 ".level = at->level + 1};\n");
	for (uint32_t s = 0; s < segment->nsteps; s++)
		for (uint32_t u = 0; u < segment->steps[s].nuses; u++) {
			const struct use *use = &segment->steps[s].uses[u];
			if (use->buffer != NO_ID && !used_before(segment, s, u))
				emit_local(e, use);
		}
	text_add(e->out, "\n");
}

/* In front of the source of a step. */
static const char *prefix_of(const struct emitter *e, const struct step *step)
{
	const struct graph_node *nodes = e->program->graph->nodes;
	if (step->node == NO_ID || !nodes[step->node].backward)
		return "";
	return nodes[step->node].again ? "again: " : "gradient of ";
}

/* True if a comment for step `at` would say what the last one said. */
static bool same_source(struct emitter *e, const struct segment *s, uint32_t at)
{
	if (at == 0)
		return false;
	const struct step *a = &s->steps[at - 1], *b = &s->steps[at];
	struct position pa = sources_position(e->work->sources, a->span.lo);
	struct position pb = sources_position(e->work->sources, b->span.lo);
	return !strcmp(prefix_of(e, a), prefix_of(e, b)) && pa.source == pb.source &&
	       pa.line == pb.line;
}

void emit_steps(struct emitter *e, uint32_t segment)
{
	const struct segment *s = &e->program->segments[segment];
	emit_locals(e, s);
	for (uint32_t i = 0; i < s->nsteps; i++) {
		const struct step *step = &s->steps[i];
		if (!same_source(e, s, i))
			emit_source(e, step->span, prefix_of(e, step));
		emit_step(e, step);
	}
}
