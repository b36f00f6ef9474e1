/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of model states, windows and buckets where ZeRO cuts them, against formulas that know the
 * tensors of a llama and no buffer; what gradients of another type are sent in; and table 1 of the
 * ZeRO paper to its printed digits, through layouts of models of that size. */
#include "compiled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

struct model_shape {
	uint64_t layers, embed, heads, kv_heads, ffn, vocab;
};

struct split {
	uint64_t ranks, stage;
	bool each; /* gradients are reduced after each micro-batch */
	bool once; /* weights are gathered once a step */
	uint64_t prefetch, lanes;
};

/* `precision` of a plan. Bytes of an element: weight, gradient, as it is sent, moments and master
 * copy together. */
struct precision {
	const char *text;
	uint64_t weight, gradient, wire, state;
	bool by_layer; /* each layer is rounded by a random stream of its own, so it is cut alone */
};

static const struct precision precisions[] = {
	{"= fp32", 4, 4, 4, 8, false},
	{"= pure_bf16", 2, 2, 2, 4, true},
	{"{ compute = fp32, params = fp32, gradients = fp32, gradient_wire = bf16\n"
	 " optimizer = fp32, loss = fp32 }",
	 4, 4, 2, 8, false},
	{"{ compute = bf16, params = bf16, gradients = bf16, gradient_wire = fp32\n"
	 " optimizer = fp32, loss = fp32 }",
	 2, 2, 4, 12, false},
	{"{ compute = bf16, params = bf16, gradients = fp32, gradient_wire = bf16\n"
	 " optimizer = bf16, loss = fp32, stochastic_rounding = true }",
	 2, 4, 2, 4, true},
};

static char *plan_text(struct arena *arena, const struct model_shape *m, const struct split *s,
		       const char *precision)
{
	return arena_text(
		arena,
		"plan p\nedition 1\nimport cpu from \"std/devices/cpu.plan\"\n"
		"import arch from \"std/architectures.plan\"\n"
		"cluster box { node { devices = %d of cpu.core { memory = 8 GiB } } }\n"
		"mesh { dp = %d within node }\n"
		"model m : arch.llama {\n layers = %d, embed = %d, heads = %d, kv_heads = %d\n"
		" ffn = %d, vocab = %d, context = 8, norm_eps = 1e-5, rope_base = 10_000\n"
		" tied_embeddings = false\n}\nprecision %s\n"
		"split {\n data over dp { reduce = %s }\n"
		" zero %d over dp { gather = %s, prefetch = %d }\n}\n"
		"train {\n seq_len = 8 tokens, global_batch = %d seq\n"
		" micro_batch = 1 seq, lanes = %d, steps = 2, seed = 1\n"
		" optimizer = adamw { lr = 1e-3, weight_decay = 0 }\n data = bytes(\"x\")\n}\n",
		(int)s->ranks, (int)s->ranks, (int)m->layers, (int)m->embed, (int)m->heads,
		(int)m->kv_heads, (int)m->ffn, (int)m->vocab, precision,
		s->each ? "micro_batch" : "step", (int)s->stage, s->once ? "step" : "use",
		(int)s->prefetch, (int)(s->ranks * s->lanes), (int)(s->ranks * s->lanes));
}

/* ---- tensors ----------------------------------------------------------------------------- */

enum { LAYER_TENSORS = 9 };

static void layer_tensors(const struct model_shape *m, uint64_t out[LAYER_TENSORS])
{
	uint64_t e = m->embed, kv = m->kv_heads * (e / m->heads), f = m->ffn;
	const uint64_t sizes[LAYER_TENSORS] = {e, e * e, e * kv, e * kv, e * e,
					       e, e * f, e * f,	 e * f};
	memcpy(out, sizes, sizeof sizes);
}

static uint64_t up(uint64_t n)
{
	return (n + 63) / 64 * 64;
}

static uint64_t slice(uint64_t n, uint64_t ranks)
{
	return up((n + ranks - 1) / ranks);
}

/* Elements of a parameter of `layers` tensors, by what is held of it. */
enum held { WHOLE, PADDED, LAYER_SLICES, ONE_SLICE };

static uint64_t held(uint64_t n, uint64_t layers, uint64_t ranks, enum held what)
{
	if (what == WHOLE)
		return n * layers;
	if (what == ONE_SLICE)
		return slice(layers > 1 ? up(n) * layers : n, ranks);
	return layers * slice(n, ranks) * (what == PADDED ? ranks : 1);
}

static uint64_t of_layers(const struct model_shape *m, uint64_t layers, uint64_t ranks,
			  enum held what)
{
	uint64_t tensors[LAYER_TENSORS], sum = 0;
	layer_tensors(m, tensors);
	for (int i = 0; i < LAYER_TENSORS; i++)
		sum += held(tensors[i], layers, ranks, what);
	return sum;
}

