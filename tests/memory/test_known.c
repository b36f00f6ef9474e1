/* SPDX-License-Identifier: Apache-2.0 */
/* Figures that are known without planc, and what must hold of bytes whatever the plan. (Table 1 of
 * the ZeRO paper: ../operators/test_memory_zero.c.) */
#include "compiled.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "formula.h"

static const char *const none[] = {NULL};

/* A plan around its model, split and training. */
static char *plan_text(struct arena *arena, int devices, const char *mesh, const char *model,
		       const char *precision, const char *split, const char *train)
{
	return arena_text(
		arena,
		"plan p\nedition 1\nimport cpu from \"std/devices/cpu.plan\"\n"
		"import arch from \"std/architectures.plan\"\n"
		"cluster box { node { devices = %d of cpu.core { memory = 8 GiB } } }\n%s%s"
		"precision = %s\n%strain {\n %s\n steps = 2, seed = 1\n"
		" optimizer = adamw { lr = 1e-3, weight_decay = 0 }\n data = bytes(\"x\")\n}\n",
		devices, mesh, model, precision, split, train);
}

static const char llama_32[] = "model m : arch.llama {\n layers = 32, embed = 4096, heads = 32\n"
			       " kv_heads = %s, ffn = %s, vocab = %s, context = 8192\n"
			       " norm_eps = 1e-5, rope_base = 10_000, tied_embeddings = false\n}\n";

static uint64_t states(const struct layout *layout)
{
	const uint64_t *items = layout->homes[0].peak[PHASE_UPDATE].items;
	return items[ITEM_WEIGHTS] + items[ITEM_GRADIENTS] + items[ITEM_OPTIMIZER];
}

/* The number in the decimals that it is known in. */
static void check_rounded(double got, const char *format, const char *want)
{
	char text[32];
	snprintf(text, sizeof text, format, got);
	CHECK_TEXT(text, want);
}

/* The first example of the design: 7,000,559,616 weights in `mixed_bf16_16b` with Adam. */
static void check_seven_billion(void)
{
	struct arena *arena = arena_new();
	char *model = arena_text(arena, llama_32, "32", "11_008", "64_000");
	struct compiled_plan *c = compiled_text(
		"seven.plan",
		plan_text(arena, 1, "", model, "mixed_bf16_16b", "",
			  "seq_len = 2048 tokens, global_batch = 1 seq, micro_batch = 1 seq"),
		none);
	uint64_t params = 0;
	CHECK(c != NULL);
	CHECK(c && graph_params(&c->graph, &params));
	CHECK_INT(params, 7000559616);
	if (c) {
		check_rounded((double)states(&c->layout) / 1e9, "%.3f GB", "112.009 GB");
		CHECK(c->layout.homes[0].arena > (uint64_t)80 << 30);
		compiled_close(c);
	}
	arena_delete(arena);
}

/* 8.0e9 weights, the master copy in halves: 14.9 GiB. The nearest vocabulary to 8.0e9. */
static void check_partition(void)
{
	struct arena *arena = arena_new();
	char *model = arena_text(arena, llama_32, "8", "14_336", "124_562");
	struct compiled_plan *c = compiled_text(
		"half.plan",
		plan_text(arena, 2, "mesh { dp = 2 within node }\n", model, "mixed_bf16",
			  "split {\n data over dp\n zero 1 over dp\n}\n",
			  "seq_len = 64 tokens, global_batch = 2 seq, micro_batch = 1 seq"),
		none);
	uint64_t params = 0, master = 0;
	CHECK(c && graph_params(&c->graph, &params));
	check_rounded((double)params / 1e9, "%.3f", "8.000");
	for (uint32_t i = 0; c && i < c->graph.nparams; i++) {
		const struct buffer *b = &c->program.buffers[c->program.params[i].master];
		master += b->bytes * b->layers;
	}
	check_rounded((double)master / 0x1p30, "%.1f GiB", "14.9 GiB");
	if (c)
		compiled_close(c);
	arena_delete(arena);
}

/* 8,192 tokens over a vocabulary of 151,936 in fp32. */
static void check_logits(void)
{
	struct arena *arena = arena_new();
	char *model = arena_text(arena, llama_32, "8", "1024", "151_936");
	struct compiled_plan *c = compiled_text(
		"logits.plan",
		plan_text(arena, 1, "", model, "fp32", "",
			  "seq_len = 2048 tokens, global_batch = 4 seq, micro_batch = 4 seq"),
		none);
	CHECK(c != NULL);
	if (c) {
		uint32_t logits = c->program.roles[0].logits;
		check_rounded((double)c->program.buffers[logits].bytes / 0x1p30, "%.2f GiB",
			      "4.64 GiB");
		compiled_close(c);
	}
	arena_delete(arena);
}

/* 16 stages, 2 chunks, 192 micro-batches: the design's figures; 1F1B keeps as many as stages
 * follow, GPipe all. */
static void check_schedules(void)
{
	CHECK_INT(schedule_alive(16, 2, 192, false, 0).slots, 47);
	CHECK_INT(schedule_alive(16, 2, 192, false, 8).slots, 31);
	CHECK_INT(schedule_alive(16, 2, 192, false, 15).slots, 17);
	for (uint64_t stage = 0; stage < 8; stage++) {
		CHECK_INT(schedule_alive(8, 1, 40, true, stage).slots, 40);
		CHECK(schedule_alive(8, 1, 3, false, stage).slots <= 3);
	}
	for (uint64_t stage = 0; stage < 8; stage++)
		CHECK_INT(schedule_alive(8, 1, 40, false, stage).slots, 8 - stage);
}

/* ---- invariants ----------------------------------------------------------------------------- */

