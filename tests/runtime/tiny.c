/* SPDX-License-Identifier: Apache-2.0 */
/* A program as planc emits them, written by hand: a model of pairs of bytes,
 *
 *   x = lookup(tokens), h = x A0' + x A1', logits = h H' + b,
 *
 * with a padded vocabulary, a matrix in two pieces stored transposed, lanes, and 1, 2 or 4 ranks
 * (-DRANKS). The arena is a struct, places are its offsets. */
#include <stddef.h>

#include "rt/rt.h"

#ifndef TOKENS_KIND
#define TOKENS_KIND RT_DATA_BYTES
#endif
#ifndef RANKS
#define RANKS 1
#endif

enum {
	LANES = 4,
	MICRO_BATCH = 2,
	GLOBAL_BATCH = 16,
	MICRO_BATCHES = GLOBAL_BATCH / MICRO_BATCH / RANKS,
	TOKENS = 32,
	ROWS = MICRO_BATCH * TOKENS,
	VOCAB = 256,
	PADDED = 320,
	EMBED = 16,
	LEVELS = RANKS == 1   ? 3
		 : RANKS == 2 ? 2
			      : 1,
	BLOCKS = (ROWS + 63) / 64,
};

struct weights {
	float embed[VOCAB * EMBED], mix0[EMBED * EMBED], mix1[EMBED * EMBED];
	float head[PADDED * EMBED], bias[PADDED];
};

enum { ELEMENTS = sizeof(struct weights) / sizeof(float) };

struct arena {
	_Alignas(64) struct weights weights;
	struct weights gradients[LEVELS], moment1, moment2;
	_Alignas(64) int32_t tokens[ROWS];
	int32_t targets[ROWS];
	_Alignas(64) float x[ROWS * EMBED];
	float h[ROWS * EMBED], dx[ROWS * EMBED], dh[ROWS * EMBED];
	_Alignas(64) float logits[ROWS * PADDED];
	float partials[BLOCKS * PADDED];
	_Alignas(64) double lse[ROWS], loss[ROWS], sums[2], control[RT_CONTROL_WORDS];
	int64_t exact[RT_EXACT_WORDS];
};

#define PLACE(field)                                                                               \
	{                                                                                          \
		.offset = offsetof(struct arena, field), .layers = 1, .slots = 1, .levels = 1      \
	}
#define LEVELED(field)                                                                             \
	{                                                                                          \
		.offset = offsetof(struct arena, gradients) + offsetof(struct weights, field),     \
		.layers = 1, .slots = 1, .levels = LEVELS, .level_stride = sizeof(struct weights)  \
	}

static const struct rt_place arena_place = {.layers = 1, .slots = 1, .levels = 1};
static const struct rt_place place_tokens = PLACE(tokens), place_targets = PLACE(targets),
			     place_control = PLACE(control), place_sums = PLACE(sums),
			     place_logits = PLACE(logits);

#define PARAM_PLACES(field)                                                                        \
	static const struct rt_place weight_##field = PLACE(weights.field),                        \
				     gradient_##field = LEVELED(field),                            \
				     first_##field = PLACE(moment1.field),                         \
				     second_##field = PLACE(moment2.field);
PARAM_PLACES(embed)
PARAM_PLACES(mix0)
PARAM_PLACES(mix1)
PARAM_PLACES(head)
PARAM_PLACES(bias)

static struct arena *arena_of(struct rt *rt)
{
	struct rt_at at = {0};
	return rt_buffer(rt, &arena_place, &at, 0);
}

static int product(struct rt *rt, int64_t m, int64_t n, int64_t k, const float *a, bool trans_a,
		   const float *b, bool trans_b, float *c, bool accumulate, const float *bias)
{
	struct rt_matmul args = {.type = RT_F32,
				 .m = m,
				 .n = n,
				 .k = k,
				 .a = a,
				 .b = b,
				 .c = c,
				 .trans_a = trans_a,
				 .trans_b = trans_b,
				 .accumulate = accumulate,
				 .epilogue = {.bias = bias}};
	return rt_matmul(rt, 0, &args);
}

static int begin(struct rt *rt)
{
	struct arena *a = arena_of(rt);
	RT_TRY(rt_clear(rt, 0, &(struct rt_clear){a->gradients, sizeof a->gradients}));
	RT_TRY(rt_clear(rt, 0, &(struct rt_clear){a->sums, sizeof a->sums}));
	return rt_clear(rt, 0, &(struct rt_clear){a->exact, sizeof a->exact});
}

