/* SPDX-License-Identifier: Apache-2.0 */
/* What every rank does, as data: no offsets, no rates, no text. Roles, not ranks; segments, not
 * unrolled layers. Emission, packing, verification and the memory table are functions of it. */
#ifndef PART_PROGRAM_H
#define PART_PROGRAM_H

#include "graph/graph.h"
#include "part/collect.h"
#include "rt/schedule.h"

enum item {
#define ITEM(id, name, doc) ITEM_##id,
#include "part/items.def"
#undef ITEM
	ITEMS
};

enum phase { PHASE_INIT, PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASES };

enum life {
	LIFE_RUN,     /* always */
	LIFE_STEP,    /* first turn .. update: gradients */
	LIFE_SLOT,    /* forward .. backward of one micro-batch: saved activations */
	LIFE_TURN,    /* between segments of a turn: carried adjoint */
	LIFE_SEGMENT, /* steps from..to of one segment; buffers of different segments share bytes */
};

struct buffer {
	const struct name *name; /* for people: "attention_q"; emit makes it unique */
	struct span span;
	enum item item;
	const char *part;        /* sub-line of the item in the table ("logits"), or NULL */
	enum rt_type type;
	enum life life;
	uint32_t param;          /* graph parameter or NO_ID */
	uint64_t layers, slots, levels; /* copies */
	uint32_t segment, from, to;     /* LIFE_SEGMENT: its steps, both inclusive */
	struct spread spread;
	uint32_t flat;           /* factors over which it is a slice of the flat tensor (ZeRO) */
	struct dims dims;        /* local shape; n == 0 for blocks of words */
	uint64_t elements;       /* of one copy on one rank, padding included */
	uint64_t tail;           /* elements after the last layer: flat shards are of equal size */
	uint64_t bytes;          /* elements * size of type, before alignment */
	bool common;             /* at the same place in every stage: stages add it up */
};

struct use {
	uint32_t buffer;         /* NO_ID: absent operand */
	int8_t layer_plus;       /* copy of layer + layer_plus */
	int8_t level_plus;       /* copy of level + level_plus */
	bool by_layer, by_slot, by_level, write;
	bool shard;              /* this rank's slice of a whole buffer, params[..].shard long */
};

/* Product of local dims and a factor: printed by name, counted by value. */
struct size {
	struct dims dims;
	uint16_t cuts[DIM_MAX];  /* factors that cut each of dims, bit i = factor i */
	bool logical;            /* padding not counted */
	uint32_t index_in;       /* times this rank's index in the group of these factors; 0: no */
	int64_t factor;
	int64_t value;           /* of rank 0's neighbour if index_in is set: one block */
};

enum step_kind { STEP_KERNEL, STEP_COLLECTIVE };
enum collective {
	COLLECTIVE_ALL_REDUCE,
	COLLECTIVE_MAX,
	COLLECTIVE_REDUCE_SCATTER, /* uses: from, to; to is this rank's block of the sum */
	COLLECTIVE_ALL_GATHER,     /* uses: from, to; sizes: outside the dim, inside */
	COLLECTIVE_SLICE,          /* uses: from, to; no message: this rank's block */
	COLLECTIVE_HAND            /* uses: buffer; peers[0] sends it, peers[1] receives it */
};

enum { STEP_TRANS_A = 1, STEP_TRANS_B = 2, STEP_ADDS = 4, STEP_CAUSAL = 8,
       STEP_WHOLE = 16, /* rows: all layers of uses[0], padding between them included */
       STEP_SHARD = 32, /* rows: this rank's slice of them */
       STEP_WIDE = 64,  /* the result of a matmul is wider than its operands */
       STEP_FLAT = 128, /* rows: the slices of all ranks, of one layer if each is cut alone */
       STEP_CHUNK = 256 /* rows: those layers of uses[0] that the turn is about */ };

struct step {
	enum step_kind kind;
	struct span span;
	enum rt_row row;         /* STEP_KERNEL */
	enum collective collective;
	uint32_t group;          /* STEP_COLLECTIVE: index into groups */
	uint32_t peers[2];       /* COLLECTIVE_HAND: members of the group */
	enum rt_type type;       /* of the kernel object, or of the sum */
	uint32_t node;           /* graph node it computes, or NO_ID */
	uint32_t flags;
	struct use uses[RT_MAX_IN + RT_MAX_OUT]; /* as the row has them: ins, outs */
	uint32_t nuses;
	struct size rows;        /* LOOP rows, elements of a collective, bytes / size for clear */
	struct size sizes[RT_MAX_SIZE];
	uint32_t nsizes;
	double scalars[RT_MAX_SCALAR];
	uint32_t nscalars;
	uint32_t counted_by;     /* only index 0 on these factors takes the step; 0: all */
	bool first_only;         /* taken for the first micro-batch of a step only */
	uint32_t bias_by;        /* matmul with a partial result: index 0 on these adds the bias */
	bool stream_by_layer;    /* dropout: sizes[0] is first stream, the layer is added */
	uint64_t flops;          /* of this rank, UINT64_MAX on overflow */
};

