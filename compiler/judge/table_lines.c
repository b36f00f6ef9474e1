/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/table_lines.h"

#include <string.h>

#include "base/num.h"

struct maker {
	const struct verdict *verdict;
	const struct program *program;
	struct work *work;
	VEC(struct verdict_line) lines;
};

/* What the buffers of one item, or of one part of it, have in common. */
struct tally {
	uint64_t bytes;
	uint32_t buffers;
	uint64_t types[RT_TYPES]; /* bytes of each */
	uint64_t cut;		  /* each holds 1 / cut of its tensor; 0: they differ */
	const struct buffer *largest;
	uint64_t largest_bytes;
};

const char *lines_item(enum item item)
{
	static const char *const names[] = {
#define ITEM(id, name, doc) name,
#include "part/items.def"
#undef ITEM
	};

	return names[item];
}

static uint64_t bytes_of(const struct buffer *buffer)
{
	return buffer->bytes * buffer->layers * buffer->slots * buffer->levels;
}

uint64_t lines_bytes(const struct program *program, uint32_t buffer)
{
	return buffer == NO_ID ? 0 : bytes_of(&program->buffers[buffer]);
}

static bool alive(const struct verdict *verdict, const struct buffer *buffer)
{
	return buffer->life != LIFE_SEGMENT ||
	       (buffer->segment == verdict->at.segment && buffer->from <= verdict->at.step &&
		verdict->at.step <= buffer->to);
}

/* Factors that cut a dim of the model. The batch of the model is that of one rank already. */
static uint32_t cuts(const struct program *program, const struct buffer *buffer)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < program->graph->model->ndims; i++)
		mask |= spread_cuts(&buffer->spread, &program->flow->factors, i);
	return mask;
}

/* Ranks that hold different slices of the buffer's tensor. */
static uint64_t slices(const struct program *program, const struct buffer *buffer)
{
	return factors_ranks(&program->flow->factors, cuts(program, buffer) | buffer->flat);
}

/* Buffers of the item alive at the instant; `part` NULL: all of them. */
static struct tally tally_of(const struct maker *maker, enum item item, const char *part)
{
	struct tally tally = {0};

	for (uint32_t i = 0; i < maker->program->nbuffers; i++) {
		const struct buffer *buffer = &maker->program->buffers[i];
		uint64_t cut = slices(maker->program, buffer);

		if (buffer->item != item || !alive(maker->verdict, buffer))
			continue;
		if (part && (!buffer->part || strcmp(part, buffer->part) != 0))
			continue;
		/* a bucket says nothing of how the accumulators are cut */
		if (part || item != ITEM_GRADIENTS || buffer->life != LIFE_SEGMENT)
			tally.cut = !tally.buffers || tally.cut == cut ? cut : 0;
		tally.buffers++;
		tally.types[buffer->type] += bytes_of(buffer);
		tally.bytes += bytes_of(buffer);
		if (!tally.largest || bytes_of(buffer) > tally.largest_bytes) {
			tally.largest = buffer;
			tally.largest_bytes = bytes_of(buffer);
		}
	}
	return tally;
}

/* "bf16", "fp32 + int32": types that hold at least a hundredth. */
static const char *types_text(const struct tally *tally, struct arena *arena)
{
	const char *text = "";

	for (int i = 0; i < RT_TYPES; i++)
		if (tally->types[i] && tally->types[i] >= tally->bytes / 100)
			text = arena_text(arena, "%s%s%s", text, *text ? " + " : "",
					  graph_type_name((enum rt_type)i));
	return text;
}

/* "fp32", "fp32, 1/8" */
static const char *detail_plain(const struct maker *maker, const struct tally *tally)
{
	struct arena *arena = maker->work->keep;
	const char *types = types_text(tally, arena);

	if (tally->cut < 2)
		return types;
	return arena_text(arena, "%s, 1/%llu", types, (unsigned long long)tally->cut);
}

/* "bf16, 1/8 of 8.03 G" */
static const char *detail_weights(const struct maker *maker, const struct tally *tally)
{
	struct arena *arena = maker->work->keep;
	bool whole = tally->cut == 1 && maker->program->stages < 2;

	return arena_text(arena, "%s%s %s", detail_plain(maker, tally), whole ? "," : " of",
			  num_short(arena, maker->verdict->params));
}

