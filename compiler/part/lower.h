/* SPDX-License-Identifier: Apache-2.0 */
/* Private to part/: the program while it grows. */
#ifndef PART_LOWER_H
#define PART_LOWER_H

#include "part/program.h"
#include "part/stage.h"

/* Where a tensor of the graph lives. */
struct site {
	uint32_t buffer; /* NO_ID: not yet */
	int8_t layer_plus;
};

struct lower {
	const struct plan *plan;
	const struct graph *graph; /* of a rank: flow->graph */
	const struct flow *flow;
	const struct model *model;
	struct work *work;
	struct program *program;
	VEC(struct buffer) buffers;
	VEC(struct segment) segments;
	VEC(struct step) steps;   /* of the segment that is made now */
	struct site *sites;       /* by tensor */
	const bool *outlives;     /* by tensor: read in another segment than its maker */
	const uint32_t *storage;  /* by tensor: the tensor whose buffer it shares */
	uint32_t levels;          /* copies of an accumulator */
	const struct stages *stages;
	uint32_t stage;
	bool has[REGIONS];        /* regions of this stage */
	const bool *here;         /* by parameter: this stage holds it */
	uint64_t layers, deepest; /* of this stage; of its largest chunk */
	uint32_t slots, received[2];
	uint32_t head_slots;      /* of what the head keeps */
	uint32_t carried, adjoint, arrived[2]; /* buffers, or NO_ID */
	uint32_t *past_arrived;   /* by tensor that passes by the layers forward */
	uint32_t node;            /* node that is lowered now */
	struct span span;
	VEC(struct group) groups;
	uint32_t tokens, targets, control, sums, exact, workspace;
	bool overflow;
	bool refused;             /* a call that no row of the kernel table computes */
};

/* ---- buffers (buffers.c) ---- */
struct buffer buffer_new(struct lower *l, const char *name, enum item item, enum rt_type type,
			 enum life life, struct dims dims);
uint32_t buffer_add(struct lower *l, struct buffer buffer);
void lower_buffers(struct lower *l);
/* Temporary of the segment that is made now. */
uint32_t buffer_scratch(struct lower *l, const char *what, struct size size, enum rt_type type);

/* ---- steps (steps.c) ---- */
/* Says once, at the node that is lowered now, that this version cannot emit what it asks: an error
 * for who asks for text, else a note. */
void lower_refuse(struct lower *l, const char *what);
struct size size_of(struct lower *l, struct dims dims, int64_t factor);
struct size size_logical(struct lower *l, struct dims dims);
/* Dims as a rank holds them in tensor `t`. */
struct size size_in(struct lower *l, struct tensor_id t, struct dims dims);
/* Where this rank's block begins, if `size` is one block: its index times the size. 0 if not cut.
 */
struct size size_index(struct lower *l, struct size size);
struct size size_number(int64_t value);
/* Appends a kernel step of the node that is lowered now; valid until the next call. */
struct step *step_new(struct lower *l, enum rt_row row, enum rt_type type, struct size rows);
void step_read(struct lower *l, struct step *step, struct tensor_id t);
void step_write(struct lower *l, struct step *step, struct tensor_id t);
/* All operands read, then all results written; absent ones have their place. */
void step_operands(struct lower *l, struct step *step, const struct graph_node *node);
void step_absent(struct step *step);
void step_use(struct lower *l, struct step *step, uint32_t buffer, bool write);
void step_size(struct step *step, struct size size);
void step_scalar(struct step *step, double scalar);
/* Ends the segment: steps made since the last one. Its number, or NO_ID if there are none. */
uint32_t segment_end(struct lower *l, const char *name, struct span span, enum phase phase,
		     enum region region, bool by_layer);

/* Factors of the pipeline. */
uint32_t pipeline_factors(const struct lower *l);
/* Layers of a parameter on this stage. */
uint64_t param_layers(const struct lower *l, uint32_t param);
/* Several copies side by side, padding between them included. */
bool param_layered(const struct lower *l, uint32_t param);

