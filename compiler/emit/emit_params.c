/* SPDX-License-Identifier: Apache-2.0 */
/* The table of parameters: names in a checkpoint, logical shapes, initial weights. */
#include "emit/emit_text.h"

#include <string.h>

struct pieces {
	uint64_t count, rows, first; /* of one stored tensor; rows before this piece */
};

static struct pieces pieces_of(const struct graph *graph, const struct param *param)
{
	struct pieces pieces = {0};
	for (uint32_t i = 0; i < graph->nparams; i++) {
		const struct param *other = &graph->params[i];
		if (strcmp(other->stored, param->stored))
			continue;
		uint64_t rows = graph_elements(graph, other->rows, false);
		pieces.count++;
		pieces.rows += rows;
		if (other->piece < param->piece)
			pieces.first += rows;
	}
	return pieces;
}

static char *product(struct emitter *e, struct dims dims, bool logical)
{
	struct size size = {.dims = dims, .logical = logical, .factor = 1, .value = 1};
	return dims.n ? emit_size(e, &size) : arena_text(e->arena, "%s", "0");
}

/* Elements of one side of a weight on this rank, and the factors that cut it. */
static uint64_t side(struct emitter *e, const struct param *param, struct dims dims,
		     uint32_t *cuts)
{
	const struct flow *flow = e->program->flow;
	*cuts = 0;
	for (uint32_t i = 0; i < dims.n; i++)
		*cuts |= spread_cuts(&flow->spreads[param->weight.at], &flow->factors, dims.at[i]);
	if (dims.n == 0)
		return 0;
	return graph_elements(e->program->graph, dims, true) / factors_ranks(&flow->factors, *cuts);
}

/* Which block of a cut weight is here. */
static void emit_blocks(struct emitter *e, const struct param *param)
{
	uint32_t row_cuts, column_cuts;
	uint64_t rows = side(e, param, param->rows, &row_cuts);
	uint64_t columns = side(e, param, param->columns, &column_cuts);
	if (!row_cuts && !column_cuts)
		return;
	text_add(e->out, ".local_rows = %llu, .local_columns = %llu,\n", (unsigned long long)rows,
		 (unsigned long long)columns);
	text_add(e->out, ".row_group = %s, .column_group = %s,\n",
		 row_cuts ? emit_group(e, row_cuts) : "-1",
		 column_cuts ? emit_group(e, column_cuts) : "-1");
}

/* Which slices are here. */
static void emit_slices(struct emitter *e, const struct param_buffers *b,
			const struct buffer *buffers)
{
	unsigned long long shard = b->shard;
	if (!b->flat)
		return;
	if (buffers[b->weight].flat)
		text_add(e->out, ".weight_slice = %llu,\n", shard);
	text_add(e->out, ".gradient_slice = %llu, .moment_slice = %llu,\n", shard, shard);
	if (!buffers[b->gradient[0]].flat)
		text_add(e->out, ".gradient_in_place = true,\n");
	if (!b->layered)
		text_add(e->out, ".layers_joined = true,\n");
	text_add(e->out, ".flat_group = %s,\n", emit_group(e, b->flat));
}

static void emit_shape(struct emitter *e, const struct param *param)
{
	const struct graph *graph = e->program->graph;
	text_add(e->out, ".layers = %s,\n",
		 param->region == REGION_REPEAT ? "N_LAYERS" : "1");
	text_add(e->out, ".rows = %s, .columns = %s, .padded_rows = %s,\n",
		 product(e, param->rows, true), product(e, param->columns, true),
		 product(e, param->rows, false));
	if (param->transposed)
		text_add(e->out, ".transposed = true,\n");
	emit_blocks(e, param);
	if (param->piece < 0)
		return;
	struct pieces pieces = pieces_of(graph, param);
	text_add(e->out, ".piece = %d, .pieces = %llu, .stored_rows = %llu, .first_row = %llu,\n",
		 param->piece, (unsigned long long)pieces.count, (unsigned long long)pieces.rows,
		 (unsigned long long)pieces.first);
}

/* The first stage that holds a parameter. */
static const struct program *holder(const struct emitter *e, uint32_t param)
{
	const struct layout *l = e->stages;
	while (l->program->params[param].weight == NO_ID)
		l = l->next;
	return l->program;
}

static void emit_param(struct emitter *e, uint32_t at)
{
	static const char *const inits[] = {"RT_INIT_ZERO", "RT_INIT_ONE", "RT_INIT_NORMAL"};
	const struct param *param = &e->program->graph->params[at];
	const struct program *home = holder(e, at);
	const struct param_buffers *b = &home->params[at];
	const struct buffer *buffers = home->buffers;
	text_add(e->out, "{\n");
	e->out->indent++;
	text_add(e->out, ".path = %s,\n.stored = %s,\n", emit_string(e, param->path),
		 emit_string(e, param->stored));
	emit_shape(e, param);
	emit_slices(e, b, buffers);
	text_add(e->out, ".init = %s, .std = %s, .id = %u, .decay = %s,\n", inits[param->init],
		 emit_double(e, param->std), param->stream, param->decay ? "true" : "false");
	text_add(e->out, ".type = %s, .gradient_type = %s, .state_type = %s,\n",
		 emit_rt_type(buffers[b->weight].type), emit_rt_type(buffers[b->gradient[0]].type),
		 emit_rt_type(buffers[b->moment1].type));
	if (!e->piped && b->master != NO_ID)
		text_add(e->out, ".master = %s,\n", emit_place_of(e, b->master));
	if (!e->piped)
		text_add(e->out, ".weight = %s,\n.gradient = %s,\n.moment1 = %s,\n"
				 ".moment2 = %s,\n",
			 emit_place_of(e, b->weight), emit_place_of(e, b->gradient[0]),
			 emit_place_of(e, b->moment1), emit_place_of(e, b->moment2));
	e->out->indent--;
	text_add(e->out, "},\n");
}

void emit_params(struct emitter *e)
{
	text_add(e->out, "\nstatic const struct rt_param params[] = {\n");
	e->out->indent++;
	for (uint32_t i = 0; i < e->program->graph->nparams; i++)
		emit_param(e, i);
	e->out->indent--;
	text_add(e->out, "};\n");
}

/* Where a stage has its parameters. */
void emit_homes(struct emitter *e)
{
	text_add(e->out, "\nstatic const struct rt_param_home homes_%u[] = {\n", e->program->stage);
	for (uint32_t i = 0; i < e->program->graph->nparams; i++) {
		const struct param_buffers *b = &e->program->params[i];
		text_add(e->out, "\t{%s, %s,\n\t %s, %s,\n\t %s},\n", emit_place_of(e, b->weight),
			 emit_place_of(e, b->gradient[0]), emit_place_of(e, b->moment1),
			 emit_place_of(e, b->moment2), emit_place_of(e, b->master));
	}
	text_add(e->out, "};\n");
}
