/* SPDX-License-Identifier: Apache-2.0 */
/* The memory table against formulas that know the two architectures and no buffer: what a weight,
 * its gradient and its optimizer take; what the backward pass reads of the forward pass, operator
 * by operator; the fullest moments of both passes. Exact to the byte for every row below and
 * precision. */
#include "compiled.h"

#include <stdlib.h>

#include "check.h"
#include "rt/workspace.h"

struct shape {
	const char *family;
	uint64_t layers, embed, heads, kv_heads, ffn, vocab, pad, tokens, micro, micro_batches,
		lanes;
	bool tied, dropout, qkv_bias, qk_norm;
};

static const struct shape shapes[] = {
	{"gpt", 2, 24, 3, 3, 96, 97, 64, 17, 2, 3, 1, .tied = true, .dropout = true},
	{"gpt", 3, 32, 4, 4, 128, 61, 1, 16, 1, 4, 4, .tied = false},
	{"gpt", 1, 40, 5, 5, 52, 211, 128, 9, 3, 1, 1, .tied = true},
	{"gpt", 4, 64, 8, 8, 256, 50, 1, 128, 4, 2, 2, .tied = true, .dropout = true},
	{"gpt", 2, 48, 2, 2, 64, 700, 64, 33, 2, 8, 8, .tied = false, .dropout = true},
	{"gpt", 12, 96, 12, 12, 384, 1000, 128, 64, 2, 2, 1, .tied = true},
	{"llama", 2, 24, 4, 2, 36, 61, 1, 16, 1, 12, 4, .tied = false},
	{"llama", 3, 32, 4, 1, 88, 53, 64, 21, 2, 2, 1, .tied = true, .qkv_bias = true},
	{"llama", 1, 48, 6, 3, 128, 900, 128, 31, 3, 1, 1, .tied = false, .qk_norm = true},
	{"llama", 2, 64, 4, 4, 40, 99, 1, 64, 1, 2, 2, .tied = true, .qk_norm = true},
	{"llama", 5, 56, 7, 7, 150, 60, 8, 19, 5, 4, 1, .tied = false, .qkv_bias = true,
	 .qk_norm = true},
	{"llama", 8, 128, 16, 8, 344, 512, 1, 70, 2, 8, 8, .tied = true},
};

/* Bytes of an element: forward and backward pass, statistics of rows, gradients, optimizer, and of
 * a master copy where the weights are narrower. */
static const struct precision {
	const char *name;
	enum rt_type compute;
	uint64_t values, statistics, gradients, optimizer, master;
} precisions[] = {
	{"fp64", RT_F64, 8, 8, 8, 8, 0},
	{"fp32", RT_F32, 4, 4, 4, 4, 0},
	{"mixed_bf16", RT_BF16, 2, 4, 4, 4, 4},
	{"mixed_bf16_16b", RT_BF16, 2, 4, 2, 4, 4},
	{"pure_bf16", RT_BF16, 2, 4, 2, 2, 0},
	{"{ compute = bf16, params = fp32, gradients = fp32, optimizer = fp32, loss = fp32 }",
	 RT_BF16, 2, 4, 4, 4, 4},
	{"{ compute = bf16, params = bf16, gradients = fp32, optimizer = bf16, loss = fp32 }",
	 RT_BF16, 2, 4, 4, 2, 0},
	{"{ compute = fp32, params = fp32, gradients = fp32, gradient_wire = bf16\n"
	 "partial_wire = bf16, optimizer = fp32, loss = fp32 }",
	 RT_F32, 4, 4, 4, 4, 0},
};

enum { CONTROL_WORDS = 16, NORM_WORDS = 48, BLOCK = 64 };

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t blocks(uint64_t rows)
{
	return (rows + BLOCK - 1) / BLOCK;
}

static bool is_gpt(const struct shape *s)
{
	return s->family[0] == 'g';
}

static uint64_t padded(const struct shape *s)
{
	return (s->vocab + s->pad - 1) / s->pad * s->pad;
}

static uint64_t context(const struct shape *s)
{
	return s->tokens + 3;
}

static uint64_t head(const struct shape *s)
{
	return s->embed / s->heads;
}

/* Tokens of a micro-batch. */
static uint64_t rows(const struct shape *s)
{
	return s->micro * s->tokens;
}

/* Gradient buffers that wait while lanes are added as a tree. */
static uint64_t levels(const struct shape *s)
{
	uint64_t n = 1;
	for (uint64_t lanes = s->lanes; lanes > 1; lanes /= 2)
		n++;
	return n;
}

