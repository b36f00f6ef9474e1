/* SPDX-License-Identifier: Apache-2.0 */
#include "place/layout.h"

#include "base/bug.h"

/* Nothing here comes from pack.c, place.c or peak.c: a fault there must not hide itself. Arithmetic
 * is in 128 bits, so it cannot wrap. */
enum { COPY_DIMS = 3 };

static unsigned __int128 first_byte(const struct home *home, uint32_t index)
{
	return home->places[index].offset;
}

/* Behind the last copy. */
static unsigned __int128 last_byte(const struct layout *layout, const struct home *home,
				   uint32_t index)
{
	const struct buffer *buffer = &layout->program->buffers[index];
	const struct place *place = &home->places[index];

	return (unsigned __int128)place->offset +
	       (unsigned __int128)(buffer->layers - 1) * place->layer_stride +
	       (unsigned __int128)(buffer->slots - 1) * place->slot_stride +
	       (unsigned __int128)(buffer->levels - 1) * place->level_stride + buffer->bytes +
	       (unsigned __int128)buffer->tail * graph_type_bytes(buffer->type);
}

/* Copies of one buffer: taken from the narrowest stride up, each stride steps over all below it. */
static void verify_copies(const struct buffer *buffer, const struct place *place)
{
	uint64_t counts[COPY_DIMS] = {buffer->layers, buffer->slots, buffer->levels};
	uint64_t strides[COPY_DIMS] = {place->layer_stride, place->slot_stride,
				       place->level_stride};
	uint64_t align = 64 * graph_type_bytes(buffer->type);
	unsigned __int128 reach = buffer->bytes;

	BUG_IF(place->offset % align, "`%s` is not aligned", buffer->name->text);
	for (int done = 0; done < COPY_DIMS; done++) {
		int next = -1;

		for (int i = 0; i < COPY_DIMS; i++)
			if (counts[i] > 1 && (next < 0 || strides[i] < strides[next]))
				next = i;
		if (next < 0)
			return;
		BUG_IF(strides[next] % align, "copies of `%s` are not aligned", buffer->name->text);
		BUG_IF(strides[next] < reach, "copies of `%s` overlap", buffer->name->text);
		reach += (unsigned __int128)(counts[next] - 1) * strides[next];
		counts[next] = 1;
	}
}

/* True if there is a moment at which both hold something. */
static bool live_together(const struct buffer *a, const struct buffer *b)
{
	if (a->life != LIFE_SEGMENT || b->life != LIFE_SEGMENT)
		return true;
	if (a->segment != b->segment)
		return false;
	return !(a->to < b->from || b->to < a->from);
}

static void verify_pairs(const struct layout *layout, const struct home *home, uint32_t index)
{
	const struct buffer *buffers = layout->program->buffers;
	unsigned __int128 first = first_byte(home, index), last = last_byte(layout, home, index);

	for (uint32_t i = 0; i < index; i++) {
		if (first >= last_byte(layout, home, i) || first_byte(home, i) >= last)
			continue;
		BUG_IF(live_together(&buffers[i], &buffers[index]), "`%s` and `%s` overlap",
		       buffers[i].name->text, buffers[index].name->text);
	}
}

/* A buffer of a segment ends within what its phase needs, any other below the packed part. */
static void verify_bounds(const struct layout *layout, const struct home *home, uint32_t index)
{
	const struct program *program = layout->program;
	const struct buffer *buffer = &program->buffers[index];
	unsigned __int128 last = last_byte(layout, home, index);

	BUG_IF(last > home->arena, "`%s` lies outside the arena", buffer->name->text);
	if (buffer->life != LIFE_SEGMENT) {
		BUG_IF(last > home->persistent, "`%s` reaches into the packed part",
		       buffer->name->text);
		return;
	}
	BUG_IF(buffer->segment >= program->nsegments, "`%s` belongs to no segment",
	       buffer->name->text);
	BUG_IF(first_byte(home, index) < home->persistent, "`%s` lies in the persistent part",
	       buffer->name->text);
	BUG_IF(last > home->peak[program->segments[buffer->segment].phase].total,
	       "`%s` lies over the peak of its phase", buffer->name->text);
}

/* What the buffers that live at the instant of the peak hold, summed anew. */
static void verify_peak(const struct layout *layout, const struct peak *peak)
{
	unsigned __int128 items[ITEMS] = {0}, sum = peak->gaps;

	for (uint32_t i = 0; i < layout->program->nbuffers; i++) {
		const struct buffer *buffer = &layout->program->buffers[i];
		bool here = buffer->life != LIFE_SEGMENT ||
			    (buffer->segment == peak->segment && buffer->from <= peak->step &&
			     peak->step <= buffer->to);

		if (here)
			items[buffer->item] += (unsigned __int128)buffer->bytes * buffer->layers *
					       buffer->slots * buffer->levels;
	}
	for (int i = 0; i < ITEMS; i++) {
		BUG_IF(items[i] != peak->items[i], "item %d of a peak is wrong", i);
		sum += items[i];
	}
	BUG_IF(sum != peak->total, "items and gaps are not the total");
}

static void verify_home(const struct layout *layout, const struct home *home)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < layout->program->nbuffers; i++) {
		verify_copies(&layout->program->buffers[i], &home->places[i]);
		verify_bounds(layout, home, i);
		verify_pairs(layout, home, i);
	}
	for (int i = 0; i < PHASES; i++) {
		verify_peak(layout, &home->peak[i]);
		if (home->peak[i].total > largest)
			largest = home->peak[i].total;
	}
	BUG_IF(home->arena != largest, "the arena is not the largest total");
	BUG_IF(home->arena % 64, "the arena is no multiple of 64");
}

static void verify_layout(const struct layout *layout)
{
	BUG_IF(layout->nhomes != layout->program->nroles, "a role has no home");
	for (uint32_t i = 0; i < layout->nhomes; i++)
		verify_home(layout, &layout->homes[i]);
}

/* Stages add up what is common in place: it lies where it does in the first one. */
static void verify_common(const struct layout *layout, const struct layout *first)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < layout->program->nbuffers; i++) {
		if (!layout->program->buffers[i].common)
			continue;
		while (k < first->program->nbuffers && !first->program->buffers[k].common)
			k++;
		BUG_IF(k == first->program->nbuffers, "more common buffers than in stage 0");
		BUG_IF(layout->homes[0].places[i].offset != first->homes[0].places[k].offset,
		       "`%s` lies elsewhere in stage 0", layout->program->buffers[i].name->text);
		k++;
	}
}

void layout_verify(const struct layout *layout)
{
	for (const struct layout *at = layout; at; at = at->next) {
		verify_layout(at);
		verify_common(at, layout);
	}
}
