/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics: layouts of the language reference to the character, and hostile input. */
#include "base/diag.h"

#include <stdlib.h>

#include "check.h"

struct bench {
	struct arena *arena;
	struct sources *sources;
	struct diags *diags;
};

static struct bench bench_new(void)
{
	struct bench bench = {.arena = arena_new()};

	bench.sources = sources_new(bench.arena);
	bench.diags = diags_new(bench.arena, bench.sources);
	return bench;
}

static const struct source *add(struct bench *bench, const char *path, const char *text)
{
	return sources_add(bench->sources, path, text, strlen(text), false);
}

/* The first place of `what` at or after the first place of `after`. */
static struct span at(const struct source *source, const char *after, const char *what)
{
	const char *found = strstr(strstr(source->text, after), what);
	uint32_t lo = source->start + (uint32_t)(found - source->text);

	return (struct span){lo, lo + (uint32_t)strlen(what)};
}

static const char *human(struct bench *bench)
{
	struct text out = text_new(bench->arena);

	diags_human(bench->diags, (struct diag_style){0}, &out);
	return out.length ? out.at : "";
}

static void one_line_between_is_shown(void)
{
	struct bench b = bench_new();
	const struct source *s = add(&b, "box.plan",
				     "library box\n"
				     "cluster box {\n"
				     "  nodes = 1\n"
				     "  node {\n"
				     "    devices = 8 of nvidia.h100_sxm_80g\n"
				     "}\n");
	struct diag *d = diag_add(b.diags, E0104, at(s, "node {", "{"), "this `%c` is never closed",
				  '{');

	diag_at(d, "opened here");
	diag_label(d, at(s, "80g", "}"),
		   "stands at the indentation of line 2, so it closes `cluster box`");
	CHECK_TEXT(human(&b),
		   "error[E0104]: this `{` is never closed\n"
		   " --> box.plan:4:8\n"
		   "  |\n"
		   "4 |   node {\n"
		   "  |        ^ opened here\n"
		   "5 |     devices = 8 of nvidia.h100_sxm_80g\n"
		   "6 | }\n"
		   "  | - stands at the indentation of line 2, so it closes `cluster box`\n");
	arena_delete(b.arena);
}

/* Lines far apart, a second file, a built-in one and a note. */
static void several_files(void)
{
	struct bench b = bench_new();
	const struct source *s = add(&b, "tp16.plan",
				     "plan tp16\n\n\n\n\n\n\n\n"
				     "mesh { tp = 16 across nodes }\n\n\n\n"
				     "split { tensor over tp }\n");
	const struct source *m = sources_add(b.sources, "std/models/llama3.plan",
					     "\n\n\n\n\n\n\n\n  kv_heads = 8\n", 23, true);
	struct diag *d = diag_add(b.diags, E0310, at(s, "tensor", "tensor"),
				  "dimension `kv_heads` (8) cannot be split over axis `tp` (16)");

	diag_at(d, "splits heads, kv_heads, ffn and vocab");
	diag_label(d, at(m, "8", "8"), "8 key/value heads");
	diag_label(d, at(s, "tp = 16", "tp = 16"), "16 ranks");
	diag_note(d, "the four dimensions allow an axis of 1, 2, 4 or 8");
	CHECK_TEXT(human(&b),
		   "error[E0310]: dimension `kv_heads` (8) cannot be split over axis `tp` (16)\n"
		   "  --> tp16.plan:13:9\n"
		   "   |\n"
		   " 9 | mesh { tp = 16 across nodes }\n"
		   "   |        ------- 16 ranks\n"
		   "...\n"
		   "13 | split { tensor over tp }\n"
		   "   |         ^^^^^^ splits heads, kv_heads, ffn and vocab\n"
		   "   |\n"
		   "  ::: std/models/llama3.plan:9:14\n"
		   "   |\n"
		   " 9 |   kv_heads = 8\n"
		   "   |              - 8 key/value heads\n"
		   "   |\n"
		   "   = note: the four dimensions allow an axis of 1, 2, 4 or 8\n");
	arena_delete(b.arena);
}