/* Weights of a model as they lie in memory; a tied head once. */
static uint64_t weights(const struct shape *s)
{
	uint64_t e = s->embed, f = s->ffn, kv = s->kv_heads * head(s);
	uint64_t table = padded(s) * e, layer;
	uint64_t ends = s->tied ? table : 2 * table;
	if (is_gpt(s)) {
		layer = 4 * (e * e + e) + 2 * e * f + f + e + 4 * e;
		return ends + context(s) * e + s->layers * layer + 2 * e;
	}
	layer = 2 * e * e + 2 * e * kv + 3 * e * f + 2 * e;
	layer += s->qkv_bias ? e + 2 * kv : 0;
	layer += s->qk_norm ? 2 * head(s) : 0;
	return ends + s->layers * layer + e;
}

static uint64_t gradients(const struct shape *s)
{
	return levels(s) * (weights(s) + (s->tied ? padded(s) * s->embed : 0));
}

static uint64_t data(const struct shape *s, const struct precision *p)
{
	uint64_t words = CONTROL_WORDS + 2 * levels(s) + NORM_WORDS;
	uint64_t positions = is_gpt(s) ? 4 * s->tokens : s->tokens * head(s) * p->statistics;
	return 2 * 4 * rows(s) + positions + 8 * words;
}

/* What a block keeps, values and statistics of each token, the tensor it hands on not counted. gpt:
 * both normed inputs, q, k, v, the result of attention, the sum between the halves, both sides of
 * GELU. llama: the same, with k and v of fewer heads, and gate, SiLU, up and product. */
static uint64_t kept_values(const struct shape *s)
{
	uint64_t e = s->embed, kv = s->kv_heads * head(s);
	if (is_gpt(s))
		return 3 * e + 4 * e + 2 * s->ffn;
	return 3 * e + 2 * e + 2 * kv + 4 * s->ffn + (s->qk_norm ? e + kv : 0);
}

static uint64_t kept_statistics(const struct shape *s)
{
	uint64_t norms = is_gpt(s) ? 4 : 2;
	return norms + s->heads + (s->qk_norm ? s->heads + s->kv_heads : 0);
}

static uint64_t activations(const struct shape *s, const struct precision *p)
{
	uint64_t values = (s->layers + 1) * s->embed + s->layers * kept_values(s);
	uint64_t statistics = s->layers * kept_statistics(s) + (is_gpt(s) ? 2 : 1);
	values += s->embed + padded(s); /* the last norm and the logits */
	return rows(s) * (values * p->values + statistics * p->statistics + sizeof(double));
}

/* Temporaries of the forward pass at its fullest: sums of embeddings, projections before they are
 * rotated or added. */
static uint64_t forward_elements(const struct shape *s)
{
	uint64_t n = rows(s), e = s->embed;
	if (is_gpt(s)) {
		uint64_t embedding = n * e + s->tokens * e + (s->dropout ? n * e : 0);
		return most(embedding, s->dropout ? 2 * n * e : n * e);
	}
	return n * most(e, e + s->kv_heads * head(s));
}

/* Of the backward pass, in bytes: the feed part, attention, or the head. Sums of blocks of rows on
 * their way to the weight of a norm are statistics. */
static uint64_t backward_bytes(const struct shape *s, const struct precision *p)
{
	uint64_t n = rows(s), e = s->embed, kv = s->kv_heads * head(s);
	uint64_t loss = n * padded(s) + n * e;
	uint64_t feed = is_gpt(s) ? 2 * n * s->ffn : 3 * n * s->ffn;
	uint64_t attention = (n * e + 2 * n * e + 2 * n * kv) * p->values;
	if (s->qk_norm)
		attention += blocks(n * s->heads) * head(s) * p->statistics;
	return most(most(loss, feed) * p->values, attention);
}

/* Scratch for one product and the two of its backward pass. */
static uint64_t product(const struct precision *p, uint64_t m, uint64_t n, uint64_t k)
{
	uint64_t bytes = most(rt_matmul_workspace(p->compute, m, n, k),
			      rt_matmul_workspace(p->compute, m, k, n));
	return most(bytes, rt_matmul_workspace(p->compute, n, k, m));
}

