/* SPDX-License-Identifier: Apache-2.0 */
/* Private to graph/: the graph while it grows. */
#ifndef GRAPH_BUILD_H
#define GRAPH_BUILD_H

#include "base/vec.h"
#include "graph/graph.h"

struct builder {
	const struct plan *plan;
	const struct model *model; /* with the dim of keys, if attention is stored */
	uint32_t keys;            /* that dim: tokens once more; NO_ID: tiled */
	struct work *work;
	VEC(struct tensor) tensors;
	VEC(struct graph_node) nodes;
	VEC(struct param) params;
	enum region region;       /* of the nodes made now */
	bool backward;
	uint32_t origin;          /* forward node that a backward node stems from */
	const struct dims *dims;  /* of each value of the model */
	struct tensor_id *values; /* tensor of each value of the model */
	uint32_t streams;         /* random streams of dropout handed out */
	uint32_t param_streams;
	struct graph *graph;
	struct adjoint *adjoints; /* by tensor, during reverse mode */
	uint32_t nadjoints;
	bool failed;
};

/* The gradient of a tensor so far. */
struct adjoint {
	struct tensor_id sum;
	bool owned; /* a tensor made for this sum alone: may be added to in place */
};

static const struct tensor_id no_tensor = {NO_ID};

struct tensor_id build_tensor(struct builder *b, enum tensor_role role, const char *name,
			      const char *clash, struct span span, struct dims dims);
/* Appends a node in the builder's region and phase; `in` and `out` are filled by the caller. */
struct graph_node *build_node(struct builder *b, enum op op, struct span span);
enum rt_type build_type(const struct builder *b, enum tensor_role role);
struct dims build_dims(const struct builder *b, struct tensor_id t);

/* Weight (and bias) of a call; no_tensor where it has none. Reports a faulty tie. */
void build_params(struct builder *b, const struct model_call *call, struct tensor_id *weight,
		  struct tensor_id *bias);

/* Reverse mode over all forward nodes; sets adjoint_in, adjoint_out of the graph. */
void build_backward(struct builder *b);

#define GRADIENT(name)                                                                             \
	void gradient_##name(struct builder *b, uint32_t node, struct tensor_id dy)
GRADIENT(lookup);
GRADIENT(linear);
GRADIENT(layernorm);
GRADIENT(rmsnorm);
GRADIENT(rope);
GRADIENT(attend);
GRADIENT(attend_stored);
GRADIENT(unary);
GRADIENT(add);
GRADIENT(sub);
GRADIENT(mul);
GRADIENT(dropout);
GRADIENT(cross_entropy);
GRADIENT(copy);
GRADIENT(nothing);

/* Adds `term` to the gradient of `of`. owned: `term` was made for this. */
void adjoint_add(struct builder *b, struct tensor_id of, struct tensor_id term, bool owned);
/* True if gradients flow into this tensor at all. */
bool adjoint_wanted(const struct builder *b, struct tensor_id of);
/* A new tensor for a term of the gradient of `of`. */
struct tensor_id adjoint_new(struct builder *b, struct tensor_id of, struct span span);

#endif
