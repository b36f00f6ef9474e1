/* SPDX-License-Identifier: Apache-2.0 */
#include "draws.h"

#include <stdbool.h>
#include <stdint.h>

#define PICK(list) ((list)[below(sizeof(list) / sizeof *(list))])

static uint64_t state;

static uint64_t below(uint64_t n)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (z ^ (z >> 31)) % n;
}

/* A pipeline, the layers that it needs, and whether a rank may have several lanes. */
struct pipeline {
	int stages, chunks, layers;
	bool lanes;
	const char *settings;
};

static const struct pipeline pipelines[] = {
	{1, 1, 5, true, ""},
	{2, 1, 5, true, "schedule = 1f1b, layers = spread"},
	{4, 1, 8, true, "schedule = 1f1b"},
	{5, 1, 7, true, "schedule = 1f1b, layers = [2, 1, 1, 2, 1]"},
	{3, 1, 6, false, "schedule = gpipe"},
	{2, 2, 8, false, "schedule = interleaved_1f1b, chunks = 2"},
	{3, 2, 12, false, "schedule = interleaved_1f1b, chunks = 2"},
	{4, 3, 12, false, "schedule = interleaved_1f1b, chunks = 3"},
	{8, 2, 32, false, "schedule = interleaved_1f1b, chunks = 2"},
};

static const char *const zeros[] = {
	"",
	"zero 1 over dp",
	"zero 2 over dp",
	"zero 3 over dp",
	"zero 3 over dp { gather = step }",
	"zero 3 over dp { prefetch = 0 }",
	"zero 3 over dp { prefetch = 3 }",
};

/* For gpt and llama. */
static const char *const memories[] = {
	"",
	"",
	"  recompute = block\n",
	"  recompute = selective(attention)\n",
	"  recompute = selective(mlp)\n",
	"  recompute = selective(attention, mlp)\n",
	"  attention = stored\n",
	"  attention = stored\n  recompute = selective(attention.core)\n",
};

/* In pipelines. */
static const char *const by_stage[] = {
	"",
	"",
	"",
	"  recompute = block on stage 0\n",
	"  recompute = selective(mlp) on stage 1\n  recompute = block on stage 0\n",
};

static const char *const reduces[] = {"", " { reduce = step }", " { reduce = micro_batch }"};

static const char *const models[] = {
	"model m : arch.gpt {\n  layers = %d, embed = 48, heads = 12, ffn = 72, vocab = 131\n"
	"  vocab_pad_to = 12, context = 24, norm_eps = 1e-5, tied_embeddings = %s\n"
	"  dropout = 10 %%\n}\n",
	"model m : arch.llama {\n  layers = %d, embed = 96, heads = 12, kv_heads = 6, ffn = 60\n"
	"  vocab = 144, context = 24, norm_eps = 1e-5, tied_embeddings = %s\n"
	"  rope_base = 10_000, qkv_bias = true, qk_norm = true\n}\n",
	"model m : arch.llama {\n  layers = %d, embed = 72, heads = 12, kv_heads = 1, ffn = 132\n"
	"  vocab = 60, context = 24, norm_eps = 1e-5, tied_embeddings = %s\n"
	"  rope_base = 10_000\n}\n",
};

static char *split_text(struct arena *arena, const struct pipeline *p, const char *zero, int tp,
			bool copied, bool replicas)
{
	const char *pipeline = p->stages == 1 ? ""
					      : arena_text(arena, "  pipeline over pp { %s }\n",
							   p->settings);
	const char *copies =
		copied && tp > 1 ? arena_text(arena, " { kv_heads = replicate(%d) }", tp) : "";
	return arena_text(arena,
			  "split {\n  data over dp%s%s\n  %s\n  tensor over tp%s\n%s%s}\n",
			  replicas ? " * rep" : "", PICK(reduces), zero, copies,
			  tp > 1 && below(2) ? "  sequence over tp\n" : "", pipeline);
}

static char *mesh_text(struct arena *arena, int pp, int dp, int rep, int tp)
{
	return arena_text(arena,
			  "cluster box { node { devices = %d of cpu.core { memory = 8 GiB } } }\n"
			  "mesh {\n%s  rep = %d within node\n  dp = %d within node\n"
			  "  tp = %d within node\n}\n",
			  pp * dp * rep * tp,
			  pp > 1 ? arena_text(arena, "  pp = %d within node\n", pp) : "", rep,
			  dp, tp);
}

char *draw_text(struct arena *arena, int i)
{
	static const int tps[] = {1, 1, 2, 3, 4}, dps[] = {1, 2, 3, 4, 7};
	static const int counts[] = {1, 2, 3, 5, 8, 12, 17, 40};
	state = (uint64_t)i + 1;
	const struct pipeline *p = &PICK(pipelines);
	uint64_t model = below(3);
	int tp = model == 1 ? 1 + (int)below(3) : PICK(tps), dp = PICK(dps);
	int count = PICK(counts), micro = below(2) ? 1 : 3;
	int rep = below(3) ? 1 : 2, lanes = dp == 2 || dp == 4 ? dp * rep : 0;
	const char *zero = PICK(zeros), *tied = below(2) ? "true" : "false";
	char *split = split_text(arena, p, zero, tp, model == 2, rep > 1);
	if (lanes && p->lanes && count % 4 == 0)
		lanes *= 4;
	char *head = arena_text(arena, models[model], p->layers, tied);
	const char *stages = PICK(by_stage), *memory = PICK(memories);
	memory = p->stages > 1 && *stages ? stages : memory;
	return arena_text(arena,
			  "plan drawn\nedition 1\nimport cpu from \"std/devices/cpu.plan\"\n"
			  "import arch from \"std/architectures.plan\"\n%s%sprecision = fp64\n"
			  "memory {\n%s}\n%s"
			  "train {\n  seq_len = 12 tokens, global_batch = %d seq\n"
			  "  micro_batch = %d seq, steps = 2, seed = 1%s\n"
			  "  optimizer = adamw { lr = 1e-3, weight_decay = 0 }\n"
			  "  data = bytes(\"data\")\n}\n",
			  mesh_text(arena, p->stages, dp, rep, tp), head, memory, split,
			  count * micro * dp * rep, micro,
			  lanes ? arena_text(arena, ", lanes = %d", lanes) : "");
}
