/* SPDX-License-Identifier: Apache-2.0 */
/* One text through the parser, with all that it needs. */
#ifndef TESTS_PARSE_CASE_H
#define TESTS_PARSE_CASE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "syntax/parse.h"
#include "syntax/scan.h"

/* A work whose results and scratch share one arena. */
static inline struct work case_work(struct arena *arena)
{
	struct work work = {.keep = arena, .scratch = arena};

	work.names = names_new(arena);
	work.sources = sources_new(arena);
	work.diags = diags_new(arena, work.sources);
	return work;
}

static inline struct node *case_parse(struct work *work, const char *name, const char *text,
				      size_t length)
{
	const struct source *source = sources_add(work->sources, name, text, length, false);

	return parse(source, work);
}

/* The tree as text; "" for an empty one. */
static inline const char *case_print(struct work *work, const struct node *file)
{
	struct text out = text_new(work->keep);

	ast_print(file, &out);
	return out.at ? out.at : "";
}

/* All messages, one a line, in order of their places. */
static inline const char *case_messages(struct work *work)
{
	struct text out = text_new(work->keep);

	diags_sort(work->diags);
	diags_short(work->diags, (struct diag_style){0}, &out);
	return out.at ? out.at : "";
}

/* The formatted text, or NULL if the text does not parse. */
static inline const char *case_format(struct work *work, const char *text, size_t length)
{
	const struct source *source =
		sources_add(work->sources, "unformatted", text, length, false);
	struct text out = text_new(work->keep);

	if (!format_source(source, work, &out))
		return NULL;
	return out.at ? out.at : "";
}

/* The last part of a path. */
static inline const char *case_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Reads a file or ends the test. */
static inline char *case_read(struct arena *arena, const char *path, size_t *length)
{
	char *text = text_read(arena, path, length);

	if (!text) {
		perror(path);
		exit(1);
	}
	return text;
}

#endif