/* Both tables and the last norm. */
static uint64_t of_ends(const struct model_shape *m, uint64_t ranks, enum held what)
{
	return 2 * held(m->vocab * m->embed, 1, ranks, what) + held(m->embed, 1, ranks, what);
}

static uint64_t of_all(const struct model_shape *m, uint64_t ranks, enum held what)
{
	return of_layers(m, m->layers, ranks, what) + of_ends(m, ranks, what);
}

/* ---- items ------------------------------------------------------------------------------- */

static enum held weights_held(const struct split *s, const struct precision *p)
{
	if (s->stage == 3)
		return LAYER_SLICES;
	return (s->stage == 2 && s->each) || p->by_layer ? PADDED : WHOLE;
}

static enum held gradients_held(const struct split *s, const struct precision *p)
{
	if (s->stage >= 2 && s->each)
		return LAYER_SLICES;
	return s->stage == 3 || p->by_layer ? PADDED : WHOLE;
}

static enum held states_held(const struct split *s, const struct precision *p)
{
	return weights_held(s, p) == WHOLE ? ONE_SLICE : LAYER_SLICES;
}

static uint64_t levels(const struct split *s)
{
	uint64_t n = 1;
	for (uint64_t lanes = s->lanes; lanes > 1; lanes /= 2)
		n++;
	return n;
}

/* Elements of the windows that outlive a segment. */
static uint64_t windows(const struct model_shape *m, const struct split *s)
{
	uint64_t ahead = s->prefetch + 1 < m->layers ? s->prefetch + 1 : m->layers;
	if (s->stage < 3)
		return 0;
	return s->once ? of_all(m, s->ranks, PADDED) : of_layers(m, ahead, s->ranks, PADDED);
}

/* Elements of the bucket of a segment of the backward pass. */
static uint64_t bucket(const struct model_shape *m, const struct split *s,
		       const struct precision *p, const char *segment)
{
	enum held what = s->stage >= 2 || p->by_layer ? PADDED : WHOLE;
	uint64_t table = held(m->vocab * m->embed, 1, s->ranks, what);
	if (!s->each)
		return 0;
	if (!strcmp(segment, "layer_backward"))
		return of_layers(m, 1, s->ranks, what);
	return !strcmp(segment, "head_backward") ? table + held(m->embed, 1, s->ranks, what)
						 : table;
}

/* Elements of the largest gradient that is sent at once: a bucket, or the gradient of a step, of
 * one layer where each is cut alone. */
static uint64_t largest_sent(const struct model_shape *m, const struct split *s,
			     const struct precision *p)
{
	uint64_t tensors[LAYER_TENSORS];
	bool alone = s->each || s->stage == 3 || p->by_layer;
	bool padded = s->each ? s->stage >= 2 || p->by_layer : alone;
	enum held what = padded ? PADDED : WHOLE;
	uint64_t most = held(m->vocab * m->embed, 1, s->ranks, what);
	layer_tensors(m, tensors);
	for (int i = 0; i < LAYER_TENSORS; i++) {
		uint64_t n = held(tensors[i], alone ? 1 : m->layers, s->ranks, what);
		most = n > most ? n : most;
	}
	return most;
}

static uint64_t largest_staging(const struct program *program)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < program->nbuffers; i++) {
		const struct buffer *b = &program->buffers[i];
		if (b->part && !strcmp(b->part, "staging") && b->bytes * b->layers > most)
			most = b->bytes * b->layers;
	}
	return most;
}

/* Staging is as large as what is sent, and there while it is sent only. */
static void check_sent(const struct compiled_plan *c, const struct model_shape *m,
		       const struct split *s, const struct precision *p)
{
	bool differs = p->wire != p->gradient;
	uint64_t sent = differs ? p->wire * largest_sent(m, s, p) : 0;
	const uint64_t *update = c->layout.homes[0].peak[PHASE_UPDATE].items;
	CHECK_INT(largest_staging(&c->program), sent);
	CHECK_INT(update[ITEM_COMM], p->weight * windows(m, s) + (s->each ? 0 : sent));
}

