/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept and what is made again where a plan recomputes, against formulas that know the two
 * architectures and no buffer; stored attention by the byte; activations of the models of
 * Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (2022). */
#include "compiled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static const char *const none[] = {NULL};

/* ---- items ---------------------------------------------------------------------------------- */

struct shape {
	const char *family;
	uint64_t layers, embed, heads, kv_heads, ffn, tokens, micro;
	bool dropout, qk_norm;
};

/* The backward pass of a layer is their fullest moment. */
static const struct shape shapes[] = {
	{"gpt", 3, 24, 3, 3, 192, 17, 2, .dropout = true},
	{"gpt", 2, 32, 4, 4, 160, 16, 1, .dropout = false},
	{"gpt", 1, 40, 5, 5, 240, 9, 3, .dropout = true},
	{"llama", 4, 24, 4, 2, 136, 16, 1, .qk_norm = false},
	{"llama", 2, 48, 6, 3, 256, 31, 3, .qk_norm = true},
	{"llama", 1, 64, 4, 4, 320, 64, 1, .qk_norm = true},
};

static const struct precision {
	const char *name;
	uint64_t values, statistics;
} precisions[] = {{"fp64", 8, 8}, {"fp32", 4, 4}, {"mixed_bf16", 2, 4}, {"mixed_bf16_16b", 2, 4}};

enum { VOCAB = 32 };

static bool is_gpt(const struct shape *s)
{
	return s->family[0] == 'g';
}

static char *plan_text(struct arena *arena, const struct shape *s, const char *precision,
		       const char *recompute)
{
	char *more = is_gpt(s) ? arena_text(arena, "dropout = %d %%", s->dropout ? 10 : 0)
			       : arena_text(arena,
					    "kv_heads = %d, rope_base = 10_000, qk_norm = %s",
					    (int)s->kv_heads, s->qk_norm ? "true" : "false");
	return arena_text(
		arena,
		"plan p\nedition 1\nimport cpu from \"std/devices/cpu.plan\"\n"
		"import arch from \"std/architectures.plan\"\n"
		"cluster box { node { devices = 1 of cpu.core { memory = 8 GiB } } }\n"
		"model m : arch.%s {\n layers = %d, embed = %d, heads = %d, ffn = %d, vocab = %d\n"
		" context = %d, norm_eps = 1e-5, tied_embeddings = false\n %s\n}\n"
		"precision = %s\nmemory { recompute = %s }\n"
		"train {\n seq_len = %d tokens, global_batch = %d seq\n"
		" micro_batch = %d seq, steps = 2, seed = 1\n"
		" optimizer = adamw { lr = 1e-3, weight_decay = 0 }\n data = bytes(\"x\")\n}\n",
		s->family, (int)s->layers, (int)s->embed, (int)s->heads, (int)s->ffn, VOCAB,
		(int)s->tokens, more, precision, recompute, (int)s->tokens, (int)s->micro,
		(int)s->micro);
}

/* Of a token and a layer: elements of the compute type, and statistics. */
struct kept {
	uint64_t values, statistics;
};

/* What backward reads of a group beside the input of the layer. The sum in the middle is made by
 * `attention`. */
static struct kept attention_kept(const struct shape *s)
{
	uint64_t e = s->embed, kv = s->kv_heads * (s->embed / s->heads);
	struct kept k = {e + e + 2 * kv + e + e, (is_gpt(s) ? 2 : 1) + s->heads};
	if (s->qk_norm) {
		k.values += e + kv;
		k.statistics += s->heads + s->kv_heads;
	}
	return k;
}

static struct kept feed_kept(const struct shape *s)
{
	return (struct kept){s->embed + (is_gpt(s) ? 2 : 4) * s->ffn, is_gpt(s) ? 2 : 1};
}

/* Of the ends of the model: embedding nothing, the head its norm and logits. */
static uint64_t head_bytes(const struct shape *s, const struct precision *p)
{
	uint64_t rows = s->micro * s->tokens;
	return rows * ((s->embed + VOCAB) * p->values + (is_gpt(s) ? 2 : 1) * p->statistics +
		       sizeof(double));
}

