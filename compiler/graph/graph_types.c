/* SPDX-License-Identifier: Apache-2.0 */
/* Element types of tensors and buffers: rt/types.def for all floors. */
#include "graph/graph.h"

#include "base/bug.h"

static const struct type_row {
	const char *name;
	uint64_t bytes;
} types[] = {
#define RT_TYPE(id, size, text) [RT_##id] = {text, size},
#include "rt/types.def"
#undef RT_TYPE
};

static const struct type_row *type_row(enum rt_type type)
{
	BUG_IF((unsigned)type >= RT_TYPES, "element type %d", (int)type);
	return &types[type];
}

const char *graph_type_name(enum rt_type type)
{
	return type_row(type)->name;
}

uint64_t graph_type_bytes(enum rt_type type)
{
	return type_row(type)->bytes;
}
