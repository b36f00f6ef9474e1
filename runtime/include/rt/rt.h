/* SPDX-License-Identifier: Apache-2.0 */
/* The one header that generated programs include: tables that describe the program, the calls it
 * makes, and rt_main. */
#ifndef RT_RT_H
#define RT_RT_H

#include <stddef.h>
#include <stdint.h>

#include "rt/kernel.h"
#include "rt/schedule.h"

enum { RT_ABI = 3 };

struct rt;

/* Every call gives 0, or -1 after it has logged what failed; a segment passes it on. */
#define RT_TRY(call)                                                                               \
	do {                                                                                       \
		if ((call) != 0)                                                                   \
			return -1;                                                                 \
	} while (0)

/* ---- memory ---------------------------------------------------------------------------------- */

/* Where a buffer sits in the arena, bytes. A stride is 0 where there is one copy only. */
struct rt_place {
	int64_t offset;
	int64_t layers, layer_stride; /* copy layer % layers */
	int64_t slots, slot_stride;   /* copy slot % slots */
	int64_t levels, level_stride; /* copy level % levels: gradients of lanes */
	int64_t bytes;                /* of one copy; 0: not stated */
};

/* Which copy a segment works on. Of a stage of a pipeline: a turn is handed the first of `layers`
 * layers of its chunk, counted on this stage; layer + shift is the number in the whole model. */
struct rt_at {
	int64_t layer, slot, level, micro_batch;
	int64_t layers, chunk, shift;
};

/* First byte of the copy of `place`; layer is at->layer + plus. */
void *rt_buffer(struct rt *rt, const struct rt_place *place, const struct rt_at *at, int plus);

/* What differs by stage: the place of a buffer, by its number; layers of this stage. */
const struct rt_place *rt_place(struct rt *rt, uint32_t buffer);
int64_t rt_layers(struct rt *rt);
/* Number in the whole model of a layer of this stage. */
int64_t rt_model_layer(struct rt *rt, int64_t layer);

/* Elements of a slice of `n` over `ranks`, a multiple of 64. */
#define RT_SLICE(n, ranks) (((n) + (ranks) * 64 - 1) / ((ranks) * 64) * 64)

/* ---- device calls (streams: 0 = compute) ------------------------------------------------- */

int rt_run(struct rt *rt, int stream, const struct rt_kernel *kernel, int64_t rows,
	   const struct rt_args *args);

enum rt_activation { RT_NONE, RT_GELU, RT_GELU_ERF, RT_SILU, RT_RELU };

/* In this order, on the finished sums: + bias, written to pre_activation too, act, + residual. */
struct rt_epilogue {
	const void *bias, *residual; /* [n], [m, n]; NULL: absent */
	enum rt_activation act;
	void *pre_activation;
};

/* c[m, n] = op(a) op(b) (+ c if accumulate) then the epilogue. op transposes: a is [m, k], or
 * [k, m] with trans_a; b is [k, n], or [n, k] with trans_b. Sums in fp32 or wider, rounded once to
 * the type of c; each step of an epilogue is rounded to `type`, as it would be on its own. */
struct rt_matmul {
	enum rt_type type;
	int64_t m, n, k;
	const void *a, *b;
	void *c;
	bool trans_a, trans_b, accumulate;
	struct rt_epilogue epilogue;
	void *workspace;
	int64_t workspace_bytes; /* at least rt_matmul_workspace(..) of rt/workspace.h */
	bool wide_c;             /* c is fp32 while `type` is bf16; of an epilogue the bias only */
};
int rt_matmul(struct rt *rt, int stream, const struct rt_matmul *args);

/* q, out: [batch, tokens, heads, head]; k, v: [batch, tokens, kv_heads, head]; lse: of `type`, fp32
 * for bf16, [batch, heads, tokens]. Never stores tokens x tokens. heads is a multiple of kv_heads;
 * head h reads k/v head h / (heads / kv_heads). Scores are scaled by `scale`. */
