/* SPDX-License-Identifier: Apache-2.0 */
/* Where every buffer sits: offsets in one arena a role, from struct program alone. */
#ifndef PLACE_LAYOUT_H
#define PLACE_LAYOUT_H

#include "part/program.h"

/* Copy (layer, slot, level) of a buffer starts at offset + layer * layer_stride + slot *
 * slot_stride + level * level_stride; copies of one level lie side by side. Bytes. */
struct place {
	uint64_t offset, layer_stride, slot_stride, level_stride;
};

/* The fullest instant of a phase: items + gaps == total. Items are exact bytes of the buffers that
 * live then; gaps is what alignment and packing leave over. */
struct peak {
	uint64_t items[ITEMS], gaps, total;
	uint32_t segment, step; /* NO_ID: the phase has no segment */
};

struct home {
	const struct place *places; /* by buffer */
	struct peak peak[PHASES];
	uint64_t persistent; /* where the packed part starts: all but LIFE_SEGMENT lies below */
	uint64_t arena;	     /* the largest total; a multiple of 64 */
};

struct layout {
	struct layout *next; /* of the next stage, or NULL */
	const struct program *program;
	const struct home *homes;
	uint32_t nhomes;
};

/* Programs of all stages to layouts. Common buffers lie at the same place in each.
 * False with E0114 if bytes overflow 64 bits. */
bool place_build(const struct program *program, struct layout *out, struct work *work);

/* BUG() if two live buffers (or two copies of one) share a byte, a buffer is not aligned to 64
 * elements or lies outside the arena, or a peak does not add up. Shares no code with the packer. */
void layout_verify(const struct layout *layout);

/* --dump=layout */
void layout_print(const struct layout *layout, const struct work *work, struct text *out);

#endif
