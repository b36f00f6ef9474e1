/* SPDX-License-Identifier: Apache-2.0 */
#include "place/pack.h"

#include <stdlib.h>

#include "base/num.h"

static int by_size(const void *left, const void *right)
{
	const struct block *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static bool meet(const struct block *a, const struct block *b)
{
	return a->from <= b->to && b->from <= a->to;
}

/* The lowest offset for `block` that touches no block alive with it. `placed` ascends by offset. */
static bool fit(struct block *block, struct block *const *placed, uint32_t count)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct block *other = placed[i];
		uint64_t end = other->offset + other->bytes;

		if (!meet(block, other) || end <= at)
			continue;
		if (at <= other->offset && block->bytes <= other->offset - at)
			break;
		if (!num_align(end, block->align, &at))
			return false;
	}
	block->offset = at;
	return num_add(at, block->bytes, &at);
}

static void insert(struct block **placed, uint32_t count, struct block *block)
{
	uint32_t i = count;

	for (; i && placed[i - 1]->offset > block->offset; i--)
		placed[i] = placed[i - 1];
	placed[i] = block;
}

bool pack(struct block *blocks, uint32_t count, struct arena *scratch, uint64_t *height)
{
	struct block **placed = ARENA_ARRAY(scratch, struct block *, count);

	*height = 0;
	if (count)
		qsort(blocks, count, sizeof *blocks, by_size);
	for (uint32_t i = 0; i < count; i++) {
		if (!fit(&blocks[i], placed, i))
			return false;
		insert(placed, i, &blocks[i]);
		if (blocks[i].offset + blocks[i].bytes > *height)
			*height = blocks[i].offset + blocks[i].bytes;
	}
	return true;
}
