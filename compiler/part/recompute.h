/* SPDX-License-Identifier: Apache-2.0 */
/* What backward computes again instead of keeping. */
#ifndef PART_RECOMPUTE_H
#define PART_RECOMPUTE_H

#include "part/collect.h"

/* The entry of the plan for a stage, or NULL where everything is kept. */
const struct recompute *recompute_of(const struct plan *plan, uint32_t stage);

/* The graph of a rank of a stage that gives up what chosen forward nodes make: with `block` all
 * of the repeated layer, with `selective` those of the named groups.
 * Assumes: what one segment leaves to another is there in its settled spread (collect.h).
 * Gives: the same forward nodes; a backward pass in which a chosen node stands again, once, in
 * front of the first node that reads what it makes, with tensors of its own. What it reads is kept,
 * or made again itself; collectives on the way are taken again. Kept in any case: what a segment
 * hands to the next one, logits. Numbers of tensors stay, new ones follow.
 * Changes no value: the same kernels on the same operands. Cannot fail. */
void flow_recompute(const struct flow *flow, const struct recompute *how, struct flow *out,
		    struct work *work);

#endif
