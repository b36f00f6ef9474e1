/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of every stage of a pipeline against formulas that know two architectures, the stage's
 * layers and, from a schedule drawn by hand (naive_pipeline.h), how many micro-batches are under
 * way: the first stage has what stands before the layers, the last one what stands behind them,
 * those between neither. Exact to the byte. */
#include "compiled.h"

#include <stdlib.h>

#include "check.h"
#include "naive_pipeline.h"
#include "rt/workspace.h"

struct shape {
	const char *family, *schedule, *layers_word;
	uint64_t stages, chunks, layers, micro_batches, lanes;
	uint64_t embed, heads, ffn, vocab, tokens, micro;
	bool tied;
};

static const struct shape shapes[] = {
	{"gpt", "1f1b", "even", 3, 1, 6, 8, 1, 24, 3, 96, 97, 17, 2, .tied = true},
	{"gpt", "1f1b", "[3, 1, 2]", 3, 1, 6, 8, 4, 24, 3, 96, 97, 17, 2, .tied = true},
	{"gpt", "gpipe", "spread", 4, 1, 7, 5, 1, 32, 4, 64, 61, 16, 1, .tied = false},
	{"gpt", "interleaved_1f1b", "spread", 4, 2, 11, 12, 2, 32, 4, 64, 300, 16, 1, .tied = true},
	{"gpt", "1f1b", "even", 2, 1, 2, 1, 1, 16, 2, 64, 40, 8, 3, .tied = true},
	{"llama", "1f1b", "even", 5, 1, 5, 16, 1, 24, 4, 36, 61, 16, 1, .tied = false},
	{"llama", "1f1b", "even", 4, 1, 8, 3, 1, 24, 4, 36, 500, 16, 1, .tied = true},
	{"llama", "gpipe", "even", 3, 1, 3, 9, 1, 48, 6, 128, 210, 31, 2, .tied = false},
	{"llama", "interleaved_1f1b", "even", 3, 3, 9, 14, 2, 48, 6, 40, 99, 10, 1, .tied = true},
	{"llama", "interleaved_1f1b", "[1, 2, 3, 1]", 2, 2, 7, 7, 1, 48, 6, 40, 99, 10, 1,
	 .tied = false},
};

enum { VALUE = 4, CONTROL_WORDS = 16, NORM_WORDS = 48 };

/* A stage: its layers, those of its largest chunk, copies, messages that wait. */
struct stage {
	uint64_t layers, deepest, slots, heads, received;
	bool first, last;
};

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool is_gpt(const struct shape *s)
{
	return s->family[0] == 'g';
}

static uint64_t rows(const struct shape *s)
{
	return s->micro * s->tokens;
}

static uint64_t levels(const struct shape *s)
{
	uint64_t n = 1;
	for (uint64_t lanes = s->lanes; lanes > 1; lanes /= 2)
		n++;
	return n;
}

/* Layers of a virtual stage. */
static uint64_t layers_of(const struct shape *s, uint64_t v)
{
	const char *at = s->layers_word + 1;
	char *end;
	uint64_t parts = s->stages * s->chunks;
	if (s->layers_word[0] != '[')
		return s->layers / parts + (v < s->layers % parts);
	while (v-- > 0) {
		strtoull(at, &end, 10);
		at = end + 1;
	}
	return strtoull(at, NULL, 10);
}

static struct stage stage_of(const struct shape *s, uint64_t at, struct arena *arena)
{
	struct naive_pipeline p = naive_new(s->schedule[0] == 'g', (int)s->stages, (int)s->chunks,
					    (int)s->micro_batches, arena);
	struct stage stage = {.first = at == 0, .last = at + 1 == s->stages};
	for (uint64_t c = 0; c < s->chunks; c++) {
		uint64_t layers = layers_of(s, c * s->stages + at);
		stage.layers += layers;
		stage.deepest = most(stage.deepest, layers);
	}
	stage.slots = (uint64_t)naive_copies(&p, (int)at, NAIVE_KEPT, -1);
	/* what the head keeps: once, or where two are ever there, as often as a slot */
	bool alone = naive_copies(&p, (int)at, NAIVE_KEPT, (int)s->chunks - 1) == 1;
	stage.heads = alone ? 1 : stage.slots;
	stage.received = (uint64_t)(naive_copies(&p, (int)at, NAIVE_OPERANDS, -1) +
				    naive_copies(&p, (int)at, NAIVE_GRADIENTS, -1));
	return stage;
}

