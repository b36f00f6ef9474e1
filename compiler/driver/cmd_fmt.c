/* SPDX-License-Identifier: Apache-2.0 */
/* planc fmt: one style, in place; or compared, or as a difference. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "driver/commands.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct line {
	const char *at;
	size_t length;
};

struct lines {
	struct line *at;
	uint32_t n, room;
};

/* Two texts line by line; the first `head` lines and the last `tail` lines are the same. */
struct pair {
	struct lines old, new;
	uint32_t head, tail;
};

static struct lines split(struct arena *arena, const char *text, size_t length)
{
	struct lines lines = {0};
	const char *end = text + length;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		stop = stop ? stop : end;
		vec_push(arena, &lines, (struct line){text, (size_t)(stop - text)});
		text = stop + 1;
	}
	return lines;
}

static bool equal(struct line a, struct line b)
{
	return a.length == b.length && !memcmp(a.at, b.at, a.length);
}

static void trim(struct pair *pair)
{
	uint32_t least = pair->old.n < pair->new.n ? pair->old.n : pair->new.n;

	while (pair->head < least && equal(pair->old.at[pair->head], pair->new.at[pair->head]))
		pair->head++;
	while (pair->tail < least - pair->head &&
	       equal(pair->old.at[pair->old.n - 1 - pair->tail],
		     pair->new.at[pair->new.n - 1 - pair->tail]))
		pair->tail++;
}

static void add_line(struct text *out, char mark, struct line line)
{
	text_raw(out, &mark, 1);
	text_raw(out, line.at, line.length);
	text_raw(out, "\n", 1);
}

static bool in_middle(const struct pair *pair, const struct lines *lines, uint32_t i)
{
	return i < lines->n - pair->tail;
}

/* The next place from (*i, *j) on where both go on alike, nearest first. */
static void resync(const struct pair *pair, uint32_t *i, uint32_t *j)
{
	for (uint32_t step = 1;; step++) {
		for (uint32_t a = 0; a <= step; a++) {
			uint32_t x = *i + a, y = *j + (step - a);
			bool x_in = in_middle(pair, &pair->old, x);
			bool y_in = in_middle(pair, &pair->new, y);

			if ((x_in && y_in && equal(pair->old.at[x], pair->new.at[y])) ||
			    (x == pair->old.n - pair->tail && y == pair->new.n - pair->tail)) {
				*i = x;
				*j = y;
				return;
			}
		}
	}
}

/* One hunk from the first to the last difference: what is taken away, added, kept. */
static void add_diff(const struct pair *pair, const char *path, struct text *out)
{
	uint32_t i = pair->head, j = pair->head;

	text_add(out, "--- %s\n+++ %s\n@@ -%u,%u +%u,%u @@\n", path, path, pair->head + 1,
		 pair->old.n - pair->head - pair->tail, pair->head + 1,
		 pair->new.n - pair->head - pair->tail);
	while (in_middle(pair, &pair->old, i) || in_middle(pair, &pair->new, j)) {
		uint32_t x = i, y = j;

		if (in_middle(pair, &pair->old, i) && in_middle(pair, &pair->new, j) &&
		    equal(pair->old.at[i], pair->new.at[j])) {
			add_line(out, ' ', pair->old.at[i]);
			i++;
			j++;
			continue;
		}
		resync(pair, &x, &y);
		while (i < x)
			add_line(out, '-', pair->old.at[i++]);
		while (j < y)
			add_line(out, '+', pair->new.at[j++]);
	}
}

/* Through links, and with the permissions that the file has. */
static void rewrite(struct session *session, const char *path, const struct text *text)
{
	char real[PATH_MAX];
	struct stat about;
	const char *target = realpath(path, real) ? real : path;
	bool known = !stat(target, &about);

	if (session_write(session, text, target) && known)
		chmod(target, about.st_mode & 07777);
}

static void format_one(struct session *session, struct argument operand)
{
	const struct options *options = &session->options;
	struct arena *arena = session->work.keep;
	const struct source *source = session_read(session, operand);
	struct text text = text_new(arena);
	bool same;

	if (!source || !format_source(source, &session->work, &text))
		return;
	same = text.length == source->length &&
	       (!text.length || !memcmp(text.at, source->text, text.length));
	if (options->check && !same) {
		session->differs = true;
		text_add(&session->lines, "%s: not formatted\n", source->path);
	}
	if (options->diff && !same) {
		struct pair pair = {split(arena, source->text, source->length),
				    split(arena, text.at, text.length), 0, 0};

		trim(&pair);
		add_diff(&pair, source->path, &session->out);
	}
	if (options->check || options->diff)
		return;
	if (!strcmp(operand.text, "-"))
		text_raw(&session->out, text.at, text.length);
	else if (!same)
		rewrite(session, operand.text, &text);
}

void command_fmt(struct session *session)
{
	for (uint32_t i = 0; i < session->options.operands.n; i++)
		format_one(session, session->options.operands.at[i]);
}
