/* SPDX-License-Identifier: Apache-2.0 */
/* What the memory formulas need of a plan, read from its text by a reader of its own: sizes of the
 * model, ranks of the axes dp, rep, tp and pp, the statements of `split`, the lines of `train`. It
 * understands what ../splits/plan_gen.c and draws.c write, not the language. */
#ifndef MEMORY_DESCRIBED_H
#define MEMORY_DESCRIBED_H

#include <stdbool.h>
#include <stdint.h>

enum family { GPT, LLAMA, BRAID };

/* Dims that `tensor` can cut; DIM_NONE: a tensor has none of them. */
enum cuttable { DIM_NONE, DIM_HEADS, DIM_KV_HEADS, DIM_FFN, DIM_VOCAB };

/* Groups of a block that are computed again. */
enum { AGAIN_ATTENTION = 1, AGAIN_CORE = 2, AGAIN_MLP = 4, AGAIN_BLOCK = 8 };

enum { LAYERS_LISTED_MOST = 64, STAGES_MOST = 64 };

struct described {
	enum family family;
	uint64_t layers, embed, heads, kv_heads, head, ffn, vocab, context; /* vocab with padding */
	bool tied, qkv_bias, qk_norm;
	bool stored, drops; /* attention keeps its scores; draws from them */
	unsigned again[STAGES_MOST];
	uint64_t tokens, micro, batch, lanes; /* of a sequence; sequences; of all ranks */
	uint64_t dp, rep, tp, pp;             /* ZeRO is over dp alone, data over both */
	uint64_t copies;                      /* ranks that hold the same kv heads */
	bool sequence;
	unsigned cut;                         /* bit d: `tensor` cuts enum cuttable d */
	uint64_t zero, ahead;                 /* stage; layers gathered ahead */
	bool each, once;                      /* reduced each micro-batch; gathered once a step */
	bool alone;                           /* each layer is cut alone, whatever the stage of ZeRO */
	bool gpipe;
	uint64_t chunks;
	uint64_t listed[LAYERS_LISTED_MOST];  /* layers of each chunk, if listed */
	bool is_listed;
	char whole[64];                       /* path of a weight that a rule leaves whole, or "" */
	enum cuttable whole_dim;
};

/* False: the text is none that it understands. */
bool described_read(const char *text, struct described *out);

/* Micro-batches of a data rank in a step. */
uint64_t described_micro_batches(const struct described *d);

#endif
