/* SPDX-License-Identifier: Apache-2.0 */
/* Constant expressions: exact values, dimensions, units, how values are written back. */
#include "plan/value.h"

#include "check.h"
#include "syntax/parse.h"

struct fixture {
	struct work work;
	struct value value;
};

/* The value of one expression as text, or the code of its first error. */
static const char *result(struct fixture *f, const char *expression)
{
	struct arena *arena = f->work.keep;
	char *text = arena_text(arena, "plan p\nedition 1\nlet x = %s\n", expression);
	const struct source *source =
		sources_add(f->work.sources, "x.plan", text, strlen(text), false);
	const struct node *tree, *let;

	f->work.diags = diags_new(arena, f->work.sources);
	tree = parse(source, &f->work);
	let = node_find(tree, NODE_LET);
	if (let)
		f->value = value_of(let->first, NULL, false, &f->work);
	if (f->work.diags->all.n)
		return diag_row(f->work.diags->all.at[0]->code)->code;
	return value_text(&f->value, arena);
}

static struct fixture fixture_new(void)
{
	struct fixture f = {.work = {.keep = arena_new(), .scratch = arena_new()}};

	f.work.names = names_new(f.work.keep);
	f.work.sources = sources_new(f.work.keep);
	return f;
}

static void fixture_end(struct fixture *f)
{
	arena_delete(f->work.keep);
	arena_delete(f->work.scratch);
}

static void results(void)
{
	static const struct {
		const char *expression, *want;
	} rows[] = {
		/* numbers */
		{"19_073", "19073"},
		{"375e6", "375000000"},
		{"1.0", "1"},
		{"3e-4", "0.0003"},
		{"1e-5", "1e-5"},
		{"0.1 + 0.2", "0.3"},
		{"-3 + 5", "2"},
		{"(2 + 3) * 4", "20"},
		{"96 / (16 * 2)", "3"},
		{"12288 / 96", "128"},
		{"10 / 3", "E0210"},
		{"1.5 / 3", "0.5"},
		{"1 / 0", "E0114"},
		{"9_223_372_036_854_775_807", "9223372036854775807"},
		{"9_223_372_036_854_775_807 + 1", "E0114"},
		{"4_000_000_000 * 4_000_000_000", "E0114"},
		/* bytes */
		{"1.5 GiB", "1.5 GiB"},
		{"81_559 MiB", "81559 MiB"},
		{"0.5 KiB", "512 B"},
		{"0.1 GiB", "E0113"},
		{"0.5 * 3 GiB", "1.5 GiB"},
		{"3 GiB / 2", "1.5 GiB"},
		{"1 B / 2", "E0210"},
		{"8 GiB / 3", "E0210"},
		{"50 % * 8 GiB", "4 GiB"},
		{"80 GB", "80 GB"},
		{"1 GiB + 1 B", "1073741825 B"},
		{"1 GiB + 1", "E0112"},
		{"1 GiB + 1 s", "E0112"},
		/* products and quotients of dimensions */
		{"8 seq * 1024 tokens", "8192 tokens"},
		{"1024 tokens * 8 seq", "8192 tokens"},
		{"8192 tokens / 1024 tokens", "8"},
		{"8192 tokens / 8 seq", "1024 tokens"},
		{"80 GB / 2000 GB/s", "40 ms"},
		{"25 GB/s * 2 s", "50 GB"},
		{"50 GB / 2 s", "25 GB/s"},
		{"1 GiB * 1 GiB", "E0112"},
		{"2 s * 2 s", "E0112"},
		{"1 GiB / 1 seq", "E0112"},
		/* rates, times, shares */
		{"200 Gbit/s", "25 GB/s"},
		{"400 Gbit/s", "50 GB/s"},
		{"3350 GB/s", "3.35 TB/s"},
		{"1.5 us", "1.5 us"},
		{"90 min", "1.5 h"},
		{"989 TFLOPS", "989 TFLOPS"},
		{"10 %", "10 %"},
		{"10 % + 5 %", "15 %"},
		{"12.5 %", "12.5 %"},
		/* comparison */
		{"1 GiB == 1024 MiB", "true"},
		{"0.1 + 0.2 == 0.3", "true"},
		{"3 us < 1 ms", "true"},
		{"2 >= 3", "false"},
		{"1 seq < 1 tokens", "E0112"},
		{"true == false", "false"},
		{"true < false", "E0112"},
		{"\"a\" != \"b\"", "true"},
		/* other values */
		{"[1, 2, 3]", "[1, 2, 3]"},
		{"\"a\\\"b\"", "\"a\\\"b\""},
		{"nowhere", "E0203"},
		{"1 + nowhere", "E0203"},
		{"f(1)", "E0112"},
		{"-true", "E0112"},
	};
	struct fixture f = fixture_new();

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		CHECK_TEXT(result(&f, rows[k].expression), rows[k].want);
	fixture_end(&f);
}

static void parts(void)
{
	struct fixture f = fixture_new();

	result(&f, "95 %");
	CHECK_DOUBLE(f.value.f, 0.95);
	result(&f, "1.5 us");
	CHECK_DOUBLE(f.value.f, 1.5e-6);
	result(&f, "400 Gbit/s");
	CHECK_DOUBLE(f.value.f, 50e9);
	result(&f, "81_559 MiB");
	CHECK_INT(f.value.i, 85520809984);
	CHECK_INT(f.value.type, TYPE_BYTES);
	result(&f, "6e-5");
	CHECK_DOUBLE(f.value.f, 6e-5);
	CHECK_INT(f.value.type, TYPE_FACTOR);
	fixture_end(&f);
}

static const char *converted(struct fixture *f, const char *expression, enum value_type want)
{
	result(f, expression);
	f->value = value_as(f->value, want, "x", &f->work);
	if (f->work.diags->all.n)
		return diag_row(f->work.diags->all.at[0]->code)->code;
	return value_text(&f->value, f->work.keep);
}

static void conversions(void)
{
	struct fixture f = fixture_new();

	CHECK_TEXT(converted(&f, "8", TYPE_SEQS), "8 seq");
	CHECK_TEXT(converted(&f, "8", TYPE_TOKENS), "8 tokens");
	CHECK_TEXT(converted(&f, "8", TYPE_FACTOR), "8");
	CHECK_TEXT(converted(&f, "8", TYPE_BYTES), "E0111");
	CHECK_TEXT(converted(&f, "0.95", TYPE_SHARE), "E0111");
	CHECK_TEXT(converted(&f, "1.5", TYPE_COUNT), "E0113");
	CHECK_TEXT(converted(&f, "1 GB", TYPE_RATE), "E0112");
	CHECK_TEXT(converted(&f, "8 seq", TYPE_TOKENS), "E0112");
	CHECK_TEXT(converted(&f, "8 seq", TYPE_COUNT), "E0112");
	CHECK_TEXT(converted(&f, "true", TYPE_COUNT), "E0112");
	CHECK_TEXT(converted(&f, "1", TYPE_WORD), "E0112");
	fixture_end(&f);
}

static void literals(void)
{
	static const char *const texts[] = {"0 B",  "70 %",  "0 us", "1e-8",
					    "true", "1f1b", "even", "1"};
	struct fixture f = fixture_new();

	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
		struct value value = value_literal(texts[k], f.work.names);
		const char *want = !strcmp(texts[k], "0 us") ? "0 ns" : texts[k];

		CHECK_TEXT(value_text(&value, f.work.keep), want);
	}
	fixture_end(&f);
}

int main(void)
{
	results();
	parts();
	conversions();
	literals();
	return check_done();
}
