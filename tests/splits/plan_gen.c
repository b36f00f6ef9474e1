/* SPDX-License-Identifier: Apache-2.0 */
/* plan_gen SEED THIRD DIR: a random plan and its twins, from the seed alone.
 *
 *	DIR/layout.plan    a model over at most 8 ranks
 *	DIR/bits.plan      its twin with equal bits: no ZeRO, no pipeline, the same tensor and
 *	                   data ranks; if that is the layout itself, its lanes on one data rank,
 *	                   where the lanes are a power of two; else the same plan
 *	DIR/one.plan       its twin on one rank, equal within bounds
 *
 * Eight seeds share a model and a training, and so one twin on one rank. An eighth of these models
 * is in fp32, an eighth in mixed_bf16; a quarter trains for 20 steps, the others for 2. THIRD is
 * the plan that holds the architecture of no known family. Prints one line: what was drawn. A
 * plan may be one that planc must refuse: about one model in ten has sizes that do not divide. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum arch { GPT, LLAMA, BRAID, ARCHS };
enum { RANKS_MOST = 8, LAYOUTS_A_MODEL = 8 };

struct base {
	enum arch arch;
	int unit; /* most ranks of an axis that cuts the model: sizes are multiples of it */
	int layers, embed, heads, kv_heads, ffn, vocab, pad, context, dropout;
	bool tied, qkv_bias, qk_norm;
	int tokens, batch, warmup, steps, seed;
	const char *clip, *precision;
};

struct layout {
	int dp, tp, pp, order, micro, lanes, copies;
	bool sequence;
	const char *zero, *pipeline, *dims, *rule, *reduce;
};

/* ---- random numbers ------------------------------------------------------------------------ */

static uint64_t state;

static uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static int below(int n)
{
	return (int)(draw() % (uint64_t)n);
}

static int from(int least, int most)
{
	return least + below(most - least + 1);
}

static bool one_in(int n)
{
	return below(n) == 0;
}

#define PICK(list) ((list)[below((int)(sizeof(list) / sizeof *(list)))])

/* ---- the rows of ways.def ------------------------------------------------------------------ */

struct zero {
	int weight;
	const char *statement;
};

static const struct zero zeros[] = {
#define ZERO(weight, statement) {weight, statement},
#include "ways.def"
#undef ZERO
};

struct pipeline {
	int weight, stages, chunks;
	const char *settings;
};

static const struct pipeline pipelines[] = {
#define PIPELINE(weight, stages, chunks, settings) {weight, stages, chunks, settings},
#include "ways.def"
#undef PIPELINE
};

struct line {
	enum arch arch;
	bool untied;
	const char *text;
};

static const struct line dims_lines[] = {
#define TENSOR(arch, text) {arch, false, text},
#include "ways.def"
#undef TENSOR
};

static const struct line rule_lines[] = {
#define NARROW(arch, untied, text) {arch, untied, text},
#include "ways.def"
#undef NARROW
};

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static const char *line_for(const struct base *base, const struct line *lines, int n)
{
	const struct line *line;
	do
		line = &lines[below(n)];
	while (line->arch != base->arch || (line->untied && base->tied));
	return line->text;
}

static const struct zero *draw_zero(void)
{
	int total = 0, i = 0;
	for (int k = 0; k < COUNT(zeros); k++)
		total += zeros[k].weight;
	for (int left = below(total); left >= zeros[i].weight; i++)
		left -= zeros[i].weight;
	return &zeros[i];
}

static const struct pipeline *draw_pipeline(void)
{
	int total = 0, i = 0;
	for (int k = 0; k < COUNT(pipelines); k++)
		total += pipelines[k].weight;
	for (int left = below(total); left >= pipelines[i].weight; i++)
		left -= pipelines[i].weight;
	return &pipelines[i];
}

/* ---- the model and its training ------------------------------------------------------------ */