static uint64_t bytes_of(const struct shape *s, const struct precision *p, struct kept k)
{
	return s->micro * s->tokens * (k.values * p->values + k.statistics * p->statistics);
}

/* What a form leaves, and has instead, of all layers; what is made again of one where the feed part
 * goes back: the activation has its gradient and that of its operand, its own value is read no
 * more. */
struct form {
	const char *text;
	bool attention, feed; /* made again */
};

static const struct form forms[] = {{"none", false, false},
				    {"block", true, true},
				    {"selective(attention, mlp)", true, true},
				    {"selective(mlp)", false, true},
				    {"selective(attention)", true, false}};

struct want {
	uint64_t activations, instead, again, working;
};

static struct want want_of(const struct shape *s, const struct precision *p, const struct form *f)
{
	struct kept attention = attention_kept(s), feed = feed_kept(s), again = {0, 0};
	struct kept row = {s->embed, 0}, rows = {s->embed * (s->layers + 1), 0};
	uint64_t carried = bytes_of(s, p, rows), width = bytes_of(s, p, (struct kept){s->ffn, 0});
	struct want w = {.activations = head_bytes(s, p)};
	*(f->attention ? &w.instead : &w.activations) += carried;
	if (f->feed && !f->attention) {
		w.instead += s->layers * bytes_of(s, p, row);
		attention.values -= s->embed;
	}
	if (!f->attention)
		w.activations += s->layers * bytes_of(s, p, attention);
	if (!f->feed)
		w.activations += s->layers * bytes_of(s, p, feed);
	if (f->feed) {
		again.values = feed.values - s->ffn + (f->attention ? attention.values : 0);
		again.statistics =
			feed.statistics + (f->attention ? attention.statistics : 0);
	}
	w.again = bytes_of(s, p, again);
	w.working = 2 * width;
	return w;
}

static void check_form(const struct shape *s, const struct precision *p, const struct form *f)
{
	struct arena *arena = arena_new();
	struct compiled_plan *c =
		compiled_text("recompute.plan", plan_text(arena, s, p->name, f->text), none);
	int before = check_failures;
	CHECK(c != NULL);
	if (c) {
		const struct peak *update = &c->layout.homes[0].peak[PHASE_UPDATE];
		const struct peak *back = &c->layout.homes[0].peak[PHASE_BACKWARD];
		struct want w = want_of(s, p, f);
		uint64_t adjoint = 2 * s->micro * s->tokens * s->embed * p->values;
		CHECK_INT(update->items[ITEM_ACTIVATIONS], w.activations);
		CHECK_INT(update->items[ITEM_RECOMPUTE], w.instead);
		if (f->feed) {
			CHECK_TEXT(c->program.segments[back->segment].name->text,
				   "layer_backward");
			CHECK_INT(back->items[ITEM_RECOMPUTE], w.instead + w.again);
			CHECK_INT(back->items[ITEM_WORKING], adjoint + w.working);
		}
		compiled_close(c);
	}
	if (check_failures > before)
		fprintf(stderr, "in row %d of shapes, %s, recompute = %s\n", (int)(s - shapes),
			p->name, f->text);
	arena_delete(arena);
}

static void check_items(void)
{
	for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
		for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++)
			for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
				check_form(&shapes[s], &precisions[p], &forms[f]);
}

/* ---- models of the paper -------------------------------------------------------------------- */

