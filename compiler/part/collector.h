/* SPDX-License-Identifier: Apache-2.0 */
/* Private to collect*.c: the graph of a rank while it grows. */
#ifndef PART_COLLECTOR_H
#define PART_COLLECTOR_H

#include "base/vec.h"
#include "part/collect.h"

enum { NO_SEGMENT = -1 };

/* A tensor of the whole graph as this rank holds it, in one spread. */
struct version {
	uint32_t tensor; /* of the whole graph */
	struct tensor_id local;
	int segment; /* where it may be read; NO_SEGMENT: everywhere */
	bool dead;   /* reduced in place since */
};

struct collector {
	const struct graph *graph;
	struct work *work;
	struct factors factors;
	struct spread *wanted; /* by tensor of the whole graph */
	bool *outlives;	       /* by tensor: read in another segment */
	VEC(struct version) versions;
	VEC(struct tensor) tensors; /* of the rank */
	VEC(struct spread) spreads;
	VEC(struct graph_node) nodes;
	const struct graph_node *node; /* that is handled now */
	uint32_t origin;	       /* its number in the rank's graph, for backward nodes */
	uint32_t *moved;	       /* by node of the whole graph: its number in the rank's */
	uint32_t placed;	       /* number of the last node that computes */
	int segment;
	enum rt_type compute, wire, term; /* of values, of partial sums as sent, and until then */
	bool failed;
};

/* A tensor in a spread, named after it; the node that is handled now makes it. */
struct tensor_id collector_local(struct collector *c, uint32_t tensor, struct spread spread);
/* The latest live version in this spread, or (NULL) in any; NULL: there is none. */
struct version *collector_find(struct collector *c, uint32_t tensor, const struct spread *spread);
/* The version to start from: the wanted one if it is there, else the latest. */
struct version *collector_current(struct collector *c, uint32_t tensor);
/* Appends a node like the one that is handled now, without operands. */
struct graph_node *collector_node(struct collector *c, uint32_t op);
/* Values and gradients of values: what is computed in the type of arithmetic. */
bool collector_is_value(const struct collector *c, uint32_t tensor);
/* The same elements in another type; what they were in is not read again. */
struct tensor_id collector_convert(struct collector *c, uint32_t tensor, struct tensor_id from,
				   enum rt_type type, bool sent);
/* The tensor in this spread, with the collectives that lead to it. */
struct tensor_id collector_need(struct collector *c, struct tensor_id t,
				const struct spread *spread);

#endif