static void draw_heads(struct base *b)
{
	static const int odd_heads[] = {3, 4, 5, 6, 8};
	int head = b->arch == GPT ? from(3, 8) : 2 * from(2, 4);
	b->heads = b->unit * from(1, 2);
	b->kv_heads = b->heads;
	if (one_in(2))
		b->kv_heads = b->heads % 2 == 0 && one_in(2) ? b->heads / 2 : b->unit;
	if (b->heads % 2 == 0 && one_in(4))
		b->kv_heads = one_in(2) ? 1 : 2;
	b->embed = b->heads * head;
	b->ffn = one_in(4) && b->arch == GPT ? 4 * b->embed : b->unit * PICK(odd_heads) * 3;
}

static struct base draw_base(uint64_t number)
{
	static const int units[] = {2, 2, 3, 4, 4, 4, 1};
	static const int batches[] = {4, 6, 8, 12, 12, 7, 10};
	static const int drops[] = {0, 0, 10, 25};
	static const char *const clips[] = {"", "  clip         = 1.0\n",
					    "  clip         = 0.2\n"};
	struct base b = {.arch = (enum arch)(number % ARCHS), .precision = "fp64", .steps = 2};
	state = number * 2 + 1;
	b.unit = PICK(units);
	b.layers = from(1, 3);
	draw_heads(&b);
	b.vocab = from(58, 66);
	if (b.vocab % b.unit != 0 || one_in(2))
		b.pad = b.unit * from(1, 9);
	b.tokens = one_in(3) ? from(3, 11) : b.unit * from(1, 3) + (b.unit == 1);
	b.context = b.tokens + from(0, 5);
	b.dropout = PICK(drops);
	b.tied = one_in(2);
	b.qkv_bias = one_in(2);
	b.qk_norm = one_in(2);
	b.batch = PICK(batches);
	b.warmup = from(0, 2);
	b.seed = from(1, 1000);
	b.clip = PICK(clips);
	if (number % 4 == 3)
		b.precision = number % 8 == 3 ? "fp32" : "mixed_bf16";
	if (number % 8 == 7) /* gradients of key biases cancel: nothing is left of them in bf16 */
		b.qkv_bias = false;
	if (number % 4 == 1)
		b.steps = 20;
	if (one_in(10)) {
		b.ffn++;
		b.pad = 0;
	}
	return b;
}

/* ---- the layout ---------------------------------------------------------------------------- */

static int divisor(int of, int most)
{
	int d;
	do
		d = from(1, most < of ? most : of);
	while (of % d != 0);
	return d;
}

static bool power_of_two(int n)
{
	return (n & (n - 1)) == 0;
}

static int draw_lanes(int dp, int micro_batches)
{
	int lanes = dp;
	if (!power_of_two(dp) || one_in(2))
		return 0;
	while (micro_batches % (2 * lanes / dp) == 0 && one_in(2))
		lanes *= 2;
	return lanes;
}

static void draw_tensor(const struct base *base, struct layout *l)
{
	l->tp = one_in(5) ? 1 : divisor(base->unit, base->unit);
	l->dims = one_in(2) ? line_for(base, dims_lines, COUNT(dims_lines)) : "";
	l->sequence = l->tp > 1 && one_in(2);
	l->rule = l->tp > 1 && one_in(4) ? line_for(base, rule_lines, COUNT(rule_lines)) : "";
	l->copies = 1;
	if (base->arch == LLAMA && l->dims[0] == '\0' && base->kv_heads % l->tp != 0)
		l->copies = l->tp % base->kv_heads == 0 ? l->tp / base->kv_heads : 2;
}

