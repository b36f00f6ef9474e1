/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients on their way between ranks: the term of each rank is rounded to the type of the wire,
 * terms are added in fp32 or wider, the sum is rounded to that type once, and only then is it what
 * the accumulators hold. So it is the same on all ranks, with slices and without, whatever carries
 * it. */
#include "part/lower.h"

bool wire_differs(const struct lower *l, uint32_t factors)
{
	return l->program->gradient_wire != l->program->gradients &&
	       factors_ranks(&l->flow->factors, factors) > 1;
}

uint32_t wire_staging(struct lower *l, uint32_t of, bool one_layer)
{
	struct buffer b = l->buffers.at[of];
	b.name = name_of(l->work->names, arena_text(l->work->keep, "%s_sent", b.name->text));
	b.item = ITEM_COMM;
	b.part = "staging";
	b.type = l->program->gradient_wire;
	b.life = LIFE_SEGMENT;
	b.levels = 1;
	b.layers = one_layer ? 1 : b.layers;
	b.segment = b.from = b.to = NO_ID;
	return buffer_add(l, b);
}

enum rt_row wire_row(enum rt_type to)
{
	return to == RT_BF16 ? RT_ROW_narrow : RT_ROW_widen;
}