/* Table 3 of the paper, and stages and chunks of table 5. */
static const struct paper {
	const char *name;
	uint64_t heads, hidden, layers, micro, stages, chunks;
	/* GiB of the first stage: formulas of its table 2 and section 4; those of tensor, and of
	 * sequence and selective, are drawn in its figure 1 */
	double gib[5];
} papers[] = {
	{"22B", 64, 6144, 48, 4, 1, 1, {59.25, 39.5625, 29.25, 9.5625, 4.5}},
	{"175B", 96, 12288, 96, 1, 8, 3, {66.8438, 41.4141, 37.7812, 12.3516, 5.8125}},
	{"530B", 128, 20480, 105, 1, 35, 3, {114.0234, 66.5137, 70.5859, 23.0762, 10.8594}},
	{"1T", 160, 25600, 128, 1, 64, 1, {131.25, 76.5625, 81.25, 26.5625, 12.5}},
};

enum { LENGTH = 2048, TENSOR = 8 };

static const struct way {
	const char *recompute;
	bool sequence, selective, all;
} ways[] = {
	{"none", .sequence = false},
	{"none", .sequence = true},
	{"selective(attention.core)", .selective = true},
	{"selective(attention.core)", .sequence = true, .selective = true},
	{"block", .all = true},
};

static char *pipeline_text(struct arena *arena, const struct paper *m)
{
	if (m->stages == 1)
		return arena_text(arena, "pipeline over pp");
	if (m->chunks == 1)
		return arena_text(arena, "pipeline over pp { schedule = 1f1b }");
	return arena_text(arena,
			  "pipeline over pp { schedule = interleaved_1f1b, chunks = %d }",
			  (int)m->chunks);
}

static char *paper_text(struct arena *arena, const struct paper *m, const struct way *way)
{
	uint64_t batches = m->stages > 1 ? 2 * m->stages : 1;
	return arena_text(
		arena,
		"plan p\nedition 1\nimport cpu from \"std/devices/cpu.plan\"\n"
		"import arch from \"std/architectures.plan\"\n"
		"cluster box { node { devices = %d of cpu.core { memory = 8 GiB } } }\n"
		"mesh { pp = %d within node, tp = %d within node }\n"
		"model m : arch.gpt {\n layers = %d, embed = %d, heads = %d, vocab = 51200\n"
		" context = %d, norm_eps = 1e-5, tied_embeddings = false, dropout = 10 %%\n}\n"
		"precision = mixed_bf16\nsplit {\n %s\n tensor over tp%s\n}\n"
		"memory { recompute = %s, attention = stored }\n"
		"train {\n seq_len = %d tokens, global_batch = %d seq\n"
		" micro_batch = %d seq, steps = 2, seed = 1\n"
		" optimizer = adamw { lr = 1e-3, weight_decay = 0 }\n data = bytes(\"x\")\n}\n",
		(int)m->stages * TENSOR, (int)m->stages, TENSOR, (int)m->layers, (int)m->hidden,
		(int)m->heads, LENGTH, pipeline_text(arena, m),
		way->sequence ? "\n sequence over tp" : "", way->recompute, LENGTH,
		(int)(m->micro * batches), (int)m->micro);
}

static bool of_layer(const char *name)
{
	return !strncmp(name, "attention_", 10) || !strncmp(name, "mlp_", 4);
}

/* Bytes of the first stage for its layers, and layers times micro-batches that it holds. Of what a
 * chunk of n layers hands on, n copies are inputs of layers. */
static double layers_kept(const struct program *p, double *copies)
{
	const struct role *role = &p->roles[0];
	const struct buffer *carried = &p->buffers[role->carried];
	double bytes = (double)carried->bytes * (double)((carried->layers - 1) * carried->slots);
	*copies = (double)((carried->layers - 1) * carried->slots);
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct buffer *b = &p->buffers[i];
		if (b->life == LIFE_SLOT && of_layer(b->name->text))
			bytes += (double)b->bytes * (double)(b->layers * b->slots);
	}
	return bytes;
}

/* Bytes of a layer and micro-batch that the paper counts and planc does not keep, less those that
 * only planc does:
 *  - a byte mask of each dropout behind a projection: dropped elements are drawn again by counter;
 *  - the output of attention with `selective(attention.core)`: the group makes it again as well;
 *  - mean and deviation of both norms, in fp32: the paper leaves them out as small. */