static int forward(struct rt *rt, const struct rt_at *at)
{
	struct arena *a = arena_of(rt);
	struct weights *w = &a->weights;
	RT_TRY(rt_load_batch(
		rt, 0, at,
		&(struct rt_load_batch){a->tokens, a->targets, MICRO_BATCH, TOKENS, a->control}));
	RT_TRY(rt_run(rt, 0, &rt_lookup_f32, ROWS,
		      &(struct rt_args){
			      .in = {a->tokens, w->embed}, .out = {a->x}, .size = {EMBED, VOCAB}}));
	RT_TRY(product(rt, ROWS, EMBED, EMBED, a->x, false, w->mix0, true, a->h, false, NULL));
	RT_TRY(product(rt, ROWS, EMBED, EMBED, a->x, false, w->mix1, true, a->h, true, NULL));
	RT_TRY(product(rt, ROWS, PADDED, EMBED, a->h, false, w->head, true, a->logits, false,
		       w->bias));
	RT_TRY(rt_run(rt, 0, &rt_cross_entropy_f32, ROWS,
		      &(struct rt_args){.in = {a->logits, a->targets},
					.out = {a->lse, a->loss},
					.size = {PADDED, VOCAB}}));
	return rt_run(
		rt, 0, &rt_loss_sum_f32, 1,
		&(struct rt_args){.in = {a->loss, a->targets}, .out = {a->sums}, .size = {ROWS}});
}

static int backward(struct rt *rt, const struct rt_at *at)
{
	struct arena *a = arena_of(rt);
	struct weights *w = &a->weights, *g = &a->gradients[at->level];
	RT_TRY(rt_run(rt, 0, &rt_cross_entropy_backward_f32, ROWS,
		      &(struct rt_args){.in = {a->logits, a->targets, a->lse},
					.out = {a->logits},
					.size = {PADDED, VOCAB}}));
	RT_TRY(rt_run(
		rt, 0, &rt_columns_f32, ROWS,
		&(struct rt_args){.in = {a->logits}, .out = {a->partials}, .size = {PADDED}}));
	RT_TRY(rt_run(rt, 0, &rt_tree_rows_f32, PADDED,
		      &(struct rt_args){
			      .in = {a->partials}, .out = {g->bias}, .size = {BLOCKS, PADDED}}));
	RT_TRY(product(rt, PADDED, EMBED, ROWS, a->logits, true, a->h, false, g->head, true, NULL));
	RT_TRY(product(rt, ROWS, EMBED, PADDED, a->logits, false, w->head, false, a->dh, false,
		       NULL));
	RT_TRY(product(rt, EMBED, EMBED, ROWS, a->dh, true, a->x, false, g->mix0, true, NULL));
	RT_TRY(product(rt, EMBED, EMBED, ROWS, a->dh, true, a->x, false, g->mix1, true, NULL));
	RT_TRY(product(rt, ROWS, EMBED, EMBED, a->dh, false, w->mix0, false, a->dx, false, NULL));
	RT_TRY(product(rt, ROWS, EMBED, EMBED, a->dh, false, w->mix1, false, a->dx, true, NULL));
	return rt_run(rt, 0, &rt_lookup_backward_f32, VOCAB,
		      &(struct rt_args){
			      .in = {a->tokens, a->dx}, .out = {g->embed}, .size = {EMBED, ROWS}});
}

static int merge(struct rt *rt, const struct rt_at *at)
{
	struct arena *a = arena_of(rt);
	struct weights *to = &a->gradients[at->level], *from = &a->gradients[at->level + 1];
	RT_TRY(rt_run(rt, 0, &rt_accumulate_f32, ELEMENTS,
		      &(struct rt_args){.in = {from}, .out = {to}}));
	return rt_clear(rt, 0, &(struct rt_clear){from, sizeof *from});
}

#ifdef FAULTS
#include "faults.h"
#else
#define FAULT(rt, arena) 0
#endif

static int update(struct rt *rt)
{
	struct arena *a = arena_of(rt);
	RT_TRY(FAULT(rt, a));
	RT_TRY(rt_all_reduce(rt, 0, 0, a->sums, 2, RT_F64, RT_ORDER_TREE));
	RT_TRY(rt_all_reduce(rt, 0, 0, a->gradients, ELEMENTS, RT_F32, RT_ORDER_TREE));
	RT_TRY(rt_run(
		rt, 0, &rt_square_sum_f32, ELEMENTS / 64,
		&(struct rt_args){.in = {a->gradients}, .out = {a->exact}, .size = {ELEMENTS}}));
	RT_TRY(rt_run(rt, 0, &rt_step_scale_f32, 1,
		      &(struct rt_args){
			      .in = {a->exact, a->sums}, .out = {a->control}, .scalar = {1.0}}));
	return rt_run(rt, 0, &rt_adamw_f32, ELEMENTS,
		      &(struct rt_args){.in = {a->gradients, a->control},
					.out = {&a->weights, &a->moment1, &a->moment2},
					.scalar = {0.9, 0.95, 1e-8, 0.1}});
}

