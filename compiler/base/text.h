/* SPDX-License-Identifier: Apache-2.0 */
/* Output text: a growing buffer with indentation by tabs; files are written whole or not at all. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct text {
	struct arena *arena;
	char *at; /* NUL after `length` bytes once anything was added */
	size_t length, room;
	int indent;      /* tabs put at the start of each line */
	bool line_start; /* nothing on this line yet */
};

/* An empty text in `arena`. */
struct text text_new(struct arena *arena);

/* printf; every '\n' in the result starts a new, indented line. Locale-independent for %f %g only
 * through num_double: do not print doubles here. */
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vadd(struct text *text, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* `length` bytes as they are, no indentation. */
void text_raw(struct text *text, const char *bytes, size_t length);
/* A JSON string with quotes; control characters escaped, bytes that are no UTF-8 as U+FFFD. */
void text_json(struct text *text, const char *string);

/* A file that is written whole beside its place; NULL where the place is no regular file, which
 * has then been written. */
struct staged {
	const char *path, *beside;
};

/* Writes beside PATH, in the same folder. False with errno set, and nothing is left. */
bool text_stage(const struct text *text, const char *path, struct staged *out);
/* Moves it to its place. False with errno set, and nothing is left. */
bool staged_take(const struct staged *staged);
void staged_drop(const struct staged *staged);

/* Stages and takes: no half file is ever seen. False with errno set. */
bool text_write(const struct text *text, const char *path);

/* Input over this many bytes is refused: a device may never end. */
enum { TEXT_LIMIT = 64 << 20 };

/* Whole file into `arena`; NULL with errno set, EFBIG over TEXT_LIMIT. *length gets the bytes; a
 * NUL follows them. */
char *text_read(struct arena *arena, const char *path, size_t *length);
/* The same of an open file. */
char *text_read_open(struct arena *arena, int file, size_t *length);

#endif