struct rt_attend_forward {
	enum rt_type type;
	int64_t batch, tokens, heads, kv_heads, head;
	double scale, dropout;
	int64_t stream_id;     /* dropout stream; element [sample, first_head + head, query, key] */
	bool causal;
	const void *q, *k, *v;
	const double *control; /* for dropout; may be NULL when dropout == 0 */
	void *out, *lse;
	int64_t first_head, all_heads; /* of the tensor these heads are cut from, for the dropout
					* mask; all_heads 0: these are all */
};
int rt_attend_forward(struct rt *rt, int stream, const struct rt_attend_forward *args);

struct rt_attend_backward {
	struct rt_attend_forward forward; /* out and lse are read */
	const void *dout;
	void *dq, *dk, *dv;               /* written */
};
int rt_attend_backward(struct rt *rt, int stream, const struct rt_attend_backward *args);

/* Attention that stores tokens x tokens, [batch, tokens, heads, tokens], keys innermost. Softmax in
 * fp32 or wider from scores that are rounded to `type`; each of these arrays is written whole and
 * rounded once: keys that a query does not see have probability 0. `attend.lse` is not used. */
struct rt_attend_stored_forward {
	struct rt_attend_forward attend;
	void *scores;           /* scratch; read by nobody else */
	void *probabilities;
	void *dropped;          /* what dropout leaves of them; NULL when dropout == 0 */
	uint8_t *mask;          /* 1: seen by its query and kept, else 0; NULL as above */
};
int rt_attend_stored_forward(struct rt *rt, int stream,
			     const struct rt_attend_stored_forward *args);

struct rt_attend_stored_backward {
	struct rt_attend_stored_forward forward; /* its results are read; scores NULL */
	const void *dout;
	void *dq, *dk, *dv;                      /* written */
};
int rt_attend_stored_backward(struct rt *rt, int stream,
			      const struct rt_attend_stored_backward *args);

/* Tokens and targets of a micro-batch of this rank: int32 [batch, tokens] each; NULL: not read
 * here. */
struct rt_load_batch {
	int32_t *tokens, *targets;
	int64_t batch, length;
	double *control; /* SAMPLE is set */
};
int rt_load_batch(struct rt *rt, int stream, const struct rt_at *at,
		  const struct rt_load_batch *args);

struct rt_copy {
	void *to;
	const void *from;
	int64_t bytes;
};
int rt_copy(struct rt *rt, int stream, const struct rt_copy *args);

struct rt_clear {
	void *at;
	int64_t bytes;
};
int rt_clear(struct rt *rt, int stream, const struct rt_clear *args);

/* ---- collectives ------------------------------------------------------------------------- */

enum rt_order {
	RT_ORDER_TREE, /* balanced tree over the group index (adjacent pairs, odd one up) */
	RT_ORDER_ANY
};

/* Sums `count` elements of `type` at `buffer` over the group, in place, equal bits on all ranks.
 * Collective: every rank of the group calls it with the same arguments, the buffer at the same
 * place of its arena. */
int rt_all_reduce(struct rt *rt, int stream, int group, void *buffer, int64_t count,
		  enum rt_type type, enum rt_order order);

/* The same with the largest element in place of the sum: exact. NaN if one is NaN. */
int rt_all_reduce_max(struct rt *rt, int stream, int group, void *buffer, int64_t count,
		      enum rt_type type);

/* `from` holds a block of `count` elements a member and stays as it is; `to` gets the sum of block
 * rt_index. `to` may be that block of `from`, else they do not overlap; each at the same place of
 * every arena (the block: at that of its index). */
int rt_reduce_scatter(struct rt *rt, int stream, int group, const void *from, void *to,
		      int64_t count, enum rt_type type, enum rt_order order);

/* from: [outer, inner], to: [outer, size of the group, inner], where [.., g, ..] is `from` of
 * member g. With outer == 1 `from` may be the own block of `to`, else they do not overlap; places
 * as above. */