#define PARAM(field, name)                                                                         \
	.path = #field, .stored = name, .layers = 1, .type = RT_F32, .weight = &weight_##field,    \
	.gradient = &gradient_##field, .moment1 = &first_##field, .moment2 = &second_##field
#define MIX                                                                                        \
	.rows = EMBED, .columns = EMBED, .padded_rows = EMBED, .transposed = true, .pieces = 2,    \
	.stored_rows = 2 * EMBED, .init = RT_INIT_NORMAL, .std = 0.25, .decay = true

static const struct rt_param params[] = {
	{PARAM(embed, "wte.weight"), .rows = VOCAB, .columns = EMBED, .padded_rows = VOCAB,
	 .init = RT_INIT_NORMAL, .std = 0.5, .id = 1, .decay = true},
	{PARAM(mix0, "h.{layer}.mix.weight"), MIX, .piece = 0, .first_row = 0, .id = 2},
	{PARAM(mix1, "h.{layer}.mix.weight"), MIX, .piece = 1, .first_row = EMBED, .id = 3},
	{PARAM(head, "lm_head.weight"), .rows = VOCAB, .columns = EMBED, .padded_rows = PADDED,
	 .init = RT_INIT_NORMAL, .std = 0.25, .id = 4, .decay = true},
	{PARAM(bias, "lm_head.bias"), .rows = VOCAB, .padded_rows = PADDED, .init = RT_INIT_ZERO,
	 .id = 5},
};

static const struct rt_item items[] = {
	{"weights", 0, sizeof(struct weights)},
	{"gradients", 0, LEVELS * sizeof(struct weights)},
	{"optimizer", 0, 2 * sizeof(struct weights)},
	{"working set", 0, sizeof(struct arena) - (3 + LEVELS) * sizeof(struct weights)},
	{"logits", 1, ROWS *PADDED * sizeof(float)},
};

static const struct rt_role role = {
	.name = "all",
	.schedule =
		{.micro_batches = MICRO_BATCHES, .stages = 1, .chunks = 1, .slots = 1},
	.arena = sizeof(struct arena),
	.begin = begin,
	.forward = forward,
	.backward = backward,
	.merge = merge,
	.update = update,
	.tokens = &place_tokens,
	.targets = &place_targets,
	.control = &place_control,
	.sums = &place_sums,
	.logits = &place_logits,
	.logits_type = RT_F32,
	.logits_columns = PADDED,
	.items = items,
	.nitems = sizeof items / sizeof items[0],
};

static const struct rt_axis axes[] = {{"data", RANKS}};
static const struct rt_group groups[] = {{"data", 1}};

static const struct rt_plan plan = {
	.abi = RT_ABI,
#ifdef OTHER_TABLES
	.size = sizeof(struct rt_plan) - 8,
#else
	.size = sizeof(struct rt_plan),
#endif
	.name = "tiny",
	.source = "tiny.c",
	.manifest = "{\"plan\":\"tiny\"}",
	.params = 2 * VOCAB * EMBED + 2 * EMBED * EMBED + VOCAB,
	.axes = axes,
	.naxes = 1,
	.ranks = RANKS,
	.roles = &role,
	.nroles = 1,
	.groups = groups,
	.ngroups = 1,
	.param = params,
	.nparam = sizeof params / sizeof params[0],
	.train = {.steps = 100,
		  .global_batch = GLOBAL_BATCH,
		  .micro_batch = MICRO_BATCH,
		  .micro_batches = MICRO_BATCHES,
		  .tokens = TOKENS,
		  .vocab = VOCAB,
		  .lanes = LANES,
		  .data_ranks = RANKS,
		  .seed = 1,
		  .lr = 0.02,
		  .final_share = 0.1,
		  .beta1 = 0.9,
		  .beta2 = 0.95,
		  .warmup = 5,
		  .when = RT_COSINE,
		  .validate_every = 50,
		  .validate_share = 0.1},
	.data = {.kind = TOKENS_KIND, .glob = "text.txt"},
	.threads = 1,
};

#ifdef CUT
#include "cut.h"
#else
int main(int argc, char **argv)
{
	return rt_main(argc, argv, &plan);
}
#endif
