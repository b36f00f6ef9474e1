/* SPDX-License-Identifier: Apache-2.0 */
/* Architectures to struct model: calls, names, dims, what is tied, dropped or built. */
#include "plan/model_resolve.h"

#include "check.h"
#include "syntax/parse.h"

/* One text with an architecture `t` and a model of it. */
struct fixture {
	struct work work;
	struct plan plan;
};

static struct fixture fixture_new(const char *architecture, const char *sizes)
{
	struct fixture f = {.work = {.keep = arena_new(), .scratch = arena_new()}};
	struct arena *keep = f.work.keep;
	const struct source *source;
	const struct node *file, *blocks[2] = {NULL, NULL};
	uint32_t count = 0;
	char *text = arena_text(keep,
				"library l\nedition 1\narchitecture t {\n%s}\nmodel m : t {\n%s}\n",
				architecture, sizes);

	f.work.names = names_new(keep);
	f.work.sources = sources_new(keep);
	f.work.diags = diags_new(keep, f.work.sources);
	source = sources_add(f.work.sources, "t.plan", text, strlen(text), false);
	file = parse(source, &f.work);
	for (const struct node *node = file->first; node; node = node->next)
		if (node->kind == NODE_BLOCK && count < 2)
			blocks[count++] = node;
	CHECK_INT(count, 2);
	if (count == 2)
		model_resolve(blocks[0], node_find(blocks[1], NODE_BODY), NULL, NULL, &f.plan,
			      &f.work);
	return f;
}

static void fixture_done(struct fixture *f)
{
	struct text out = text_new(f->work.keep);

	diags_human(f->work.diags, (struct diag_style){0}, &out);
	if (out.length && check_failures)
		fprintf(stderr, "%s", out.at);
	arena_delete(f->work.scratch);
	arena_delete(f->work.keep);
}

/* Codes of all faults of a text, in order. */
static void check_codes(const char *architecture, const char *sizes, const char *want)
{
	struct fixture f = fixture_new(architecture, sizes);
	const char *got = "";

	diags_sort(f.work.diags);
	for (uint32_t i = 0; i < f.work.diags->all.n; i++)
		got = arena_text(f.work.keep, "%s%s%s", got, i ? " " : "",
				 diag_row(f.work.diags->all.at[i]->code)->code);
	CHECK_TEXT(got, want);
	CHECK_INT(f.plan.model && f.plan.model->complete, !*want);
	fixture_done(&f);
}

static const char tall[] =
	"size { n, a, h, c = a / h, g = h, v }\n"
	"option { drop : share = 0 %, tie : bool = false, norm : bool = false, scale : factor = 1 "
	"}\n"
	"tensor dims [h, v]\n"
	"stored { linear = in_out }\n"
	"x = lookup(tokens, v -> a) as \"table\"\n"
	"repeat n as \"p.{layer}\" {\n"
	"  one {\n"
	"    q = linear(x, a -> [h, c], bias = true) as \"qkv[0]\"\n"
	"    k = linear(x, a -> [g, c]) as \"qkv[1]\"\n"
	"    q = rmsnorm(q, along = c, eps = 1e-6) as \"qn\" if norm\n"
	"    q = rope(q, base = 100, factor = scale, low = 1, high = 4, original = 64)\n"
	"    core { b = attend(q, k, k, mask = causal) }\n"
	"    x = x + dropout(linear(b, [h, c] -> a, init = residual) as \"o\", rate = drop)\n"
	"  }\n"
	"}\n"
	"y = layernorm(x, eps = 1e-5) as \"last\"\n"
	"z = linear(y, a -> v) tied \"table\" if tie else linear(y, a -> v, stored = out_in) as "
	"\"out\"\n"
	"loss = cross_entropy(z, targets)\n";

static const char sizes[] = "n = 3, a = 12, h = 2, v = 7\n";

static void calls(void)
{
	static const enum operator_id want[] = {
		OPERATOR_lookup, OPERATOR_linear,	 OPERATOR_linear, OPERATOR_rope,
		OPERATOR_attend, OPERATOR_linear,	 OPERATOR_add,	  OPERATOR_layernorm,
		OPERATOR_linear, OPERATOR_cross_entropy,
	};
	struct fixture f = fixture_new(tall, sizes);
	const struct model *m = f.plan.model;
	uint64_t params;

	CHECK(m && m->complete);
	CHECK_INT(m->ncalls, sizeof want / sizeof *want);
	for (uint32_t i = 0; i < m->ncalls && i < sizeof want / sizeof *want; i++) {
		CHECK_INT(m->calls[i].op, want[i]);
		CHECK_INT(m->calls[i].result, GIVENS + i);
		CHECK_INT(m->calls[i].region, i == 0  ? REGION_BEFORE
					      : i < 7 ? REGION_REPEAT
						      : REGION_AFTER);
	}
	CHECK_INT(m->carried_in, GIVENS);
	CHECK_INT(m->carried_out, GIVENS + 6);
	CHECK_INT(m->calls[7].operands[0], m->carried_out);
	CHECK_INT(m->loss, 9);
	CHECK_INT(m->layers, 3);
	CHECK(model_params(m, &params));
	CHECK_INT(params, 7 * 12 + 3 * (12 * 12 + 12 + 12 * 12 + 12 * 12) + 24 + 7 * 12);
	fixture_done(&f);
}