int rt_all_gather(struct rt *rt, int stream, int group, const void *from, void *to, int64_t outer,
		  int64_t inner, enum rt_type type);

/* The way back, without a message. from: [outer, size of the group, inner], to: [outer, inner],
 * the part of rt_index. They do not overlap. */
int rt_slice(struct rt *rt, int stream, int group, const void *from, void *to, int64_t outer,
	     int64_t inner, enum rt_type type);

/* Index of this rank in its group, 0 .. size - 1: members are ordered by rank. -1: no such group.
 */
int64_t rt_index(struct rt *rt, int group);

/* Member `from` of the group sends `count` elements at `buffer` to member `to`, which gets them
 * there; nothing for the others. */
int rt_hand(struct rt *rt, int stream, int group, int from, int to, void *buffer, int64_t count,
	    enum rt_type type);

/* ---- tables of a program ----------------------------------------------------------------- */

struct rt_axis {
	const char *name;
	int64_t size;
};

/* Ranks that differ in these axes only (bit i = axis i). An axis of the plan may stand in
 * rt_plan.axes as several factors, each with its bit. */
struct rt_group {
	const char *name;
	uint32_t axes;
};

enum rt_init { RT_INIT_ZERO, RT_INIT_ONE, RT_INIT_NORMAL };

/* One parameter of the model: `layers` matrices (or vectors) of the same shape. */
struct rt_param {
	const char *path;     /* "layer.mlp.down_proj.weight" */
	const char *stored;   /* name in a checkpoint; "{layer}" stands for the number */
	/* Logical shape [rows, columns]; vectors have columns == 0. */
	int64_t layers, rows, columns;
	int64_t padded_rows;  /* rows in memory, >= rows; the padding stays 0 */
	bool transposed;      /* a checkpoint holds [columns, rows] */
	/* Part of one stored tensor, joined along rows; pieces <= 1: all of it. */
	int64_t piece, pieces, stored_rows, first_row;
	enum rt_init init;
	double std;
	uint32_t id;          /* number of its random stream; layer k uses id + k */
	bool decay;
	enum rt_type type;    /* of the weight */
	const struct rt_place *weight, *gradient, *moment1, *moment2;
	const struct rt_place *master; /* NULL: none; made from the weight by the program */
	enum rt_type gradient_type, state_type; /* state: moments, master */
	/* Cut over ranks: each has local_rows x local_columns in memory (vectors: local_columns 0).
	 * A member with index g of row_group has rows g * local_rows and the following; those from
	 * `rows` on are padding. Columns likewise. A group of -1: not cut that way, then the local
	 * size is the whole one. local_rows 0: whole, padded_rows x columns, groups unread. */
	int64_t local_rows, local_columns;
	int row_group, column_group; /* index into rt_plan.groups */
	/* Cut once more, flat (ZeRO): of the elements of a layer here, padded, member g of
	 * flat_group has those from g * slice on. 0: whole. The weight: only its slice is in
	 * memory, at the start of the layer. The summed gradient: so, or in_place, where all
	 * layers behind each other are one tensor that is cut (layers_joined) or each layer is
	 * one. The moments: so, one copy or one a layer. */
	int64_t weight_slice, gradient_slice, moment_slice;
	bool gradient_in_place, layers_joined;
	int flat_group;              /* read if one of the slices is set */
};

enum rt_when { RT_CONSTANT, RT_LINEAR, RT_COSINE };

struct rt_train {
	/* Batches in samples; micro_batches: of a rank in a step; tokens: of a sample. */
	int64_t steps, global_batch, micro_batch, micro_batches, tokens, vocab;
	int64_t lanes, data_ranks; /* data_ranks: size of the data group */
	uint64_t seed;
	double lr, final_share, beta1, beta2;
	int64_t warmup;       /* steps */
	enum rt_when when;
	int64_t validate_every, validate_batches; /* 0: never; 0 batches: all held-out samples */
	double validate_share; /* share of the data's end that is held out, or 0 */
};

