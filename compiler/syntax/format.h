/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the formatter share: format.c settles lines, format_lines.c lays them out.
 */
#ifndef SYNTAX_FORMAT_H
#define SYNTAX_FORMAT_H

#include "base/text.h"
#include "base/vec.h"
#include "syntax/parser.h"

#define FORMAT_COLUMNS 100
#define FORMAT_INDENT 2

/* A token or a comment, and the line ends before it. */
struct item {
	uint32_t lo, hi;
	int kind;
	uint32_t match; /* of a bracket: the index of the other one */
	uint8_t breaks; /* 0 same line, 1 next line, 2 a blank line between */
	bool drop;	/* a separator that a line end stands for now */
};

struct format {
	const char *text;
	struct arena *arena;
	VEC(struct item) items;
};

/* True if a space stands between two items of one line. */
bool format_space(const struct format *format, uint32_t left, uint32_t right);
/* Columns of an item: characters, not bytes. */
uint32_t format_width(const struct format *format, uint32_t item);
/* Prints the items; line ends are where their `breaks` say. */
void format_lines(const struct format *format, struct text *out);

#endif