/* ---- ZeRO (zero.c) ---- */
/* Factors over which ZeRO slices the state of the optimizer. */
uint32_t zero_factors(const struct lower *l);
/* What is sliced: 0 nothing, 1 state of the optimizer, 2 and gradients, 3 and weights. */
int64_t zero_stage(const struct lower *l);
/* Gradients are reduced after each micro-batch, not once a step. */
bool zero_reduces_each(const struct lower *l);
/* The buffers of accumulators hold slices only. */
bool zero_cuts_gradients(const struct lower *l);
/* Sets flat, shard and layered of a parameter. */
void zero_slice(struct lower *l, uint32_t param);
/* Elements of one layer, all slices. */
uint64_t zero_flat(const struct lower *l, uint32_t param);
/* The window of a parameter whose weight is sliced. */
void zero_window(struct lower *l, uint32_t param);
/* Before the nodes of a segment: gathers the weights that they read, clears buckets for the
 * gradients that they add to. After them: reduces the buckets into the accumulators. */
void zero_open(struct lower *l, bool backward, enum region region);
void zero_close(struct lower *l, enum region region);

/* ---- wire (wire.c) ---- */
/* Gradients are sent over these factors in another type than they are kept in. */
bool wire_differs(const struct lower *l, uint32_t factors);
/* A buffer like `of`, or one layer of it, in the type of the wire, for the segment made now. */
uint32_t wire_staging(struct lower *l, uint32_t of, bool one_layer);
/* The row, of object bf16, that turns values into this type; the other one is bf16 or fp32. */
enum rt_row wire_row(enum rt_type to);

/* ---- groups (mends.c) ---- */
/* The group of ranks that differ in these factors only; made at its first use. */
uint32_t group_of(struct lower *l, uint32_t factors);

/* ---- operators, update, schedule ---- */
void lower_node(struct lower *l, uint32_t node);
/* element-wise operators with broadcasting (broadcast.c) */
void lower_add(struct lower *l, const struct graph_node *node);
void lower_sub(struct lower *l, const struct graph_node *node);
void lower_mul(struct lower *l, const struct graph_node *node);
void lower_reduce(struct lower *l, const struct graph_node *node);
/* the loss (lower_vocab.c) */
void lower_cross_entropy(struct lower *l, const struct graph_node *node);
void lower_cross_entropy_backward(struct lower *l, const struct graph_node *node);
void lower_vocab_max(struct lower *l, const struct graph_node *node);
void lower_vocab_sum(struct lower *l, const struct graph_node *node);
void lower_vocab_loss(struct lower *l, const struct graph_node *node);
/* collectives (mends.c) */
void lower_all_reduce(struct lower *l, const struct graph_node *node);
void lower_all_reduce_max(struct lower *l, const struct graph_node *node);
void lower_narrow(struct lower *l, const struct graph_node *node);
void lower_widen(struct lower *l, const struct graph_node *node);
void lower_reduce_scatter(struct lower *l, const struct graph_node *node);
void lower_all_gather(struct lower *l, const struct graph_node *node);
void lower_slice(struct lower *l, const struct graph_node *node);
void lower_update(struct lower *l, struct role *role);
/* Once: master copies are the first weights, widened. */
void lower_masters(struct lower *l, bool layer);
void lower_begin(struct lower *l, struct role *role);
void lower_merge(struct lower *l, struct role *role);

/* ---- reductions, optimizer (update.c) ---- */
/* Weights in bf16 without a master copy, each rounding drawn by the number of the element. */
bool rounds_by_chance(const struct lower *l);
/* Whether this stage adds to a use of a parameter, and has its sum then. */
bool sums_here(const struct lower *l, uint32_t param, uint32_t site);
/* Factors that split the batch, or everything else. */
uint32_t factors_where(const struct lower *l, bool data);

struct dims dims_head(struct dims dims, uint32_t n);   /* the first n */
struct dims dims_tail(struct dims dims, uint32_t n);   /* the last n */
struct dims dims_join(struct dims a, struct dims b);

/* Ends the segment that is made now and adds it to a body: once, or for every layer. Nothing if it
 * has no steps. */
void body_sweep(struct lower *l, struct body *body, const char *name, struct span span,
		enum phase phase, bool layer);
/* One segment, once. */
struct body body_once(struct lower *l, uint32_t segment);

#endif
