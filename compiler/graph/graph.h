/* SPDX-License-Identifier: Apache-2.0 */
/* The training step of the whole model on one device, rolled: the repeated block once, no ranks. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/work.h"
#include "plan/plan.h"
#include "rt/kernel.h"

enum { SITES_MAX = 4 }; /* uses of one weight */

struct tensor_id {
	uint32_t at; /* index into graph->tensors; NO_ID: none */
};

enum op {
#define OP(name, ins, outs, gradient, phase, doc) OP_##name,
#include "graph/ops.def"
#undef OP
	OPS
};

enum tensor_role {
	ROLE_GIVEN,    /* tokens, targets, position */
	ROLE_PARAM,    /* a weight that forward and backward read */
	ROLE_GRADIENT, /* accumulator of one use of a weight: added to, never written */
	ROLE_CONSTANT, /* made once: rotary tables */
	ROLE_VALUE,    /* result of a forward node */
	ROLE_STATISTIC,/* per-row figures that backward reads */
	ROLE_ADJOINT,  /* gradient of a value */
	ROLES
};

struct tensor {
	const struct name *name; /* "attention.q", "attention.q.grad"; unique in the graph */
	struct span span;
	enum tensor_role role;
	enum rt_type type;
	struct dims dims;
	enum region region;      /* where it is made */
	uint32_t param;          /* ROLE_PARAM, ROLE_GRADIENT: index into params; else NO_ID */
	uint32_t site;           /* ROLE_GRADIENT: which use, from 0 */
	bool carried;            /* enters or leaves the repeated block */
	bool sent;               /* of a rank: what goes over the wire, in its type */
	bool again;              /* made once more in the backward pass (part/recompute.h) */
	bool instead;            /* kept for what is made once more, and for nothing else */
};

struct graph_node {
	enum op op;              /* part/ adds operators of its own after OPS */
	enum region region;
	bool backward;
	bool again;              /* a forward node, taken once more (part/recompute.h) */
	struct span span;
	const char *group;       /* "attention.core" */
	uint32_t origin;         /* backward: the forward node it came from; else itself */
	struct tensor_id in[8], out[4]; /* at NO_ID: absent (an optional operand) */
	uint8_t nin, nout;
	bool adds;               /* out[0] takes over the storage of in[nin - 1] and is added to */
	struct dims from, to;    /* linear, lookup: both sides; norms: along in from */
	bool causal;
	double scalar[6];        /* in the order of the kernel row */
	uint32_t stream;         /* dropout: its random stream; copies of a layer follow */
	uint32_t factors;        /* collectives of part/: mesh factors they run over */
};

/* One logical parameter. */
struct param {
	const char *path;        /* "layer.mlp.down_proj.weight" */
	const char *stored;      /* "model.layers.{layer}.mlp.down_proj.weight" */
	const struct name *name; /* "mlp_down_proj_weight": an identifier, unique */
	struct span span;
	enum region region;
	uint64_t layers;         /* copies */
	struct dims rows, columns; /* linear [out, in], lookup [V, E]; vectors: no columns */
	bool transposed;         /* stored as [columns, rows] */
	int32_t piece;           /* of one stored tensor, or -1 */
	enum rt_init_rule { PARAM_ZERO, PARAM_ONE, PARAM_NORMAL } init;
	double std;
	bool decay;
	uint32_t stream;         /* number of its random stream, copies follow */
	uint32_t sites;          /* uses: each has its own accumulator */
	struct tensor_id weight, gradient[SITES_MAX];
};

struct graph {
	const struct plan *plan;
	const struct model *model;
	struct tensor *tensors;
	uint32_t ntensors;
	/* forward before, repeat, after; backward after, repeat, before */
	struct graph_node *nodes;
	uint32_t nnodes;
	/* nodes [first[backward][region], first + count) */
	uint32_t first[2][REGIONS], count[2][REGIONS];
	struct param *params;    /* in text order */
	uint32_t nparams;
	struct tensor_id given[GIVENS];
	struct tensor_id carried_in, carried_out;     /* NO_ID without a repeat */
	struct tensor_id adjoint_in, adjoint_out;     /* their gradients */
	struct tensor_id logits, loss_rows;           /* of the cross entropy */
	uint64_t nstreams;       /* random streams used */
};

/* Elements of a tensor, padding included (padded == true) or logical. UINT64_MAX on overflow. */
uint64_t graph_elements(const struct graph *graph, struct dims dims, bool padded);
/* Logical weights of the model; false on overflow. */
bool graph_params(const struct graph *graph, uint64_t *out);

/* "bf16", and bytes of one element. */
const char *graph_type_name(enum rt_type type);
uint64_t graph_type_bytes(enum rt_type type);

struct op_row {
	const char *name, *doc;
	uint8_t ins, outs;
	bool backward;
};
const struct op_row *op_row(enum op op);

/* Plan to forward and backward graph. Assumes: all rules passed. Gives: nodes in topological order,
 * every tensor with a span. False: a diagnostic was added. */
bool graph_build(const struct plan *plan, struct graph *out, struct work *work);

/* BUG() if the graph does not hold together: inputs before uses, shapes by the operator's rule,
 * each parameter with a gradient for each use. */
void graph_verify(const struct graph *graph);

/* --dump=graph */
void graph_print(const struct graph *graph, const struct work *work, struct text *out);

#endif