static double differences(const struct paper *m, const struct way *way)
{
	double rows = (double)(LENGTH * m->micro), h = (double)m->hidden;
	double masks = 2 * rows * h, statistics = 4 * 4 * rows;
	double context = way->selective ? 2 * rows * h / TENSOR : 0;
	if (way->all)
		return 0;
	return (masks - statistics) / (way->sequence ? TENSOR : 1) + context;
}

/* Layers times micro-batches that the first stage holds by the paper: all layers, and with chunks
 * 1 + (p - 1) / (p m) times that. */
static double paper_copies(const struct paper *m)
{
	double p = (double)m->stages, chunks = (double)m->chunks;
	return (double)m->layers * (chunks > 1 ? 1 + (p - 1) / (p * chunks) : 1);
}

/* Bytes of a layer over s b h: its table 2. */
static double formula(const struct paper *m, const struct way *way)
{
	double t = TENSOR, h = (double)m->hidden;
	double scores = way->selective ? 0 : 5 * (double)m->heads * LENGTH / h;
	if (way->all)
		return 2;
	return way->sequence ? (34 + scores) / t : 10 + 24 / t + scores / t;
}

static void check_near(const char *what, const struct paper *m, size_t way, double got,
		       double want)
{
	CHECK(fabs(got - want) < 0.005);
	if (fabs(got - want) >= 0.005)
		fprintf(stderr, "%s, way %d: %.4f %s, published: %.4f\n", m->name, (int)way, got,
			what, want);
}

static void check_paper(const struct paper *m, size_t way)
{
	struct arena *arena = arena_new();
	char *text = paper_text(arena, m, &ways[way]);
	struct compiled_plan *c = compiled_text("paper.plan", text, none);
	double unit = (double)(LENGTH * m->micro * m->hidden), copies;
	CHECK(c != NULL);
	if (c) {
		double bytes = layers_kept(&c->program, &copies);
		bytes += differences(m, &ways[way]) * copies;
		CHECK_DOUBLE(copies, paper_copies(m));
		check_near("s b h", m, way, bytes / copies / unit, formula(m, &ways[way]));
		check_near("GiB", m, way, bytes / (double)(1 << 30), m->gib[way]);
		compiled_close(c);
	}
	arena_delete(arena);
}

/* ---- stored attention ----------------------------------------------------------------------- */

/* MiB of the buffers whose names end so, of one layer. */
static uint64_t mib(const struct program *p, const char *end)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const char *name = p->buffers[i].name->text;
		size_t n = strlen(name);
		if (n >= strlen(end) && !strcmp(name + n - strlen(end), end))
			bytes += p->buffers[i].bytes;
	}
	return bytes >> 20;
}

/* 32 heads of one sequence of 4096: 512 Mi pairs in bf16. */
static void check_stored(void)
{
	static const struct paper model = {.heads = 32, .hidden = 4096, .layers = 2, .micro = 1,
					   .stages = 1, .chunks = 1};
	struct arena *arena = arena_new();
	char *text = paper_text(arena, &model, &ways[0]);
	char *length = strstr(text, "seq_len = 2048"), *context = strstr(text, "context = 2048");
	memcpy(length + 10, "4096", 4);
	memcpy(context + 10, "4096", 4);
	struct compiled_plan *c = compiled_text("stored.plan", text, none);
	CHECK(c != NULL);
	if (c) {
		CHECK_INT(TENSOR * mib(&c->program, "_scores"), 1024);
		CHECK_INT(TENSOR * mib(&c->program, "_probabilities"), 1024);
		CHECK_INT(TENSOR * (mib(&c->program, "_dropped") + mib(&c->program, "_mask")),
			  1536);
		compiled_close(c);
	}
	arena_delete(arena);
}

int main(void)
{
	check_items();
	for (size_t m = 0; m < sizeof papers / sizeof *papers; m++)
		for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
			check_paper(&papers[m], way);
	check_stored();
	return check_done();
}