static void command_line(void)
{
	struct bench b = bench_new();
	const struct source *s = add(&b, "<command line>",
				     "planc build llama3-8b.plan -P micro_batch=2");
	struct diag *d = diag_add(b.diags, E0601, at(s, "micro", "micro_batch"),
				  "plan `llama3_8b` has no parameter `micro_batch`");

	diag_at(d, "no such parameter");
	diag_note(d, "only names declared with `param` can be set from outside");
	CHECK_TEXT(human(&b),
		   "error[E0601]: plan `llama3_8b` has no parameter `micro_batch`\n"
		   "  --> <command line>:1\n"
		   "   |\n"
		   "   | planc build llama3-8b.plan -P micro_batch=2\n"
		   "   |                               ^^^^^^^^^^^ no such parameter\n"
		   "   |\n"
		   "   = note: only names declared with `param` can be set from outside\n");
	arena_delete(b.arena);
}

static void table(void)
{
	struct bench b = bench_new();
	const struct source *s = add(&b, "a.plan", "recompute = none");
	struct diag *d = diag_add(b.diags, E0401, at(s, "r", "recompute = none"), "too big");

	diag_at(d, "all activations are kept");
	diag_table(d, "peak on rank 0\n\n parameters  1.87 GiB\n      total  1.88 GiB\n");
	diag_note(d, "first\nsecond");
	CHECK_TEXT(human(&b),
		   "error[E0401]: too big\n"
		   " --> a.plan:1:1\n"
		   "  |\n"
		   "1 | recompute = none\n"
		   "  | ^^^^^^^^^^^^^^^^ all activations are kept\n"
		   "  |\n"
		   "  = peak on rank 0\n"
		   "\n"
		   "     parameters  1.87 GiB\n"
		   "          total  1.88 GiB\n"
		   "  = note: first\n"
		   "          second\n");
	arena_delete(b.arena);
}

static void many_labels_on_a_line(void)
{
	struct bench b = bench_new();
	const struct source *s = add(&b, "a.plan", "aa bb cc dd\n");
	struct diag *d = diag_add(b.diags, E0303, at(s, "b", "bb"), "t");

	diag_at(d, "m");
	diag_label(d, at(s, "a", "aa"), "%s", "");
	diag_label(d, at(s, "c", "cc"), "long one");
	diag_label(d, at(s, "d", "dd"), "%s", "");
	CHECK_TEXT(human(&b),
		   "error[E0303]: t\n"
		   " --> a.plan:1:4\n"
		   "  |\n"
		   "1 | aa bb cc dd\n"
		   "  | -- ^^ m  --\n"
		   "  |       -- long one\n");
	arena_delete(b.arena);
}

/* Tabs, wide and combining characters, controls, bytes that are no UTF-8. */
static void odd_characters(void)
{
	struct bench b = bench_new();
	const struct source *s = add(&b, "a\x1b.plan",
				     "\tx\n\xe4\xb8\xad" "e\xcc\x81" "x\n"
				     "A\x1b[1mx\n\xff\xe2\x80\xaex\r\n");

	diag_at(diag_add(b.diags, E0101, at(s, "\t", "x"), "t\x07"), "l\xff");
	diag_add(b.diags, E0101, at(s, "\xe4", "x"), "t");
	diag_add(b.diags, E0101, at(s, "A", "x"), "t");
	diag_add(b.diags, E0101, at(s, "\xff", "x"), "t");
	CHECK_TEXT(human(&b),
		   "error[E0101]: t\\x07\n --> a\\x1b.plan:1:2\n  |\n1 |     x\n  |     ^ l\\xff\n"
		   "\nerror[E0101]: t\n --> a\\x1b.plan:2:7\n  |\n"
		   "2 | \xe4\xb8\xad" "e\xcc\x81" "x\n  |    ^\n"
		   "\nerror[E0101]: t\n --> a\\x1b.plan:3:6\n  |\n3 | A\\x1b[1mx\n  |         ^\n"
		   "\nerror[E0101]: t\n --> a\\x1b.plan:4:5\n  |\n4 | \\xff\\u{202e}x\n"
		   "  |             ^\n");
	arena_delete(b.arena);
}