static struct layout draw_layout(const struct base *base, uint64_t seed)
{
	struct layout l = {.reduce = ""};
	state = ~seed;
	draw_tensor(base, &l);
	const struct pipeline *pipeline = draw_pipeline();
	if (base->layers < pipeline->stages * pipeline->chunks ||
	    (base->layers % pipeline->stages != 0 && !strstr(pipeline->settings, "spread")) ||
	    pipeline->stages * l.tp > RANKS_MOST)
		pipeline = &pipelines[0];
	l.pp = pipeline->stages;
	l.pipeline = pipeline->settings;
	l.dp = divisor(base->batch, RANKS_MOST / (l.tp * l.pp));
	l.micro = divisor(base->batch / l.dp, base->batch / l.dp);
	if (l.micro * base->tokens % l.tp != 0 && !one_in(10))
		l.sequence = false;
	l.lanes = draw_lanes(l.dp, base->batch / l.dp / l.micro);
	l.zero = draw_zero()->statement;
	if (strncmp(l.zero, "zero 2", 6) == 0 || strncmp(l.zero, "zero 3", 6) == 0)
		l.reduce = one_in(2) ? " { reduce = step }" : " { reduce = micro_batch }";
	l.order = below(6);
	return l;
}

static struct layout alone(void)
{
	struct layout l = {.dp = 1, .tp = 1, .pp = 1, .micro = 1, .copies = 1};
	l.zero = l.pipeline = l.dims = l.rule = l.reduce = "";
	return l;
}

/* The twin with equal bits. */
static struct layout twin(const struct layout *of)
{
	struct layout l = *of;
	bool same = l.zero[0] == '\0' && l.pp == 1;
	l.zero = l.pipeline = "";
	l.pp = 1;
	if (same && power_of_two(l.dp) && l.dp > 1) {
		l.lanes = l.lanes ? l.lanes : l.dp;
		l.dp = 1;
	}
	return l;
}

/* ---- the text ------------------------------------------------------------------------------ */

static void put_third(FILE *out, const char *path)
{
	char line[512];
	bool inside = false;
	FILE *in = fopen(path, "r");
	if (in == NULL) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(2);
	}
	while (fgets(line, sizeof line, in) != NULL) {
		inside |= strncmp(line, "architecture", 12) == 0;
		if (inside)
			fputs(line, out);
		inside &= line[0] != '}';
	}
	fclose(in);
}

static const char *yes(bool value)
{
	return value ? "true" : "false";
}

static void put_model(FILE *out, const struct base *b)
{
	static const char *const heads[ARCHS] = {"arch.gpt", "arch.llama", "braid"};
	fprintf(out, "model small : %s {\n", heads[b->arch]);
	if (b->arch == BRAID)
		fprintf(out, "  n = %d, a = %d, b = %d, d = %d, v = %d\n"
			"  eps = 1e-5, drop = %d %%\n",
			b->layers, b->embed, b->heads, b->ffn, b->vocab, b->dropout);
	else
		fprintf(out, "  layers = %d, embed = %d, heads = %d, ffn = %d, vocab = %d\n"
			"  context = %d, norm_eps = 1e-5, tied_embeddings = %s\n",
			b->layers, b->embed, b->heads, b->ffn, b->vocab, b->context, yes(b->tied));
	if (b->arch == GPT)
		fprintf(out, "  dropout = %d %%\n", b->dropout);
	if (b->arch == LLAMA)
		fprintf(out, "  kv_heads = %d, rope_base = 10_000, qkv_bias = %s, qk_norm = %s\n",
			b->kv_heads, yes(b->qkv_bias), yes(b->qk_norm));
	if (b->pad != 0)
		fprintf(out, "  vocab_pad_to = %d\n", b->pad);
	fputs("}\n\n", out);
}

/* The axes in one of their six orders. */
static void put_mesh(FILE *out, const struct layout *l)
{
	static const char *const orders[] = {"pdt", "dpt", "tpd", "ptd", "dtp", "tdp"};
	fputs("mesh {\n", out);
	for (const char *axis = orders[l->order]; *axis != '\0'; axis++) {
		if (*axis == 'd')
			fprintf(out, "  dp = %d within node\n", l->dp);
		if (*axis == 't')
			fprintf(out, "  tp = %d within node\n", l->tp);
		if (*axis == 'p' && l->pp > 1)
			fprintf(out, "  pp = %d within node\n", l->pp);
	}
	fputs("}\n\n", out);
}