enum rt_data_kind { RT_DATA_BYTES, RT_DATA_TOKENS };
struct rt_data {
	enum rt_data_kind kind;
	const char *glob;     /* relative to the working directory of the program */
};

/* A line of the memory table; children (depth 1) are parts of the item before them. */
struct rt_item {
	const char *name;
	int depth;
	int64_t bytes;
};

/* Where a stage has a parameter; NULL: another stage has it. */
struct rt_param_home {
	const struct rt_place *weight, *gradient, *moment1, *moment2, *master;
};

/* Layers [first, first + count) of the model. */
struct rt_chunk {
	int64_t first, count;
};

/* What the ranks of a stage do; without a pipeline there is one. */
struct rt_role {
	const char *name;
	struct rt_schedule schedule;
	int64_t arena;                                     /* bytes */
	int (*start)(struct rt *);                         /* once, after the weights are there */
	int (*begin)(struct rt *);                         /* once a step: clears what it adds to */
	int (*forward)(struct rt *, const struct rt_at *);
	int (*backward)(struct rt *, const struct rt_at *);
	/* Adds level + 1 into level, then clears level + 1, which the next lane adds to: loss and
	 * count when a lane is through the last layer; gradients of a chunk when a lane is back
	 * through it. NULL: one lane a rank, nothing to do. */
	int (*merge_sums)(struct rt *, const struct rt_at *);
	int (*merge)(struct rt *, const struct rt_at *);
	int (*update)(struct rt *);                        /* reduce, norm, optimizer */
	const struct rt_place *tokens, *targets;           /* of a pipeline: NULL where not read */
	const struct rt_place *control, *sums;
	const struct rt_place *logits;                     /* NULL: no sampling, or not here */
	enum rt_type logits_type;
	int64_t logits_columns;                            /* padded vocabulary, or this part */
	int logits_group;                                  /* read if logits_columns < vocab */
	const struct rt_item *items;
	uint32_t nitems;
	/* Of a stage of a pipeline only. Stages hand on `carried`, the copy behind the last layer
	 * of a chunk; back goes `adjoint`, that in front of the first one. What arrives waits in a
	 * copy of `received`, operands and gradients, until its turn. */
	const struct rt_place *places;                     /* by number of the buffer */
	const struct rt_param_home *homes;                 /* by parameter */
	const struct rt_chunk *chunks;                     /* schedule.chunks of them */
	int64_t layers;                                    /* of all chunks */
	const struct rt_place *carried, *adjoint, *received[2];
	/* What passes by the layers, from the first stage to the last, where it waits too; its
	 * gradients go back to the copy of their micro-batch. */
	const struct rt_place *const *past, *const *past_received, *const *past_gradients;
	uint32_t npast, npast_gradients;
};

struct rt_plan {
	uint32_t abi;                  /* RT_ABI */
	uint32_t size;                 /* of this struct, as the program sees it */
	const char *name, *source;     /* plan name; "first-light.plan" */
	const char *manifest;          /* one line of JSON */
	int64_t params;
	const struct rt_axis *axes;
	uint32_t naxes;
	int64_t ranks;
	const struct rt_role *roles;   /* by stage */
	uint32_t nroles;
	uint32_t stages, pipeline_group; /* 0: no pipeline; ranks that differ by stage only */
	const struct rt_group *groups;
	uint32_t ngroups, data_group;  /* index of the group that splits the batch; ranks 1: any */
	const struct rt_param *param;
	uint32_t nparam;
	struct rt_train train;
	struct rt_data data, validation; /* validation.glob NULL: share of data */
	int64_t threads;               /* a rank */
	int64_t capacity;              /* bytes of the device, 0 = unknown */
	int64_t outside, reserve;      /* bytes predicted outside the arena */
};

/* Runs the program; the exit code of main. */
int rt_main(int argc, char **argv, const struct rt_plan *plan);

#endif