static void names(void)
{
	struct fixture f = fixture_new(tall, sizes);
	const struct model *m = f.plan.model;

	CHECK_TEXT(m->calls[1].as->stored, "p.{layer}.qkv");
	CHECK_TEXT(m->calls[1].as->path, "layer.qkv[0]");
	CHECK_INT(m->calls[1].as->piece, 0);
	CHECK_INT(m->calls[2].as->piece, 1);
	CHECK_INT(m->calls[5].as->piece, -1);
	CHECK_TEXT(m->calls[4].group, "one.core");
	CHECK_TEXT(m->calls[5].group, "one");
	CHECK_TEXT(m->calls[0].group, "");
	CHECK(m->calls[1].stored_in_out && !m->calls[8].stored_in_out);
	CHECK(m->calls[1].bias && !m->calls[2].bias);
	CHECK_INT(m->calls[5].init, INIT_RESIDUAL);
	CHECK(m->calls[4].causal);
	CHECK_TEXT(m->calls[6].binding->text, "x");
	CHECK(m->calls[5].binding == NULL);
	fixture_done(&f);
}

static void dims(void)
{
	struct fixture f = fixture_new(tall, sizes);
	const struct model *m = f.plan.model;

	CHECK_TEXT(model_dims_text(m, &m->value_dims[GIVENS + 1], f.work.keep),
		   "[batch, tokens, h, c]");
	CHECK_TEXT(model_dims_text(m, &m->value_dims[GIVENS + 4], f.work.keep),
		   "[batch, tokens, h, c]");
	CHECK_TEXT(model_dims_text(m, &m->value_dims[GIVENS + 8], f.work.keep),
		   "[batch, tokens, v]");
	CHECK_TEXT(model_dims_text(m, &m->calls[7].from, f.work.keep), "[a]");
	CHECK_TEXT(m->dims[m->vocab].name->text, "v");
	CHECK_INT(m->dims[model_dim(m, name_of(f.work.names, "c"))].size, 6);
	CHECK_INT(m->dims[model_dim(m, name_of(f.work.names, "g"))].size, 2);
	fixture_done(&f);
}

static void options(void)
{
	struct fixture f =
		fixture_new(tall, "n = 3, a = 12, h = 2, v = 7, g = 1, vocab_pad_to = 8\n"
				  "tie = true, norm = true, drop = 10 %, scale = 8\n");
	const struct model *m = f.plan.model;
	uint64_t params;

	CHECK(m && m->complete);
	CHECK_INT(m->calls[3].op, OPERATOR_rmsnorm);
	CHECK_TEXT(model_dims_text(m, &m->calls[3].from, f.work.keep), "[c]");
	CHECK_DOUBLE(m->calls[4].scaling[0], 8);
	CHECK_DOUBLE(m->calls[4].base, 100);
	CHECK_INT(m->calls[7].op, OPERATOR_dropout);
	CHECK_DOUBLE(m->calls[7].rate, 0.1);
	CHECK(m->calls[10].as == NULL && m->calls[10].tied == m->calls[0].as);
	CHECK_INT(m->dims[m->vocab].size, 7);
	CHECK_INT(m->dims[m->vocab].padded, 8);
	CHECK(model_params(m, &params));
	CHECK_INT(params, 7 * 12 + 3 * (12 * 12 + 12 + 12 * 6 + 6 + 12 * 12) + 24);
	fixture_done(&f);
}

static void faults(void)
{
	check_codes(tall, sizes, "");
	check_codes(tall, "n = 3, a = 12, h = 5, v = 7\n", "E0210");
	check_codes(tall, "n = 3, a = 12, v = 7\n", "E0206");
	check_codes(tall, "n = 3, a = 12, h = -2, v = 7\n", "E0300");
	check_codes(tall, "n = 3, a = 12, h = 2, v = 7, w = 1\n", "E0201");
	check_codes(tall, "n = 3, a = 12, h = 4, v = 7, g = 3\n", "E0213");
	check_codes(tall, "n = 3, a = 6, h = 2, v = 7\n", "E0213"); /* c = 3 is odd */
	check_codes(tall, "n = 3, a = 12, h = 2, v = 7, drop = 1\n", "E0111");
	check_codes("size { a }\nx = lookup(tokens, a -> a) as \"t\"\n", "a = 2\n", "E0215 E0213");
	check_codes("size { a }\nloss = x\n", "a = 2\n", "E0203");
	check_codes("size { a, a }\n", "a = 2\n", "E0215 E0202");
	check_codes("size { a }\noption { a : text }\n", "a = 2\n", "E0215 E0209");
}

int main(void)
{
	calls();
	names();
	dims();
	options();
	faults();
	return check_done();
}
