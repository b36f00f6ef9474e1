/* SPDX-License-Identifier: Apache-2.0 */
/* What is drawn for a random plan: a model with its training, and a layout of it over ranks. */
#ifndef PLAN_DRAW_H
#define PLAN_DRAW_H

#include <stdbool.h>
#include <stdint.h>

enum { RANKS_MOST = 8, LAYOUTS_A_MODEL = 1000 };

/* KIND(name): each layout has one row of ways.def of every kind. */
#define KINDS(KIND)                                                                                \
	KIND(ARCH) KIND(PRECISION) KIND(DATA) KIND(ZERO) KIND(REDUCE) KIND(TENSOR) KIND(NARROW)    \
	KIND(PIPELINE) KIND(RECOMPUTE) KIND(ATTENTION)
#define KIND(name) name,
enum kind { KINDS(KIND) NKINDS };
#undef KIND

enum arch { GPT = 1, LLAMA = 2, BRAID = 4 };

/* A row of ways.def: what is written into the plan, and what it goes with. */
struct way {
	enum kind kind;
	int weight;
	const char *text;
	unsigned arch;                /* which ones have it; 0: all */
	int stages, chunks, layers;   /* of a pipeline; layers 0: as they divide */
	bool spread;                  /* layers need not divide */
	int least_stages, most_stages;
	bool outer;                   /* data: ranks with slices of one tensor are no neighbours */
	bool untied;                  /* only with a head of its own */
	bool axes;                    /* over two axes */
	bool none;                    /* neither the statement nor its axis */
	bool stored;                  /* only with stored attention */
};
extern const struct way ways[];
extern const int nways;

/* A model and its training: layouts that share it share a twin on one rank. */
struct base {
	int way[NKINDS];              /* ARCH and PRECISION */
	enum arch arch;
	int unit;                     /* most ranks that cut the model: sizes are multiples of it */
	int layers, embed, heads, kv_heads, ffn, vocab, pad, context, dropout;
	bool tied, qkv_bias, qk_norm;
	bool masked;                  /* some targets are not counted */
	bool validate;                /* not if masked: held-out samples have no number */
	int tokens, batch, warmup, steps, seed;
	const char *clip, *rate;
};

/* dp: data ranks; shard: those that axis `dp` has, beside axis `rep`. */
struct layout {
	int way[NKINDS];
	int dp, shard, tp, pp, order, micro, lanes, copies, threads;
	bool sequence;
};

const struct way *way_of(const struct layout *layout, enum kind kind);
int micro_batches(const struct base *base, const struct layout *layout);
bool power_of_two(int n);
int zero_stage(const struct layout *layout); /* 0: nothing is in slices */
bool in_groups(const struct layout *layout); /* slices are over axis `dp`, data over `rep` too */

/* SEED is a model's number times LAYOUTS_A_MODEL and the number of a layout of it. */
struct base draw_base(uint64_t number);
struct layout draw_layout(const struct base *base, uint64_t seed);

/* The same training on one rank. */
struct layout layout_alone(const struct base *base);

/* A layout with equal bits that is another plan where there is one: without ZeRO, pipeline and
 * recompute; of a layout that has none of them its lanes on one data rank, stage 1 of ZeRO, or two
 * stages. */
struct layout layout_twin(const struct base *base, const struct layout *of);

/* Everything a layout shows, as bits: its rows of ways.def, then its traits. */
enum { FEATURES_MOST = 192 };
int features(const struct base *base, const struct layout *layout, bool *has);
int nfeatures(void);
const char *feature_kind(int feature);
const char *feature_text(int feature);

#endif