/* "fp32, 3 levels of lanes" */
static const char *detail_gradients(const struct maker *maker, const struct tally *tally)
{
	const char *plain = detail_plain(maker, tally);

	if (tally->largest->levels < 2)
		return plain;
	return arena_text(maker->work->keep, "%s, %llu levels of lanes", plain,
			  (unsigned long long)tally->largest->levels);
}

/* "master + 2 moments, fp32" */
static const char *detail_optimizer(const struct maker *maker, const struct tally *tally)
{
	const struct program *program = maker->program;
	bool master = false, first = false, second = false;

	for (uint32_t i = 0; program->params && i < program->graph->nparams; i++) {
		master |= program->params[i].master != NO_ID;
		first |= program->params[i].moment1 != NO_ID;
		second |= program->params[i].moment2 != NO_ID;
	}
	return arena_text(maker->work->keep, "%s%s%s, %s", master ? "master" : "",
			  master && first ? " + " : "",
			  second  ? "2 moments"
			  : first ? "1 moment"
				  : "",
			  detail_plain(maker, tally));
}

/* Layers of a slot: of the largest chunk. What blocks hand on has one copy more. */
static uint64_t layers_of_slot(const struct maker *maker)
{
	const struct role *role = &maker->program->roles[maker->verdict->role];
	uint64_t most = role->chunks ? 0 : maker->program->graph->model->layers;

	for (uint32_t i = 0; role->chunks && i < role->schedule.chunks; i++)
		if (role->chunks[i].count > most)
			most = role->chunks[i].count;
	return most;
}

/* "32 layers x 16 384 tokens, bf16"; slots are micro-batches kept at once. What blocks hand on has
 * one copy more than there are layers. Nothing of layers where none keeps anything. */
static const char *detail_kept(const struct maker *maker, enum item item,
			       const struct tally *tally)
{
	const struct plan *plan = maker->program->plan;
	struct arena *arena = maker->work->keep;
	uint64_t layers = 1, slots = 1, most = layers_of_slot(maker), tokens;
	const char *text;

	for (uint32_t i = 0; i < maker->program->nbuffers; i++) {
		const struct buffer *buffer = &maker->program->buffers[i];

		if (buffer->item != item || buffer->life != LIFE_SLOT)
			continue;
		layers = buffer->layers > layers ? buffer->layers : layers;
		slots = buffer->slots > slots ? buffer->slots : slots;
	}
	layers = layers < most ? layers : most;
	if (!num_mul((uint64_t)plan->train.micro_batch.i, (uint64_t)plan->train.seq_len.i, &tokens))
		return detail_plain(maker, tally);
	text = arena_text(arena, "%s tokens", num_grouped(arena, tokens));
	if (layers > 1 || most == 1)
		text = arena_text(arena, "%llu layer%s x %s", (unsigned long long)layers,
				  layers == 1 ? "" : "s", text);
	if (slots > 1)
		text = arena_text(arena, "%s x %llu", text, (unsigned long long)slots);
	return arena_text(arena, "%s, %s", text, detail_plain(maker, tally));
}

static const char *detail_activations(const struct maker *maker, const struct tally *tally)
{
	return detail_kept(maker, ITEM_ACTIVATIONS, tally);
}

static const char *detail_recompute(const struct maker *maker, const struct tally *tally)
{
	return detail_kept(maker, ITEM_RECOMPUTE, tally);
}

/* "largest of 7: `mlp_up_grad`, fp32" */
static const char *detail_working(const struct maker *maker, const struct tally *tally)
{
	if (tally->buffers < 2)
		return detail_plain(maker, tally);
	return arena_text(maker->work->keep, "%u buffers, largest %s", tally->buffers,
			  tally->largest->name->text);
}

