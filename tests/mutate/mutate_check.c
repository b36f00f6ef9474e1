/* SPDX-License-Identifier: Apache-2.0 */
/* mutate_check STRIDE FILE...: each line, token and byte of the plans is deleted and doubled once,
 * tokens change places, numbers become ones that fit badly, names become other names of the file;
 * of all that every STRIDE-th is tried. What is left is a plan or has an error at a place in it: no
 * crash, no second of work. No deletion gives more than three errors, and of the others one in a
 * hundred at most. */
#include "whole.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "base/bug.h"
#include "syntax/scan.h"

enum { MOST_ERRORS = 3, COUNTED = 6, SHOWN = 10 };

enum kind { LINE, TOKEN, BYTE, DOUBLED, SWAPPED, NUMBERS, NAMES, KINDS };

static const char *const kind_names[KINDS] = {"lines", "tokens",  "bytes", "doubled",
						"swaps", "numbers", "names"};

static struct {
	uint32_t seen, tried, valid, many, errors[COUNTED + 1];
	double slowest;
} tally[KINDS];

/* One text of the tree, as it is. */
struct original {
	const char *path, *name, *text;
	size_t length;
	struct scan scan;
};

/* What is being tried: for messages, and for whoever ends the process. */
static struct {
	const struct original *of;
	size_t lo, hi;
	const char *put;
	int put_length;
} now;

static uint32_t stride;
static struct whole whole;

static void say_now(void)
{
	fprintf(stderr, "%s: [%zu, %zu) `%.*s` became `%.*s`\n", now.of->path, now.lo, now.hi,
		(int)(now.hi - now.lo), now.of->text + now.lo, now.put_length, now.put);
}

/* Errors have a place in some text, and one of them in a file of the user. */
static bool placed(void)
{
	const struct diags *diags = whole.work.diags;
	bool own = false;

	for (uint32_t i = 0; i < diags->all.n; i++) {
		const struct diag *diag = diags->all.at[i];
		const struct source *in = sources_find(whole.work.sources, diag->span.lo);

		if (diag->level != LEVEL_ERROR)
			continue;
		if (!diag->span.lo || !in || diag->span.hi < diag->span.lo ||
		    diag->span.hi > in->start + in->length)
			return false;
		own |= !in->built_in;
	}
	return own;
}

static void judge_now(enum kind kind, double seconds)
{
	uint32_t errors = whole.work.diags->errors;
	bool many = errors > MOST_ERRORS;
	const char *fault = many && kind <= BYTE	? "too many errors"
			    : errors && !placed()	? "an error without a place"
			    : seconds > 1		? "more than a second"
							: NULL;

	tally[kind].tried++;
	tally[kind].many += many;
	tally[kind].valid += !errors;
	tally[kind].errors[errors < COUNTED ? errors : COUNTED]++;
	if (seconds > tally[kind].slowest)
		tally[kind].slowest = seconds;
	if (!fault || check_failures++ >= SHOWN)
		return;
	fprintf(stderr, "%s (%u errors, %.2f s): ", fault, errors, seconds);
	say_now();
	fprintf(stderr, "%s\n", whole_messages(&whole));
}

/* [lo, hi) of the original becomes `put`. */
static void become(enum kind kind, const struct original *of, size_t lo, size_t hi,
		   const char *put, size_t put_length)
{
	struct text text;
	struct arena *arena;
	clock_t start;

	if (tally[kind].seen++ % stride)
		return;
	now.of = of;
	now.lo = lo;
	now.hi = hi;
	now.put = put;
	now.put_length = (int)put_length;
	arena = arena_new();
	text = text_new(arena);
	text_raw(&text, of->text, lo);
	text_raw(&text, put, put_length);
	text_raw(&text, of->text + hi, of->length - hi);
	alarm(60);
	start = clock();
	whole_check(&whole, of->name, text.at ? text.at : "", text.length);
	judge_now(kind, (double)(clock() - start) / CLOCKS_PER_SEC);
	alarm(0);
	arena_delete(arena);
}

static void delete_and_double(enum kind kind, const struct original *of, size_t lo, size_t hi)
{
	become(kind, of, lo, hi, "", 0);
	become(DOUBLED, of, hi, hi, of->text + lo, hi - lo);
}

static void lines(const struct original *of)
{
	for (size_t lo = 0; lo < of->length;) {
		const char *end = memchr(of->text + lo, '\n', of->length - lo);
		size_t hi = end ? (size_t)(end - of->text) + 1 : of->length;

		delete_and_double(LINE, of, lo, hi);
		lo = hi;
	}
}