static void put_split(FILE *out, const struct layout *l)
{
	fprintf(out, "split {\n  data over dp%s\n", l->reduce);
	if (l->zero[0] != '\0')
		fprintf(out, "  %s\n", l->zero);
	fprintf(out, "  tensor over tp%s", l->dims);
	if (l->copies > 1)
		fprintf(out, " { kv_heads = replicate(%d) }", l->copies);
	fputs("\n", out);
	if (l->sequence)
		fputs("  sequence over tp\n", out);
	if (l->pp > 1)
		fprintf(out, "  pipeline over pp { %s }\n", l->pipeline);
	if (l->rule[0] != '\0')
		fprintf(out, "  %s\n", l->rule);
	fputs("}\n\n", out);
}

static void put_train(FILE *out, const struct base *b, const struct layout *l)
{
	fprintf(out, "train {\n  seq_len      = %d tokens\n  global_batch = %d seq\n"
		"  micro_batch  = %d seq\n  steps        = %d\n",
		b->tokens, b->batch, l->micro, b->steps);
	if (l->lanes != 0)
		fprintf(out, "  lanes        = %d\n", l->lanes);
	fprintf(out, "%s  optimizer    = adamw { lr = 1e-3, betas = [0.9, 0.99], eps = 1e-6, "
		"weight_decay = 0.1 }\n"
		"  schedule     = cosine { warmup = %d, final = 10 %% }\n"
		"  seed         = %d\n  data         = bytes(\"data\")\n}\n",
		b->clip, b->warmup, b->seed);
}

static void put_plan(const char *folder, const char *name, const struct base *base,
		     const struct layout *layout, const char *third)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s.plan", folder, name);
	FILE *out = fopen(path, "w");
	if (out == NULL) {
		fprintf(stderr, "%s: cannot be written\n", path);
		exit(2);
	}
	fputs("plan program\nedition 1\n\nimport cpu from \"std/devices/cpu.plan\"\n", out);
	if (base->arch == BRAID)
		put_third(out, third);
	else
		fputs("import arch from \"std/architectures.plan\"\n\n", out);
	fprintf(out, "cluster box { node { devices = %d of cpu.core { memory = 256 MiB } } }\n\n",
		layout->dp * layout->tp * layout->pp);
	put_mesh(out, layout);
	put_model(out, base);
	fprintf(out, "precision = %s\n\n", base->precision);
	put_split(out, layout);
	put_train(out, base, layout);
	if (fclose(out) != 0)
		exit(2);
}

static void describe(const struct base *b, const struct layout *l)
{
	static const char *const names[ARCHS] = {"gpt", "llama", "braid"};
	printf("%s %s steps %d, dp %d tp %d pp %d", names[b->arch], b->precision, b->steps, l->dp,
	       l->tp, l->pp);
	if (l->sequence)
		fputs(", sequence", stdout);
	if (l->zero[0] != '\0')
		printf(", %s", l->zero);
	if (l->pp > 1)
		printf(", %s", l->pipeline);
	printf("%s%s, %d of %d seq, lanes %d", l->dims[0] != '\0' ? "," : "", l->dims, l->micro,
	       b->batch, l->lanes);
	if (l->copies > 1)
		printf(", kv_heads %d times", l->copies);
	if (l->rule[0] != '\0')
		printf(", %s", l->rule);
	puts("");
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fputs("usage: plan_gen SEED THIRD DIR\n", stderr);
		return 2;
	}
	uint64_t seed = strtoull(argv[1], NULL, 10);
	struct base base = draw_base(seed / LAYOUTS_A_MODEL);
	struct layout layout = draw_layout(&base, seed), bits = twin(&layout), one = alone();
	put_plan(argv[3], "layout", &base, &layout, argv[2]);
	put_plan(argv[3], "bits", &base, &bits, argv[2]);
	put_plan(argv[3], "one", &base, &one, argv[2]);
	describe(&base, &layout);
	return 0;
}
