/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	fprintf(out, "model small : %s%s {\n", b->arch == BRAID ? "" : "arch.",
		ways[b->way[ARCH]].text);
	if (b->arch == BRAID)
		fprintf(out,
			"  n = %d, a = %d, b = %d, d = %d, v = %d\n"
			"  eps = 1e-5, drop = %d %%\n",
			b->layers, b->embed, b->heads, b->ffn, b->vocab, b->dropout);
	else
		fprintf(out,
			"  layers = %d, embed = %d, heads = %d, ffn = %d, vocab = %d\n"
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

static void put_axis(FILE *out, const char *name, int size)
{
	fprintf(out, "  %s = %d within node\n", name, size);
}

static void put_axes(FILE *out, const struct layout *l, char axis)
{
	const struct way *data = way_of(l, DATA), *tensor = way_of(l, TENSOR);
	if (axis == 'd') {
		if (data->axes && !data->outer)
			put_axis(out, "rep", l->dp / l->shard);
		put_axis(out, "dp", l->shard);
		if (data->axes && data->outer)
			put_axis(out, "rep", l->dp / l->shard);
	} else if (axis == 't' && tensor->axes) {
		put_axis(out, "ta", 2);
		put_axis(out, "tb", l->tp / 2);
	} else if (axis == 't' && !tensor->none) {
		put_axis(out, "tp", l->tp);
	} else if (axis == 'p' && !way_of(l, PIPELINE)->none) {
		put_axis(out, "pp", l->pp);
	}
}

/* The axes in one of their six orders. */
static void put_mesh(FILE *out, const struct layout *l)
{
	static const char *const orders[] = {"pdt", "dpt", "tpd", "ptd", "dtp", "tdp"};
	fputs("mesh {\n", out);
	for (const char *axis = orders[l->order]; *axis != '\0'; axis++)
		put_axes(out, l, *axis);
	fputs("}\n\n", out);
}

static void put_line(FILE *out, const char *text)
{
	if (text[0] != '\0')
		fprintf(out, "  %s\n", text);
}

static void put_split(FILE *out, const struct layout *l)
{
	fprintf(out, "split {\n  data %s %s\n", way_of(l, DATA)->text, way_of(l, REDUCE)->text);
	put_line(out, way_of(l, ZERO)->text);
	if (!way_of(l, TENSOR)->none)
		fprintf(out, "  tensor %s", way_of(l, TENSOR)->text);
	if (l->copies > 1)
		fprintf(out, " { kv_heads = replicate(%d) }", l->copies);
	fputs("\n", out);
	if (l->sequence)
		fprintf(out, "  sequence over %s\n", way_of(l, TENSOR)->axes ? "ta * tb" : "tp");
	if (!way_of(l, PIPELINE)->none)
		fprintf(out, "  pipeline over pp { %s }\n", way_of(l, PIPELINE)->text);
	put_line(out, way_of(l, NARROW)->text);
	fputs("}\n\nmemory {\n", out);
	put_line(out, way_of(l, RECOMPUTE)->text);
	put_line(out, way_of(l, ATTENTION)->text);
	fputs("}\n\n", out);
}

static void put_train(FILE *out, const struct base *b, const struct layout *l)
{
	fprintf(out,
		"train {\n  seq_len      = %d tokens\n  global_batch = %d seq\n"
		"  micro_batch  = %d seq\n  steps        = %d\n",
		b->tokens, b->batch, l->micro, b->steps);
	if (l->lanes != 0)
		fprintf(out, "  lanes        = %d\n", l->lanes);
	if (b->validate)
		fputs("  validate { every = 1, batches = 1, share = 40 % }\n", out);
	fprintf(out,
		"%s  optimizer    = adamw { lr = %s, betas = [0.9, 0.99], eps = 1e-6, "
		"weight_decay = 0.1 }\n"
		"  schedule     = cosine { warmup = %d, final = 10 %% }\n"
		"  seed         = %d\n  data         = bytes(\"data\")\n}\n",
		b->clip, b->rate, b->warmup, b->seed);
}

void put_plan(const char *folder, const char *name, const struct base *base,
	      const struct layout *layout, const char *third)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s.plan", folder, name);
	FILE *out = fopen(path, "w");
	if (out == NULL) {
		fprintf(stderr, "%s: cannot be written\n", path);
		exit(2);
	}
	if (base->masked)
		fputs("// some targets do not count\n", out);
	fputs("plan program\nedition 1\n\nimport cpu from \"std/devices/cpu.plan\"\n", out);
	if (base->arch == BRAID)
		put_third(out, third);
	else
		fputs("import arch from \"std/architectures.plan\"\n\n", out);
	fprintf(out,
		"cluster box {\n"
		"  node { devices = %d of cpu.core { memory = 256 MiB, cores = %d } }\n}\n\n",
		layout->dp * layout->tp * layout->pp, layout->threads);
	put_mesh(out, layout);
	put_model(out, base);
	fprintf(out, "%s\n\n", ways[base->way[PRECISION]].text);
	put_split(out, layout);
	put_train(out, base, layout);
	if (fclose(out) != 0)
		exit(2);
}

static void put_way(const struct layout *l, enum kind kind)
{
	if (way_of(l, kind)->text[0] != '\0')
		printf(", %s", way_of(l, kind)->text);
}

void put_summary(const struct base *b, const struct layout *l)
{
	static const enum kind kinds[] = {ZERO, REDUCE, PIPELINE, NARROW, RECOMPUTE, ATTENTION};
	printf("%s, %s, steps %d, dp %d tp %d pp %d", ways[b->way[ARCH]].text,
	       ways[b->way[PRECISION]].text, b->steps, l->dp, l->tp, l->pp);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		put_way(l, kinds[i]);
	if (l->tp > 1)
		printf(", tensor %s", way_of(l, TENSOR)->text);
	if (l->sequence)
		fputs(", sequence", stdout);
	if (l->copies > 1)
		printf(", kv_heads %d times", l->copies);
	printf(", %d of %d seq, lanes %d, threads %d\n", l->micro, b->batch, l->lanes, l->threads);
}