static uint64_t table(const struct shape *s)
{
	return s->vocab * s->embed;
}

/* What stands before the layers, one layer, what stands behind them. */
static uint64_t weights(const struct shape *s, const struct stage *stage)
{
	uint64_t e = s->embed, f = s->ffn, sum = 0;
	uint64_t layer = is_gpt(s) ? 4 * (e * e + e) + 2 * e * f + f + e + 4 * e
				   : 4 * e * e + 3 * e * f + 2 * e;
	if (stage->first)
		sum += table(s) + (is_gpt(s) ? s->tokens * e : 0);
	if (stage->last)
		sum += table(s) + (is_gpt(s) ? 2 * e : e);
	return sum + stage->layers * layer;
}

/* Of a tied table both ends have two: their own, with its lanes, and the sum of the other end. */
static uint64_t gradients(const struct shape *s, const struct stage *stage)
{
	bool other = s->tied && (stage->first || stage->last);
	return levels(s) * weights(s, stage) + (other ? table(s) : 0);
}

static uint64_t activations(const struct shape *s, const struct stage *stage)
{
	uint64_t e = s->embed;
	uint64_t values = is_gpt(s) ? 7 * e + 2 * s->ffn : 7 * e + 4 * s->ffn;
	uint64_t statistics = (is_gpt(s) ? 4 : 2) + s->heads;
	uint64_t sum = (stage->deepest + 1) * e + stage->deepest * (values + statistics);
	uint64_t head = e + s->vocab + (is_gpt(s) ? 2 : 1) + sizeof(double) / VALUE;
	return (stage->slots * sum + (stage->last ? stage->heads * head : 0)) * rows(s) * VALUE;
}

static uint64_t data(const struct shape *s, const struct stage *stage)
{
	uint64_t words = CONTROL_WORDS + 2 * levels(s) + NORM_WORDS, indices = 0;
	uint64_t turns = is_gpt(s) ? 0 : s->tokens * (s->embed / s->heads) * VALUE;
	indices += stage->first ? rows(s) + (is_gpt(s) ? s->tokens : 0) : 0;
	indices += stage->last ? rows(s) : 0;
	return 4 * indices + turns + 8 * words;
}

static uint64_t product(uint64_t m, uint64_t n, uint64_t k)
{
	return most(
		most(rt_matmul_workspace(RT_F32, m, n, k), rt_matmul_workspace(RT_F32, m, k, n)),
		rt_matmul_workspace(RT_F32, n, k, m));
}

static uint64_t workspace(const struct shape *s, const struct stage *stage)
{
	uint64_t n = rows(s), e = s->embed, bytes = product(n, e, e);
	bytes = most(bytes, most(product(n, s->ffn, e), product(n, e, s->ffn)));
	if (stage->last)
		bytes = most(bytes, product(n, s->vocab, e));
	return (bytes + 7) / 8 * 8;
}

/* Temporaries at the fullest moment of a pass. */
static uint64_t forward(const struct shape *s, const struct stage *stage)
{
	uint64_t n = rows(s), e = s->embed, layer = is_gpt(s) ? n * e : 2 * n * e;
	if (stage->first && is_gpt(s))
		layer = most(layer, n * e + s->tokens * e);
	return layer;
}

static uint64_t backward(const struct shape *s, const struct stage *stage)
{
	uint64_t n = rows(s), e = s->embed;
	uint64_t feed = (is_gpt(s) ? 2 : 3) * n * s->ffn, attention = 5 * n * e;
	uint64_t loss = stage->last ? n * s->vocab + n * e : 0;
	return most(most(feed, attention), loss);
}

