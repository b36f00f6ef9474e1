/* SPDX-License-Identifier: Apache-2.0 */
/* mutate FILE...: each line, each token and each byte of the files is deleted once. No deletion may
 * crash or give more than three messages; one that gives none must print
 * back to itself and, single bytes aside, keep its tree when it is formatted. */
#include "case.h"

#include "../check.h"

enum { MOST_MESSAGES = 3 };

struct tally {
	bool format; /* try the formatter on what is left */
	uint32_t tried, valid, messages[MOST_MESSAGES + 2];
};

static void formatting(struct work *work, const char *text, size_t length, const char *printed)
{
	const char *once = case_format(work, text, length);
	const char *twice = once ? case_format(work, once, strlen(once)) : NULL;

	CHECK_TEXT(twice, once);
	if (once)
		CHECK_TEXT(case_print(work, case_parse(work, "", once, strlen(once))), printed);
}

static void without(const char *path, const char *text, size_t length, size_t lo, size_t hi,
		    struct arena *arena, struct tally *tally)
{
	arena_reset(arena);
	struct work work = case_work(arena);
	char *cut = arena_alloc(arena, length + 1);
	memcpy(cut, text, lo);
	memcpy(cut + lo, text + hi, length - hi);

	struct node *file = case_parse(&work, case_name(path), cut, length - (hi - lo));
	uint32_t errors = work.diags->errors;
	tally->tried++;
	tally->valid += !errors;
	tally->messages[errors <= MOST_MESSAGES ? errors : MOST_MESSAGES + 1]++;
	if (errors > MOST_MESSAGES) {
		check_failures++;
		fprintf(stderr, "%s without [%zu, %zu) `%.*s`: %u messages\n%s", path, lo, hi,
			(int)(hi - lo), text + lo, errors, case_messages(&work));
	}
	const char *printed = case_print(&work, file);
	if (!errors) {
		file = case_parse(&work, "printed", printed, strlen(printed));
		CHECK_TEXT(case_print(&work, file), printed);
		if (tally->format)
			formatting(&work, cut, length - (hi - lo), printed);
	}
}

static void lines_of(const char *path, const char *text, size_t length, struct arena *arena,
		     struct tally *tally)
{
	for (size_t lo = 0; lo < length;) {
		const char *end = memchr(text + lo, '\n', length - lo);
		size_t hi = end ? (size_t)(end - text) + 1 : length;
		without(path, text, length, lo, hi, arena, tally);
		lo = hi;
	}
}

/* Tokens, and the bytes they are made of; of a comment only the first ones matter. */
static void tokens_of(const char *path, const char *text, size_t length, struct arena *arena,
		      struct tally *token, struct tally *byte)
{
	struct arena *own = arena_new();
	struct scan scan = {.arena = own};
	struct sources *sources = sources_new(own);
	scan_source(sources_add(sources, path, text, length, false), &scan);
	for (uint32_t i = 0; i < scan.raw.n; i++) {
		struct raw raw = scan.raw.at[i];
		without(path, text, length, raw.lo, raw.hi, arena, token);
		uint32_t hi = raw.kind == RAW_COMMENT && raw.hi - raw.lo > 4 ? raw.lo + 4 : raw.hi;
		for (uint32_t at = raw.lo; at < hi; at++)
			without(path, text, length, at, at + 1, arena, byte);
	}
	arena_delete(own);
}

static void print_tally(const char *what, const struct tally *tally)
{
	printf("%s: %u deletions, %u still valid; messages 1: %u, 2: %u, 3: %u, more: %u\n", what,
	       tally->tried, tally->valid, tally->messages[1], tally->messages[2],
	       tally->messages[3], tally->messages[4]);
}

int main(int argc, char **argv)
{
	struct arena *arena = arena_new(), *keep = arena_new();
	struct tally line = {.format = true}, token = {.format = true}, byte = {0};

	for (int i = 1; i < argc; i++) {
		size_t length;
		char *text = case_read(keep, argv[i], &length);

		lines_of(argv[i], text, length, arena, &line);
		tokens_of(argv[i], text, length, arena, &token, &byte);
	}
	print_tally("lines", &line);
	print_tally("tokens", &token);
	print_tally("bytes", &byte);
	CHECK(line.tried && token.tried && byte.tried);
	arena_delete(arena);
	arena_delete(keep);
	return check_done();
}