/* Ends of lines and of the text, empty and multi-line spans. */
static void odd_spans(void)
{
	struct bench b = bench_new();
	const struct source *s = add(&b, "a.plan", "ab  \n\ncd");
	uint32_t lo = s->start;

	diag_add(b.diags, E0101, (struct span){lo + 1, lo + 7}, "lines");
	diag_add(b.diags, E0101, (struct span){lo + 8, lo + 8}, "end");
	diag_add(b.diags, E0101, (struct span){lo + 5, lo + 6}, "empty line");
	diag_note(diag_add(b.diags, E0101, (struct span){0}, "nowhere"), "n");
	diag_add(b.diags, E0101, (struct span){4000000000u, 4000000001u}, "outside");
	CHECK_TEXT(human(&b),
		   "error[E0101]: lines\n --> a.plan:1:2\n  |\n1 | ab\n  |  ^\n"
		   "\nerror[E0101]: end\n --> a.plan:3:3\n  |\n3 | cd\n  |   ^\n"
		   "\nerror[E0101]: empty line\n --> a.plan:2:1\n  |\n2 |\n  | ^\n"
		   "\nerror[E0101]: nowhere\n  = note: n\n"
		   "\nerror[E0101]: outside\n");
	arena_delete(b.arena);
}

static uint32_t longest_line(const char *text)
{
	uint32_t longest = 0;

	while (*text) {
		uint32_t length = (uint32_t)strcspn(text, "\n");

		longest = length > longest ? length : longest;
		text += length + (text[length] == '\n');
	}
	return longest;
}

/* 10 MB on one line, with marks at its start, middle and end. */
static void long_line(void)
{
	enum { BYTES = 10000000 };
	struct bench b = bench_new();
	char *text = calloc(1, BYTES + 1);
	struct span middle, end;
	const struct source *s;
	struct diag *d;
	const char *out;

	memset(text, 'x', BYTES);
	memcpy(text + BYTES / 2, "HERE", 4);
	s = sources_add(b.sources, "a.plan", text, BYTES, false);
	free(text);
	middle = (struct span){s->start + BYTES / 2, s->start + BYTES / 2 + 4};
	end = (struct span){s->start + BYTES, s->start + BYTES};
	for (uint32_t i = 0; i < 200; i++)
		diag_add(b.diags, E0101, middle, "t%u", i);
	d = b.diags->all.at[0];
	diag_label(d, span_join((struct span){s->start, s->start}, end), "first");
	diag_label(d, end, "last");
	out = human(&b);
	CHECK(longest_line(out) <= 100);
	CHECK(strstr(out, "HERE") && strstr(out, "^^^^\n") && strstr(out, " last\n"));
	arena_delete(b.arena);
}

static void cut_line(void)
{
	struct bench b = bench_new();
	const struct source *s = add(&b, "a.plan",
				     "012345678901234567890123456789012345678901234567890123456789"
				     "0123456789012345678901234567890123456789012345678901234567890"
				     "HERE\n");

	diag_add(b.diags, E0101, at(s, "H", "HERE"), "t");
	CHECK_TEXT(human(&b),
		   "error[E0101]: t\n --> a.plan:1:122\n  |\n"
		   "1 | ...90123456789012345678901234567890HERE\n"
		   "  |                                    ^^^^\n");
	arena_delete(b.arena);
}

static void recording(void)
{
	struct bench b = bench_new();
	struct span here = {1, 2};

	b.diags->deny[W0501] = true;
	b.diags->silent[W0505] = true;
	CHECK_INT(diags_exit(b.diags), 0);
	diag_add(b.diags, W0505, here, "silent");
	diag_add(b.diags, W0506, here, "warned");
	CHECK_INT(diags_exit(b.diags), 0);
	diag_add(b.diags, E0401, (struct span){9, 9}, "big");
	CHECK_INT(diags_exit(b.diags), 5);
	diag_add(b.diags, E0701, here, "file");
	CHECK_INT(diags_exit(b.diags), 3);
	diag_add(b.diags, W0501, here, "denied");
	CHECK_INT(diags_exit(b.diags), 1);
	diag_add(b.diags, W0501, here, "denied");
	CHECK_INT(b.diags->all.n, 4);
	CHECK_INT(b.diags->errors, 3);
	CHECK_INT(b.diags->warnings, 1);
	diags_sort(b.diags);
	CHECK_INT(b.diags->all.at[0]->code, E0701);
	CHECK_INT(b.diags->all.at[1]->code, W0501);
	CHECK_INT(b.diags->all.at[2]->code, W0506);
	CHECK_INT(b.diags->all.at[3]->code, E0401);
	for (uint32_t i = 0; i < 100000; i++)
		diag_add(b.diags, E0101, (struct span){1 + i % 1000, 2000}, "%u", i % 5000);
	CHECK_INT(b.diags->all.n, 5004);
	arena_delete(b.arena);
}