static const char small[] = "model m : arch.llama {\n layers = 8, embed = 96, heads = 12\n"
			    " kv_heads = 12, ffn = 132, vocab = 120, context = 16\n"
			    " norm_eps = 1e-5, rope_base = 10_000, tied_embeddings = true\n}\n";

static struct compiled_plan *small_plan(struct arena *arena, int devices, const char *mesh,
					const char *split, int batch)
{
	const char *train = arena_text(
		arena, "seq_len = 12 tokens, global_batch = %d seq, micro_batch = 1 seq", batch);
	struct compiled_plan *c = compiled_text(
		"small.plan",
		plan_text(arena, devices, mesh, small, "mixed_bf16", split, train), none);
	CHECK(c != NULL);
	if (!c)
		exit(check_done());
	return c;
}

/* Bytes of an item over all stages, less what a tied weight takes at its second home. */
static uint64_t over_stages(const struct compiled_plan *c, enum item item)
{
	uint64_t sum = 0;
	for (const struct layout *at = &c->layout; at; at = at->next)
		sum += at->homes[0].peak[PHASE_UPDATE].items[item];
	return sum;
}

/* What ZeRO shares adds up to what one rank would have, and the padding of slices: less than 64
 * elements a slice. */
static void check_shares(struct arena *arena, const struct compiled_plan *alone)
{
	static const enum item shared[3][3] = {{ITEM_OPTIMIZER, ITEM_OPTIMIZER, ITEM_OPTIMIZER},
					       {ITEM_OPTIMIZER, ITEM_GRADIENTS, ITEM_GRADIENTS},
					       {ITEM_OPTIMIZER, ITEM_GRADIENTS, ITEM_WEIGHTS}};
	for (int stage = 1; stage <= 3; stage++)
		for (int dp = 2; dp <= 7; dp++) {
			struct compiled_plan *c = small_plan(
				arena, dp, arena_text(arena, "mesh { dp = %d within node }\n", dp),
				arena_text(arena, "split {\n data over dp\n zero %d over dp\n}\n",
					   stage),
				dp);
			uint64_t padding = 64 * (uint64_t)dp * 12 * 8 * 10;
			for (int i = 0; i < 3; i++) {
				uint64_t all = over_stages(alone, shared[stage - 1][i]);
				uint64_t sum = (uint64_t)dp * over_stages(c, shared[stage - 1][i]);
				CHECK(sum >= all && sum < all + padding);
			}
			compiled_close(c);
		}
}

/* Tensor ranks share what they cut and repeat the rest; stages share the layers. */
static void check_splits(struct arena *arena, const struct compiled_plan *alone)
{
	uint64_t whole = over_stages(alone, ITEM_WEIGHTS), norms = 2 * 96 * (2 * 8 + 1);
	for (int n = 2; n <= 4; n++) {
		const char *mesh = arena_text(arena, "mesh { a = %d within node }\n", n);
		struct compiled_plan *c = small_plan(arena, n, mesh,
						     "split {\n tensor over a\n}\n", 1);
		CHECK_INT((uint64_t)n * (over_stages(c, ITEM_WEIGHTS) - norms), whole - norms);
		compiled_close(c);
		c = small_plan(arena, n, mesh,
			       "split {\n pipeline over a { layers = spread }\n}\n", 8);
		CHECK_INT(over_stages(c, ITEM_WEIGHTS), whole + 2 * 120 * 96); /* tied: two homes */
		compiled_close(c);
	}
}

/* Once there are as many micro-batches as stages, further ones take no byte. */
static void check_steady(struct arena *arena)
{
	uint64_t first[4] = {0};
	for (int m = 4; m <= 32; m += m < 8 ? 1 : 8) {
		struct compiled_plan *c =
			small_plan(arena, 4, "mesh { pp = 4 within node }\n",
				   "split {\n pipeline over pp { schedule = 1f1b }\n}\n", m);
		int stage = 0;
		for (const struct layout *at = &c->layout; at; at = at->next, stage++) {
			first[stage] = m == 4 ? at->homes[0].arena : first[stage];
			CHECK_INT(at->homes[0].arena, first[stage]);
		}
		compiled_close(c);
	}
}

/* Statements over axes of one rank: the bytes of a plan without them. */
static void check_groups_of_one(struct arena *arena, const struct compiled_plan *alone)
{
	static const char *const splits[] = {
		"split {\n data over a\n zero 1 over a\n}\n",
		"split {\n data over a\n zero 2 over a\n}\n",
		"split {\n data over a\n zero 3 over a { gather = step }\n}\n",
		"split {\n tensor over a\n sequence over a\n}\n",
		"split {\n pipeline over a { schedule = 1f1b }\n}\n",
	};
	for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
		struct compiled_plan *c =
			small_plan(arena, 1, "mesh { a = 1 within node }\n", splits[i], 1);
		const struct home *got = &c->layout.homes[0], *want = &alone->layout.homes[0];
		CHECK_INT(got->arena, want->arena);
		for (int item = 0; item < ITEMS; item++)
			CHECK_INT(got->peak[PHASE_BACKWARD].items[item],
				  want->peak[PHASE_BACKWARD].items[item]);
		compiled_close(c);
	}
}

int main(void)
{
	struct arena *arena = arena_new();
	struct compiled_plan *alone = small_plan(arena, 1, "", "", 1);
	check_seven_billion();
	check_partition();
	check_logits();
	check_schedules();
	check_shares(arena, alone);
	check_splits(arena, alone);
	check_steady(arena);
	check_groups_of_one(arena, alone);
	compiled_close(alone);
	arena_delete(arena);
	return check_done();
}