static uint64_t workspace(const struct shape *s, const struct precision *p)
{
	uint64_t n = rows(s), e = s->embed, bytes = product(p, n, e, e);
	bytes = most(bytes, product(p, n, s->kv_heads * head(s), e));
	bytes = most(bytes, product(p, n, s->ffn, e));
	bytes = most(bytes, product(p, n, e, s->ffn));
	bytes = most(bytes, product(p, n, padded(s), e));
	return (bytes + 7) / 8 * 8;
}

/* ---- the plan ------------------------------------------------------------------------------ */

static const char *word(bool yes)
{
	return yes ? "true" : "false";
}

static char *model_text(struct arena *arena, const struct shape *s)
{
	char *text = arena_text(
		arena,
		"model m : arch.%s {\n layers = %d, embed = %d, heads = %d, ffn = %d\n vocab = %d, "
		"vocab_pad_to = %d, context = %d\n norm_eps = 1e-5, tied_embeddings = %s\n",
		s->family, (int)s->layers, (int)s->embed, (int)s->heads, (int)s->ffn, (int)s->vocab,
		(int)s->pad, (int)context(s), word(s->tied));
	if (is_gpt(s))
		return arena_text(arena, "%s dropout = %d %%\n}\n", text, s->dropout ? 10 : 0);
	return arena_text(arena,
			  "%s kv_heads = %d, rope_base = 10_000, qkv_bias = %s, qk_norm = %s\n}\n",
			  text, (int)s->kv_heads, word(s->qkv_bias), word(s->qk_norm));
}

static char *plan_text(struct arena *arena, const struct shape *s, const struct precision *p)
{
	return arena_text(
		arena,
		"plan p\nedition 1\nimport cpu from \"std/devices/cpu.plan\"\n"
		"import arch from \"std/architectures.plan\"\n"
		"cluster box { node { devices = 1 of cpu.core { memory = 8 GiB } } }\n%s"
		"precision %s%s\ntrain {\n seq_len = %d tokens, global_batch = %d seq\n"
		" micro_batch = %d seq, lanes = %d, steps = 2, seed = 1\n"
		" optimizer = adamw { lr = 1e-3, weight_decay = 0 }\n data = bytes(\"x\")\n}\n",
		model_text(arena, s), p->name[0] == '{' ? "" : "= ", p->name, (int)s->tokens,
		(int)(s->micro * s->micro_batches), (int)s->micro, (int)s->lanes);
}

static void check_phase(const struct compiled_plan *c, enum phase phase, const uint64_t *want)
{
	static const char *const names[] = {
#define ITEM(id, name, doc) name,
#include "part/items.def"
#undef ITEM
	};
	const struct peak *peak = &c->layout.homes[0].peak[phase];
	uint64_t sum = peak->gaps;
	for (int item = 0; item < ITEMS; item++) {
		check_number(__FILE__, __LINE__, names[item], (long long)peak->items[item],
			     (long long)want[item]);
		sum += peak->items[item];
	}
	CHECK_INT(sum, peak->total);
	CHECK(peak->total <= c->layout.homes[0].arena);
}

static void check_shape(const struct shape *s, const struct precision *p)
{
	static const char *const none[] = {NULL};
	struct arena *arena = arena_new();
	struct compiled_plan *c = compiled_text("memory.plan", plan_text(arena, s, p), none);
	int before = check_failures;
	uint64_t carried = 2 * rows(s) * s->embed * p->values;
	uint64_t want[ITEMS] = {
		[ITEM_WEIGHTS] = weights(s) * p->values,
		[ITEM_GRADIENTS] = gradients(s) * p->gradients,
		[ITEM_OPTIMIZER] = weights(s) * (2 * p->optimizer + p->master),
		[ITEM_ACTIVATIONS] = activations(s, p),
		[ITEM_DATA] = data(s, p),
		[ITEM_WORKSPACE] = workspace(s, p),
		[ITEM_WORKING] = carried,
	};
	CHECK(c != NULL);
	if (c) {
		check_phase(c, PHASE_UPDATE, want);
		want[ITEM_WORKING] = carried + p->values * forward_elements(s);
		check_phase(c, PHASE_FORWARD, want);
		want[ITEM_WORKING] = carried + backward_bytes(s, p);
		check_phase(c, PHASE_BACKWARD, want);
		compiled_close(c);
	}
	if (check_failures > before)
		fprintf(stderr, "in row %d of shapes, %s\n", (int)(s - shapes), p->name);
	arena_delete(arena);
}

int main(void)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (size_t k = 0; k < sizeof precisions / sizeof *precisions; k++)
			check_shape(&shapes[i], &precisions[k]);
	return check_done();
}
