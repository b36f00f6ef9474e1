/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/rehearse/scan_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 32 };

struct scan scan_new(const char *text, size_t length, struct arena *arena)
{
	return (struct scan){arena_copy(arena, text, length), arena, false};
}

static void blanks(struct scan *scan)
{
	scan->at += strspn(scan->at, " \t\r\n");
}

static bool take(struct scan *scan, char wanted)
{
	blanks(scan);
	if (*scan->at != wanted)
		return false;
	scan->at++;
	return true;
}

static void need(struct scan *scan, char wanted)
{
	if (!take(scan, wanted))
		scan->faulty = true;
}

bool scan_done(struct scan *scan)
{
	blanks(scan);
	return !scan->faulty && !*scan->at;
}

/* The bytes between the quotes; of escapes the names that are looked for have none. */
const char *scan_text(struct scan *scan)
{
	const char *from;

	need(scan, '"');
	from = scan->at;
	while (*scan->at && *scan->at != '"')
		scan->at += scan->at[0] == '\\' && scan->at[1] ? 2 : 1;
	if (scan->faulty || !*scan->at) {
		scan->faulty = true;
		return "";
	}
	scan->at++;
	return arena_copy(scan->arena, from, (size_t)(scan->at - 1 - from));
}

double scan_number(struct scan *scan)
{
	char *end;
	double value;

	blanks(scan);
	if (strchr("-0123456789", *scan->at) == NULL || !*scan->at) {
		scan_skip(scan);
		return NAN;
	}
	value = strtod(scan->at, &end);
	scan->faulty |= end == scan->at;
	scan->at = end;
	return value;
}

void scan_open(struct scan *scan, char bracket)
{
	need(scan, bracket);
}

/* True at the next piece of an object or a list: the first one, or one behind a comma. */
static bool next(struct scan *scan, char open, char close)
{
	const char *before;

	if (scan->faulty || take(scan, close))
		return false;
	for (before = scan->at - 1; strchr(" \t\r\n", *before); before--)
		;
	if (*before != open)
		need(scan, ',');
	return !scan->faulty;
}

const char *scan_key(struct scan *scan)
{
	const char *key;

	if (!next(scan, '{', '}'))
		return NULL;
	key = scan_text(scan);
	need(scan, ':');
	return scan->faulty ? NULL : key;
}

bool scan_element(struct scan *scan)
{
	return next(scan, '[', ']');
}

/* A word or a number. */
static void skip_word(struct scan *scan)
{
	size_t length = strspn(scan->at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");

	scan->faulty |= length == 0;
	scan->at += length;
}

void scan_skip(struct scan *scan)
{
	int depth = 0;

	do {
		blanks(scan);
		if (*scan->at == '"')
			scan_text(scan);
		else if (strchr("{[", *scan->at) && *scan->at)
			depth++, scan->at++;
		else if (strchr("}]", *scan->at) && *scan->at)
			depth--, scan->at++;
		else if (strchr(",:", *scan->at) && *scan->at && depth > 0)
			scan->at++;
		else
			skip_word(scan);
		scan->faulty |= depth < 0 || depth > DEPTH;
	} while (depth > 0 && !scan->faulty);
}
