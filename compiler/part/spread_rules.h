/* SPDX-License-Identifier: Apache-2.0 */
/* Which spread an operator needs of its operands and gives its results: one rule an operator, one
 * factor at a time, from named dims alone. */
#ifndef PART_SPREAD_RULES_H
#define PART_SPREAD_RULES_H

#include "part/spread.h"

struct ask {
	struct cut in[8], out[4];
};

struct rule_context {
	const struct graph *graph;
	const struct graph_node *node;
	const struct spread *wanted; /* by tensor */
	uint32_t factor;
	const struct factors *factors;
	bool partial; /* every operand is partial now, over all factors of this one's axis */
};

/* False if the split cannot be done: a dim is cut that the operator reduces over. */
bool spread_rule(const struct rule_context *context, struct ask *ask);

#endif