static void check_split(const struct model_shape *m, const struct split *s,
			const struct precision *p)
{
	static const char *const none[] = {NULL};
	struct arena *arena = arena_new();
	struct compiled_plan *c = compiled_text("zero.plan", plan_text(arena, m, s, p->text), none);
	int before = check_failures;
	CHECK(c != NULL);
	if (c) {
		const struct peak *update = &c->layout.homes[0].peak[PHASE_UPDATE];
		const struct peak *back = &c->layout.homes[0].peak[PHASE_BACKWARD];
		const char *segment = c->program.segments[back->segment].name->text;
		uint64_t gradients = levels(s) * of_all(m, s->ranks, gradients_held(s, p));
		CHECK_INT(update->items[ITEM_WEIGHTS],
			  p->weight * of_all(m, s->ranks, weights_held(s, p)));
		CHECK_INT(update->items[ITEM_GRADIENTS], p->gradient * gradients);
		CHECK_INT(update->items[ITEM_OPTIMIZER],
			  p->state * of_all(m, s->ranks, states_held(s, p)));
		check_sent(c, m, s, p);
		if (p->wire == p->gradient)
			CHECK_INT(back->items[ITEM_GRADIENTS],
				  p->gradient * (gradients + bucket(m, s, p, segment)));
		compiled_close(c);
	}
	if (check_failures > before)
		fprintf(stderr, "in zero %d over %d, each %d, once %d, lanes %d, precision %s\n",
			(int)s->stage, (int)s->ranks, s->each, s->once, (int)s->lanes, p->text);
	arena_delete(arena);
}

static void check_items(void)
{
	static const struct model_shape shapes[] = {
		{3, 24, 4, 2, 36, 61}, {1, 40, 5, 1, 52, 130}, {5, 64, 4, 4, 96, 40}};
	static const uint64_t ranks[] = {2, 3, 4, 7};
	for (size_t m = 0; m < sizeof shapes / sizeof *shapes; m++)
		for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
			for (uint64_t i = 0; i < 36; i++) {
				struct split s = {.ranks = ranks[r],
						  .stage = 1 + i % 3,
						  .each = i / 3 % 2,
						  .once = i / 6 % 2,
						  .prefetch = i / 12,
						  .lanes = ranks[r] % 2 ? 1 : 1 << i % 2};
				for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++)
					check_split(&shapes[m], &s, &precisions[p]);
			}
}

/* ---- the paper --------------------------------------------------------------------------- */

/* Just above 7.5e9, 128e9 and 1e12 weights. */
static const struct model_shape sizes[] = {{32, 4096, 32, 32, 13000, 29351},
					   {96, 12288, 96, 96, 19500, 40941},
					   {128, 25600, 160, 160, 67400, 36722}};

/* GB of model states at stages 1, 2 and 3, as printed. */
static const struct published {
	uint64_t ranks;
	const char *gb[3][3];
} table[] = {
	{1, {{"120", "120", "120"}, {"2048", "2048", "2048"}, {"16000", "16000", "16000"}}},
	{4, {{"52.5", "41.3", "30"}, {"896", "704", "512"}, {"7000", "5500", "4000"}}},
	{16, {{"35.6", "21.6", "7.5"}, {"608", "368", "128"}, {"4750", "2875", "1000"}}},
	{64, {{"31.4", "16.6", "1.88"}, {"536", "284", "32"}, {"4187", "2218", "250"}}},
	{256, {{"30.4", "15.4", "0.47"}, {"518", "263", "8"}, {"4046", "2054", "62.5"}}},
	{1024, {{"30.1", "15.1", "0.12"}, {"513", "257", "2"}, {"4011", "2013", "15.6"}}},
};

static uint64_t states(const struct model_shape *m, uint64_t ranks, uint64_t stage)
{
	static const char *const none[] = {NULL};
	struct split s = {
		.ranks = ranks, .stage = stage, .each = stage >= 2, .prefetch = 1, .lanes = 1};
	struct arena *arena = arena_new();
	struct compiled_plan *c =
		compiled_text("paper.plan", plan_text(arena, m, &s, "= mixed_bf16_16b"), none);
	uint64_t bytes = 0;
	CHECK(c != NULL);
	if (c) {
		const uint64_t *items = c->layout.homes[0].peak[PHASE_UPDATE].items;
		bytes = items[ITEM_WEIGHTS] + items[ITEM_GRADIENTS] + items[ITEM_OPTIMIZER];
		compiled_close(c);
	}
	arena_delete(arena);
	return bytes;
}

/* Some figures are rounded, others cut: less than one of the last digit apart. */
static void check_printed(double gb, const char *want)
{
	const char *point = strchr(want, '.');
	double unit = point ? pow(10, -(double)strlen(point + 1)) : 1;
	CHECK(fabs(gb - strtod(want, NULL)) < unit);
	if (fabs(gb - strtod(want, NULL)) >= unit)
		fprintf(stderr, "%.4f GB, published: %s\n", gb, want);
}

static void check_paper(void)
{
	for (size_t r = 0; r < sizeof table / sizeof *table; r++)
		for (int m = 0; m < 3; m++)
			for (int stage = 1; stage <= 3; stage++) {
				const char *want = table[r].gb[m][stage - 1];
				uint64_t bytes = states(&sizes[m], table[r].ranks, (uint64_t)stage);
				check_printed((double)bytes / 1e9, want);
			}
}

int main(void)
{
	check_items();
	check_paper();
	return check_done();
}
