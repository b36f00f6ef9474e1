/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a plan: an architecture with its sizes and options put in, names bound, conditions
 * decided; operator calls in text order over named dims. Still rolled: the repeated block once. */
#ifndef PLAN_MODEL_H
#define PLAN_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/name.h"
#include "base/source.h"
#include "base/work.h"
#include "plan/value.h"

enum operator_id {
#define OPERATOR(name, operands, arrow, params, doc) OPERATOR_##name,
#include "plan/operators.def"
#undef OPERATOR
	OPERATORS
};

enum { DIM_MAX = 8, NO_ID = 0xffffffffu };

/* A dim is its name. Index into model->dims. */
struct dim {
	const struct name *name;
	uint64_t size;   /* logical */
	uint64_t padded; /* in memory: vocab_pad_to applied; else == size */
	struct span span; /* where the size was given */
};

struct dims {
	uint32_t n;
	uint32_t at[DIM_MAX]; /* outermost first */
};

enum region { REGION_BEFORE, REGION_REPEAT, REGION_AFTER, REGIONS };
enum init_rule { INIT_NORMAL, INIT_RESIDUAL };

/* A weight's name: `as "N"` with the prefix of its repeat; shared by its weight and bias. */
struct model_name {
	const char *stored;  /* "h.{layer}.attn.c_attn", without .weight and piece */
	const char *path;    /* "layer.attn.c_attn[0]": prefix of the repeat written `layer` */
	int32_t piece;       /* of one stored tensor, joined along the output; -1: whole */
	struct span span;
};

struct model_call {
	enum operator_id op;
	enum region region;
	struct span span;
	const struct name *binding;  /* name on the left of `=`; NULL for an inner expression */
	const char *group;           /* "attention.core", or "" outside groups */
	uint32_t operands[4], noperands; /* values */
	uint32_t result;             /* value; cross_entropy: the loss */
	struct dims from, to;        /* both sides of `->`; norms: `along` in from, never empty */
	const struct model_name *as; /* NULL: no parameters, or tied */
	const struct model_name *tied; /* the weight it shares: stored name and piece */
	bool bias, causal, stored_in_out; /* stored_in_out: the hub keeps [in, out] */
	enum init_rule init;
	double eps, rate, base;      /* eps; dropout rate; base of rope */
	double scaling[4];           /* rope: factor, low, high, original context; factor 1: none */
};

enum given { GIVEN_TOKENS, GIVEN_TARGETS, GIVEN_POSITION, GIVENS }; /* values 0..2 */

/* A size or option with its value, in the architecture's order. */
struct model_setting {
	const struct name *name;
	struct value value;
	bool size;
};

struct model {
	const struct name *name;         /* of the model */
	const struct name *architecture;
	struct span span;
	struct span architecture_span;   /* its whole text */
	struct model_setting *settings;
	uint32_t nsettings;
	struct dim *dims;                /* sizes in the architecture's order, then batch, tokens */
	uint32_t ndims, batch, tokens;   /* batch, tokens: their indices */
	uint64_t layers;                 /* copies of the repeated block; 1 if there is none */
	struct span layers_span;
	uint32_t layers_dim;             /* how often it repeats; NO_ID: no repeated block */
	uint32_t vocab;                  /* dim that vocab_pad_to pads, of the loss; or NO_ID */
	struct model_call *calls;        /* before, repeat, after; each in text order */
	uint32_t ncalls, nvalues;
	/* the tensor carried through the repeated block: on entry, and bound at its end */
	uint32_t carried_in, carried_out; /* NO_ID: no repeated block */
	uint32_t loss;                   /* call that makes it */
	struct dims tensor_dims;         /* `tensor dims [...]` of the architecture */
	const struct dims *value_dims;   /* of each value, by model_infer */
	bool complete;                   /* no fault was reported: all of the above holds */
};

/* Name, number of operands, has `A -> B`, has parameters. */
struct operator_row {
	const char *name, *doc;
	uint32_t operands;
	bool arrow, params;
};
const struct operator_row *operator_row(enum operator_id op);

uint32_t model_dim(const struct model *model, const struct name *name); /* or NO_ID */
/* "[batch, tokens, embed]" */
char *model_dims_text(const struct model *model, const struct dims *dims, struct arena *arena);
/* True if `dim` is one of them. */
bool dims_have(const struct dims *dims, uint32_t dim);
struct dims dims_without(struct dims dims, uint32_t dim);
/* Product of the logical sizes; false on overflow. */
bool model_elements(const struct model *model, const struct dims *dims, uint64_t *out);
/* Weights and biases that the call makes in one copy, logical; 0 for a tied one. False on
 * overflow. */
bool model_call_params(const struct model *model, const struct model_call *call, uint64_t *out);
/* Exact number of weights: padding not counted, tied ones once. False on overflow. Assumes:
 * complete. */
bool model_params(const struct model *model, uint64_t *out);
/* Dims of every value from the calls' dims, by the operators table. `value_dims` has nvalues
 * places. False, with E0213 at each faulty call, if one does not fit; what follows from it raises
 * nothing. */
bool model_infer(const struct model *model, struct dims *value_dims, struct work *work);

#endif