static void short_form_and_limit(void)
{
	struct bench b = bench_new();
	const struct source *s = add(&b, "a.plan", "a\nbc\n");
	struct text out = text_new(b.arena);

	diag_add(b.diags, E0101, at(s, "c", "c"), "one");
	diag_add(b.diags, E0102, at(s, "b", "b"), "two");
	diag_add(b.diags, W0505, at(s, "a", "a"), "three");
	diag_add(b.diags, E0602, (struct span){0}, "four");
	diags_short(b.diags, (struct diag_style){.limit = 1}, &out);
	CHECK_TEXT(out.at, "a.plan:2:2: error[E0101]: one\n"
			   "a.plan:1:1: warning[W0505]: three\n"
			   "2 more errors; `--max-errors=0` prints all\n");
	arena_delete(b.arena);
}

static void colors(void)
{
	struct bench b = bench_new();
	const struct source *s = add(&b, "a.plan", "a\n");
	struct text out = text_new(b.arena);

	diag_at(diag_add(b.diags, W0505, at(s, "a", "a"), "t"), "l");
	diags_human(b.diags, (struct diag_style){.color = true}, &out);
	CHECK_TEXT(out.at, "\033[1;33mwarning[W0505]\033[0m\033[1m: \033[0m\033[1mt\033[0m\n"
			   "\033[1;34m --> \033[0ma.plan:1:1\n"
			   "\033[1;34m  |\033[0m\n"
			   "\033[1;34m1 |\033[0m a\n"
			   "\033[1;34m  |\033[0m \033[1;33m^\033[0m \033[1;33ml\033[0m\n");
	arena_delete(b.arena);
}

static void json(void)
{
	struct bench b = bench_new();
	const struct source *s = add(&b, "a\"b.plan", "x\nab\ncd\n");
	struct text out = text_new(b.arena);
	struct diag *d = diag_add(b.diags, E0401, (struct span){s->start + 3, s->start + 6}, "big");

	diag_at(d, "here");
	diag_label(d, at(s, "x", "x"), "there");
	diag_note(d, "n\x01\xff");
	diags_json(b.diags, &out);
	CHECK_TEXT(out.at,
		   "[\n{ \"code\": \"E0401\", \"level\": \"error\", \"name\": \"does-not-fit\", "
		   "\"message\": \"big\", \"spans\": [{ \"file\": \"a\\\"b.plan\", "
		   "\"byte_start\": 3, \"byte_end\": 6, \"line_start\": 2, \"column_start\": 2, "
		   "\"line_end\": 3, \"column_end\": 2, \"primary\": true, \"label\": \"here\" }, "
		   "{ \"file\": \"a\\\"b.plan\", \"byte_start\": 0, \"byte_end\": 1, "
		   "\"line_start\": 1, \"column_start\": 1, \"line_end\": 1, \"column_end\": 2, "
		   "\"primary\": false, \"label\": \"there\" }], "
		   "\"notes\": [\"n\\u0001\xef\xbf\xbd\"], \"rendered\": "
		   "\"error[E0401]: big\\n --> a\\\"b.plan:2:2\\n  |\\n1 | x\\n  | - there\\n"
		   "2 | ab\\n  |  ^ here\\n  |\\n  = note: n\\\\x01\\\\xff\\n\" }\n]");
	arena_delete(b.arena);
}

static void empty(void)
{
	struct bench b = bench_new();
	struct text out = text_new(b.arena);

	diags_json(b.diags, &out);
	CHECK_TEXT(out.at, "[]");
	CHECK_TEXT(human(&b), "");
	diags_sort(b.diags);
	arena_delete(b.arena);
}

int main(void)
{
	one_line_between_is_shown();
	several_files();
	command_line();
	table();
	many_labels_on_a_line();
	odd_characters();
	odd_spans();
	long_line();
	cut_line();
	recording();
	short_form_and_limit();
	colors();
	json();
	empty();
	return check_done();
}
