/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of one rank: every tensor in the spreads in which it is needed, with the collectives
 * that lead from one to the other. */
#ifndef PART_COLLECT_H
#define PART_COLLECT_H

#include "part/spread.h"

/* Operators of a rank: those of the graph, then those of mends.def. */
enum mend {
	MEND_BEFORE = OPS - 1,
#define MEND(name, ins, outs, doc) OP_##name,
#include "part/mends.def"
#undef MEND
	RANK_OPS
};
struct op_row rank_op_row(uint32_t op);

struct flow {
	struct graph graph;           /* nodes and tensors of a rank; dims are still global names */
	const struct spread *spreads; /* by tensor: divides the sizes of its dims */
	const bool *settled;          /* by tensor: it is in the spread in which it is kept */
	struct factors factors;
};

/* Where an operator needs another spread than its operand has, a mend is put before it: partial to
 * whole all_reduce, partial to rows reduce_scatter, cut to whole all_gather, whole to cut slice. A
 * sum of partial terms is mended once. Between segments a tensor is kept in its wanted spread and
 * gathered again. Terms of a sum are of the wider of the types of arithmetic and of the
 * wire; they are turned into that of the wire where they are sent, and the sum into that of
 * arithmetic. False with E0314 where a split asks for what no operator can do. */
bool flow_build(const struct graph *graph, struct flow *out, struct work *work);

/* Element type that a word of `precision` stands for. */
enum rt_type flow_type(const struct value *word);

/* Factors over which a rank's gradient of a parameter is one term of the sum. */
uint32_t flow_partial(const struct flow *flow, struct tensor_id gradient);

#endif