static const char *detail_of(const struct maker *maker, enum item item, const struct tally *tally)
{
	static const char *(*const rows[ITEMS])(const struct maker *, const struct tally *) = {
		[ITEM_WEIGHTS] = detail_weights,     [ITEM_GRADIENTS] = detail_gradients,
		[ITEM_OPTIMIZER] = detail_optimizer, [ITEM_ACTIVATIONS] = detail_activations,
		[ITEM_RECOMPUTE] = detail_recompute, [ITEM_WORKING] = detail_working,
	};

	return rows[item] ? rows[item](maker, tally) : detail_plain(maker, tally);
}

/* Ranks that a dim is cut over. */
static uint64_t ranks_of(const struct maker *maker, const struct buffer *buffer, uint32_t dim)
{
	const struct factors *factors = &maker->program->flow->factors;

	return factors_ranks(factors, spread_cuts(&buffer->spread, factors, dim));
}

/* "16 384 x 128 256": rows of a micro-batch are one number, and cut as one. */
static const char *sizes_text(const struct maker *maker, const struct buffer *buffer)
{
	const struct model *model = maker->program->graph->model;
	struct arena *arena = maker->work->keep;
	const char *text = "";

	for (uint32_t i = 0; i < buffer->dims.n; i++) {
		uint32_t dim = buffer->dims.at[i];
		uint64_t size = model->dims[dim].padded, ranks = ranks_of(maker, buffer, dim);

		if (dim == model->batch && i + 1 < buffer->dims.n &&
		    buffer->dims.at[i + 1] == model->tokens) {
			size *= model->dims[model->tokens].padded;
			ranks *= ranks_of(maker, buffer, buffer->dims.at[++i]);
		}
		size /= ranks;
		text = arena_text(arena, "%s%s%s", text, *text ? " x " : "",
				  num_grouped(arena, size));
	}
	return text;
}

static void push(struct maker *maker, const char *name, const char *detail, int depth,
		 uint64_t bytes)
{
	if (bytes)
		vec_push(maker->work->keep, &maker->lines,
			 (struct verdict_line){name, detail, depth, bytes});
}

static bool part_seen(const struct maker *maker, uint32_t from, const char *part)
{
	for (uint32_t i = from; i < maker->lines.n; i++)
		if (!strcmp(maker->lines.at[i].name, part))
			return true;
	return false;
}

static void push_part(struct maker *maker, enum item item, const char *part)
{
	struct tally tally = tally_of(maker, item, part);
	const char *types = detail_plain(maker, &tally);

	if (tally.buffers == 1 && tally.largest->dims.n)
		types = arena_text(maker->work->keep, "%s, %s", sizes_text(maker, tally.largest),
				   types);
	push(maker, part, types, 1, tally.bytes);
}

/* A line for an item and one for each of its parts, in the order of the buffers. */
static void push_item(struct maker *maker, enum item item)
{
	struct tally tally = tally_of(maker, item, NULL);
	uint32_t from;

	if (!tally.bytes)
		return;
	push(maker, lines_item(item), detail_of(maker, item, &tally), 0, tally.bytes);
	from = maker->lines.n;
	for (uint32_t i = 0; i < maker->program->nbuffers; i++) {
		const struct buffer *buffer = &maker->program->buffers[i];

		if (buffer->item == item && buffer->part && alive(maker->verdict, buffer) &&
		    !part_seen(maker, from, buffer->part))
			push_part(maker, item, buffer->part);
	}
}

/* "first-light.plan:38", without the folder: emitted text does not depend on where a plan lies. */
static const char *written_at(struct span span, struct work *work)
{
	const char *where = span.hi ? sources_where(work->sources, work->keep, span) : "";
	const char *slash = strrchr(where, '/');

	return slash ? slash + 1 : where;
}

void lines_build(struct verdict *out, struct work *work)
{
	struct maker maker = {.verdict = out, .program = out->layout->program, .work = work};
	struct span reserve = out->plan->memory.reserve.span;

	for (int item = 0; item < ITEMS; item++)
		push_item(&maker, item);
	push(&maker, "gaps", "alignment and packing", 0, out->at.gaps);
	push(&maker, "outside", "context, code, libraries", 0, out->outside);
	push(&maker, "reserve", written_at(reserve, work), 0, out->reserve);
	out->lines = maker.lines.at;
	out->nlines = maker.lines.n;
}