struct segment {
	const struct name *name; /* "layer_forward" */
	struct span span;
	enum phase phase;
	enum region region;
	bool by_layer;           /* called once a layer */
	const struct step *steps;
	uint32_t nsteps;
};

struct call { uint32_t segment; };
enum chunk_when { EVERY_CHUNK, FIRST_CHUNK, LAST_CHUNK };
/* count == 0: the calls once, no layer; else for layer first, first + step, ... (count of them). In
 * a pipeline first and count are those of the chunk that the turn is about. */
struct sweep {
	uint64_t first, count;
	int8_t step;
	enum chunk_when when;
	const struct call *calls;
	uint32_t ncalls;
};
struct body {
	const struct sweep *sweeps;
	uint32_t nsweeps;
};

/* Layers [first, first + count) of the model. */
struct chunk {
	uint64_t first, count;
};

struct role {
	const struct name *name;
	uint32_t stage;
	const struct chunk *chunks; /* schedule.chunks of them */
	uint64_t layers;            /* of all chunks */
	bool has[REGIONS];          /* what stands before the layers, layers, what stands after */
	struct rt_schedule schedule;
	uint32_t lanes;          /* of a rank */
	/* merge_sums follows the last forward of a lane, merge its last backward through a chunk */
	struct body start, begin, forward, backward, merge_sums, merge, update;
	uint32_t tokens, targets, control, sums, logits; /* buffers the runtime knows; or NO_ID */
	/* stages hand on `carried` and give back `adjoint`; what has arrived waits in `received` */
	uint32_t carried, adjoint, received[2];
	/* what passes by the layers, and its gradients; on the first stage and the last, where the
	 * former wait in past_received */
	const uint32_t *past[2], *past_received;
	uint32_t npast[2];
};

/* The order of a matmul's uses: workspace last; bias NO_ID if absent. */
enum { MATMUL_A, MATMUL_B, MATMUL_BIAS, MATMUL_C, MATMUL_WORKSPACE, MATMUL_USES };

struct group {
	const struct name *name; /* "dp" */
	uint32_t factors;        /* bit i: factor i of the mesh varies */
	uint64_t ranks;          /* members of one such group */
};

/* Buffers of one parameter. moment and master: NO_ID if absent; gradient: one a use. A parameter
 * that another stage holds: weight NO_ID. */
struct param_buffers {
	uint32_t weight, gradient[SITES_MAX], master, moment1, moment2;
	uint32_t flat;           /* factors over which the optimizer's state is sliced; 0: whole */
	uint64_t shard;          /* elements of a slice, a multiple of 64; 0: whole */
	bool layered;            /* every layer is sliced alone: shard is that of one layer */
	uint32_t window;         /* of gathered slices of the weight, if it outlives a segment */
};

/* What the ranks of one stage do. */
struct program {
	struct program *next;        /* of the next stage, or NULL */
	uint32_t stage, stages;
	uint32_t pipeline_group;     /* stages > 1: ranks that differ in their stage only */
	const struct graph *graph;   /* of a rank: tensors in the spreads it holds */
	const struct flow *flow;
	const struct plan *plan;
	struct role *roles;
	uint32_t nroles;
	struct buffer *buffers;
	uint32_t nbuffers;
	struct segment *segments;
	uint32_t nsegments;
	struct group *groups;
	uint32_t ngroups, data_group;
	struct param_buffers *params; /* graph->nparams of them */
	enum rt_type compute, gradients, gradient_wire, optimizer, statistics;
};

/* Graph to program. Assumes: all rules passed. False: a split that this version cannot emit (E0901
 * at its place, unless work->check_only) or a size over 64 bits (E0114). */
bool part_build(const struct graph *graph, struct program *out, struct work *work);

/* True of a weight that is cut elsewhere than along the outermost dim of a side: N0901, since a
 * rank's part of it is no block of rows or columns. */
bool part_cuts_inner(const struct flow *flow, const struct param *param);

/* BUG() unless: every use names a buffer, reads follow writes, the schedules of all stages go
 * through together (turns.h), stages agree on what they hand on and in which order they add up. */
void program_verify(const struct program *program);

/* --dump=program */
void program_print(const struct program *program, const struct work *work, struct text *out);

/* Bytes of one copy, rounded up to the 64 elements that every tensor starts at. */
uint64_t buffer_stride(const struct buffer *buffer);
/* Bytes after the last layer of each slot and level. */
uint64_t buffer_tail(const struct buffer *buffer);

#endif
