/* SPDX-License-Identifier: Apache-2.0 */
#include "place/layout.h"

#include "base/bug.h"
#include "base/num.h"
#include "place/pack.h"
#include "place/peak.h"

enum { ALIGN_ELEMENTS = 64, ALIGN_BYTES = 64 };

struct placer {
	const struct program *program;
	struct work *work;
	struct place *places;
	uint64_t *sizes; /* of all copies, by buffer */
};

static uint64_t alignment(const struct buffer *buffer)
{
	uint64_t align = ALIGN_ELEMENTS * graph_type_bytes(buffer->type);

	return align > ALIGN_BYTES ? align : ALIGN_BYTES;
}

static bool too_large(const struct placer *placer, uint32_t index)
{
	const struct buffer *buffer = &placer->program->buffers[index];
	struct diag *diag =
		diag_add(placer->work->diags, E0114, buffer->span,
			 "the memory for `%s` does not fit 64 bits", buffer->name->text);

	diag_at(diag, "%llu layers, %llu slots, %llu lanes of %llu elements",
		(unsigned long long)buffer->layers, (unsigned long long)buffer->slots,
		(unsigned long long)buffer->levels, (unsigned long long)buffer->elements);
	return false;
}

/* Strides, and the bytes of all copies. */
static bool measure(struct placer *placer, uint32_t index)
{
	const struct buffer *buffer = &placer->program->buffers[index];
	struct place *place = &placer->places[index];

	BUG_IF(!buffer->layers || !buffer->slots || !buffer->levels, "`%s` has no copies",
	       buffer->name->text);
	place->layer_stride = buffer_stride(buffer);
	return place->layer_stride >= buffer->bytes && buffer->bytes != UINT64_MAX &&
	       num_mul(place->layer_stride, buffer->layers, &place->slot_stride) &&
	       num_add(place->slot_stride, buffer_tail(buffer), &place->slot_stride) &&
	       num_mul(place->slot_stride, buffer->slots, &place->level_stride) &&
	       num_mul(place->level_stride, buffer->levels, &placer->sizes[index]);
}

static bool measure_all(struct placer *placer)
{
	for (uint32_t i = 0; i < placer->program->nbuffers; i++)
		if (!measure(placer, i))
			return too_large(placer, i);
	return true;
}

/* Buffers that outlive a segment, item by item, in their order; common ones in front of all.
 * `*end`: behind the last one. */
static bool put_item(struct placer *placer, enum item item, bool common, uint64_t *end)
{
	const struct program *program = placer->program;

	for (uint32_t i = 0; i < program->nbuffers; i++) {
		const struct buffer *buffer = &program->buffers[i];

		if (buffer->item != item || buffer->life == LIFE_SEGMENT ||
		    buffer->common != common)
			continue;
		if (!num_align(*end, alignment(buffer), end))
			return too_large(placer, i);
		placer->places[i].offset = *end;
		if (!num_add(*end, placer->sizes[i], end))
			return too_large(placer, i);
	}
	return true;
}

static bool put_persistent(struct placer *placer, uint64_t *end)
{
	*end = 0;
	for (int common = 1; common >= 0; common--)
		for (enum item item = 0; item < ITEMS; item++)
			if (!put_item(placer, item, common, end))
				return false;
	return true;
}

/* A base that suits every packed buffer. The last buffer of the program takes the blame. */
static bool align_base(const struct placer *placer, uint64_t *base)
{
	const struct program *program = placer->program;
	uint64_t align = ALIGN_BYTES;

	for (uint32_t i = 0; i < program->nbuffers; i++)
		if (program->buffers[i].life == LIFE_SEGMENT &&
		    alignment(&program->buffers[i]) > align)
			align = alignment(&program->buffers[i]);
	return num_align(*base, align, base) || too_large(placer, program->nbuffers - 1);
}

static uint32_t collect(const struct placer *placer, uint32_t segment, struct block *blocks)
{
	const struct program *program = placer->program;
	uint32_t count = 0;

	for (uint32_t i = 0; i < program->nbuffers; i++) {
		const struct buffer *buffer = &program->buffers[i];

		if (buffer->life != LIFE_SEGMENT || buffer->segment != segment)
			continue;
		BUG_IF(buffer->from > buffer->to || buffer->to >= program->segments[segment].nsteps,
		       "`%s` lives outside its segment", buffer->name->text);
		blocks[count++] = (struct block){.bytes = placer->sizes[i],
						 .align = alignment(buffer),
						 .from = buffer->from,
						 .to = buffer->to,
						 .index = i};
	}
	return count;
}

/* Packs a segment from `base` up. `*height`: bytes it needs there, a multiple of 64. */
static bool pack_segment(struct placer *placer, uint32_t segment, struct block *blocks,
			 uint64_t base, uint64_t *height)
{
	uint32_t count = collect(placer, segment, blocks);
	uint64_t end;

	if (!pack(blocks, count, placer->work->scratch, height) ||
	    !num_align(*height, ALIGN_BYTES, height) || !num_add(base, *height, &end))
		return too_large(placer, blocks[0].index);
	for (uint32_t i = 0; i < count; i++)
		placer->places[blocks[i].index].offset = base + blocks[i].offset;
	return true;
}

static bool place_all(struct placer *placer, struct home *home)
{
	const struct program *program = placer->program;
	struct block *blocks = ARENA_ARRAY(placer->work->scratch, struct block, program->nbuffers);
	uint64_t *heights = ARENA_ARRAY(placer->work->scratch, uint64_t, program->nsegments);

	if (!measure_all(placer) || !put_persistent(placer, &home->persistent) ||
	    !align_base(placer, &home->persistent))
		return false;
	for (uint32_t i = 0; i < program->nsegments; i++)
		if (!pack_segment(placer, i, blocks, home->persistent, &heights[i]))
			return false;
	home->places = placer->places;
	peak_find(program, heights, home);
	return true;
}

/* Every role holds all buffers of the program, so their homes are alike. */
static bool place_stage(const struct program *program, struct layout *out, struct work *work)
{
	struct placer placer = {.program = program, .work = work};
	struct home *homes = ARENA_ARRAY(work->keep, struct home, program->nroles);
	struct home home = {0};

	placer.places = ARENA_ARRAY(work->keep, struct place, program->nbuffers);
	placer.sizes = ARENA_ARRAY(work->scratch, uint64_t, program->nbuffers);
	if (!place_all(&placer, &home))
		return false;
	for (uint32_t i = 0; i < program->nroles; i++)
		homes[i] = home;
	*out = (struct layout){.program = program, .homes = homes, .nhomes = program->nroles};
	return true;
}

bool place_build(const struct program *program, struct layout *out, struct work *work)
{
	struct layout *at = out;

	for (; place_stage(program, at, work); at = at->next) {
		program = program->next;
		if (!program)
			return true;
		at->next = ARENA_NEW(work->keep, struct layout);
	}
	return false;
}