static char *plan_text(struct arena *arena, const struct shape *s)
{
	const char *more = is_gpt(s) ? "dropout = 0 %" : "rope_base = 10_000";
	return arena_text(
		arena,
		"plan p\nedition 1\nimport cpu from \"std/devices/cpu.plan\"\n"
		"import arch from \"std/architectures.plan\"\n"
		"cluster box { node { devices = %d of cpu.core { memory = 8 GiB } } }\n"
		"mesh { pp = %d within node }\n"
		"model m : arch.%s {\n layers = %d, embed = %d, heads = %d, ffn = %d\n vocab = %d\n"
		" context = %d, norm_eps = 1e-5, tied_embeddings = %s, %s\n}\n"
		"precision = fp32\n"
		"split { pipeline over pp { schedule = %s, chunks = %d, layers = %s } }\n"
		"train {\n seq_len = %d tokens, micro_batches = %d, micro_batch = %d seq\n"
		" lanes = %d, steps = 2, seed = 1\n"
		" optimizer = adamw { lr = 1e-3, weight_decay = 0 }\n data = bytes(\"x\")\n}\n",
		(int)s->stages, (int)s->stages, s->family, (int)s->layers, (int)s->embed,
		(int)s->heads, (int)s->ffn, (int)s->vocab, (int)s->tokens,
		s->tied ? "true" : "false", more, s->schedule, (int)s->chunks, s->layers_word,
		(int)s->tokens, (int)s->micro_batches, (int)s->micro, (int)s->lanes);
}

static void check_items(const struct peak *peak, const uint64_t *want)
{
	static const char *const names[] = {
#define ITEM(id, name, doc) name,
#include "part/items.def"
#undef ITEM
	};
	for (int item = 0; item < ITEMS; item++)
		check_number(__FILE__, __LINE__, names[item], (long long)peak->items[item],
			     (long long)want[item]);
}

static void check_stage(const struct shape *s, const struct layout *layout, uint64_t at,
			struct arena *arena)
{
	struct stage stage = stage_of(s, at, arena);
	const struct peak *peak = layout->homes[0].peak;
	uint64_t carried = rows(s) * s->embed * VALUE;
	uint64_t want[ITEMS] = {
		[ITEM_WEIGHTS] = weights(s, &stage) * VALUE,
		[ITEM_GRADIENTS] = gradients(s, &stage) * VALUE,
		[ITEM_OPTIMIZER] = weights(s, &stage) * 2 * VALUE,
		[ITEM_ACTIVATIONS] = activations(s, &stage),
		[ITEM_COMM] = stage.received * carried,
		[ITEM_DATA] = data(s, &stage),
		[ITEM_WORKSPACE] = workspace(s, &stage),
		[ITEM_WORKING] = 2 * carried,
	};
	check_items(&peak[PHASE_UPDATE], want);
	want[ITEM_WORKING] = 2 * carried + forward(s, &stage) * VALUE;
	check_items(&peak[PHASE_FORWARD], want);
	want[ITEM_WORKING] = 2 * carried + backward(s, &stage) * VALUE;
	check_items(&peak[PHASE_BACKWARD], want);
}

static void check_shape(const struct shape *s)
{
	static const char *const none[] = {NULL};
	struct arena *arena = arena_new();
	struct compiled_plan *c = compiled_text("stages.plan", plan_text(arena, s), none);
	int before = check_failures;
	uint64_t at = 0;
	CHECK(c != NULL);
	for (const struct layout *l = c ? &c->layout : NULL; l; l = l->next, at++) {
		check_stage(s, l, at, arena);
		if (check_failures > before)
			fprintf(stderr, "in row %d of shapes, stage %d\n", (int)(s - shapes),
				(int)at);
		before = check_failures;
	}
	CHECK_INT(at, s->stages);
	if (c)
		compiled_close(c);
	arena_delete(arena);
}

int main(void)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		check_shape(&shapes[i]);
	return check_done();
}