static void numbers(const struct original *of, struct raw raw)
{
	static const char *const bad[] = {"0", "-1", "9223372036854775808", "1e30"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		become(NUMBERS, of, raw.lo, raw.hi, bad[i], strlen(bad[i]));
}

/* A reserved word and a unit count as names. */
static bool is_name(const struct original *of, struct raw raw)
{
	char first = of->text[raw.lo];

	return raw.kind < RAW_COMMENT &&
	       (first == '_' || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z'));
}

static bool is_number(const struct original *of, struct raw raw)
{
	return raw.kind < RAW_COMMENT && of->text[raw.lo] >= '0' && of->text[raw.lo] <= '9';
}

/* Three names of the file, a quarter of it apart. */
static void names(const struct original *of, uint32_t at)
{
	const struct raw *raws = of->scan.raw.at;
	uint32_t n = of->scan.raw.n;

	for (uint32_t far = 1; far < 4; far++) {
		uint32_t i = (at + far * n / 4 + 1) % n;

		while (!is_name(of, raws[i]))
			i = (i + 1) % n;
		become(NAMES, of, raws[at].lo, raws[at].hi, of->text + raws[i].lo,
		       raws[i].hi - raws[i].lo);
	}
}

static void swap(const struct original *of, struct raw a, struct raw b, struct arena *arena)
{
	const char *text = of->text;
	const char *put = arena_text(arena, "%.*s%.*s%.*s", (int)(b.hi - b.lo), text + b.lo,
				     (int)(b.lo - a.hi), text + a.hi, (int)(a.hi - a.lo),
				     text + a.lo);

	become(SWAPPED, of, a.lo, b.hi, put, strlen(put));
}

static void tokens(const struct original *of, struct arena *arena)
{
	for (uint32_t i = 0; i < of->scan.raw.n; i++) {
		struct raw raw = of->scan.raw.at[i];
		uint32_t hi = raw.hi;

		if (raw.kind == RAW_COMMENT)
			hi = raw.hi - raw.lo > 4 ? raw.lo + 4 : raw.hi;
		else
			delete_and_double(TOKEN, of, raw.lo, raw.hi);
		for (uint32_t at = raw.lo; at < hi; at++)
			delete_and_double(BYTE, of, at, at + 1);
		if (is_number(of, raw))
			numbers(of, raw);
		if (is_name(of, raw))
			names(of, i);
		if (i && raw.kind != RAW_COMMENT && of->scan.raw.at[i - 1].kind != RAW_COMMENT)
			swap(of, of->scan.raw.at[i - 1], raw, arena);
	}
}

static void mutate(const char *path)
{
	struct arena *arena = arena_new();
	struct sources *sources = sources_new(arena);
	const char *slash = strrchr(path, '/');
	struct original of = {.path = path, .name = slash ? slash + 1 : path};

	of.scan.arena = arena;
	of.text = text_read(arena, path, &of.length);
	if (!of.text) {
		perror(path);
		exit(1);
	}
	whole.folder = arena_copy(arena, path, (size_t)(of.name - path));
	scan_source(sources_add(sources, of.name, of.text, of.length, false), &of.scan);
	whole_check(&whole, of.name, of.text, of.length);
	CHECK_TEXT(whole.work.diags->errors ? whole_messages(&whole) : "", "");
	lines(&of);
	tokens(&of, arena);
	arena_delete(arena);
}

int main(int argc, char **argv)
{
	uint32_t tried = 0;

	stride = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	if (!stride || argc < 3) {
		fputs("usage: mutate_check STRIDE FILE...\n", stderr);
		return 2;
	}
	bug_hook(say_now);
	whole_open(&whole);
	for (int i = 2; i < argc; i++)
		mutate(argv[i]);
	for (int kind = 0; kind < KINDS; kind++) {
		printf("%-8s %6u tried, %6u valid, errors", kind_names[kind], tally[kind].tried,
		       tally[kind].valid);
		for (uint32_t n = 1; n <= COUNTED; n++)
			printf(" %u%s: %u", n, n == COUNTED ? "+" : "", tally[kind].errors[n]);
		printf(", slowest %.3f s\n", tally[kind].slowest);
		tried += tally[kind].tried;
		CHECK(tally[kind].many * 100 <= tally[kind].tried);
	}
	CHECK(tried >= 1000);
	whole_close(&whole);
	return check_done();
}
