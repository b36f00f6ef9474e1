/* SPDX-License-Identifier: Apache-2.0 */
/* Draws one source line with the marks under it. Used by the human layout of diagnostics. */
#ifndef BASE_SNIPPET_H
#define BASE_SNIPPET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum paint { PAINT_PLAIN, PAINT_TITLE, PAINT_ERROR, PAINT_WARNING, PAINT_NOTE, PAINT_GUTTER };

/* How a snippet looks: the gutter's digits, and the paint of primary marks. */
struct brush {
	struct text *out;
	bool color;
	int width;
	enum paint primary;
};

/* printf in a colour; plain without colours. */
void paint(const struct brush *brush, enum paint paint, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* User's text as it is safe to show; a newline continues `indent` columns in, or is shown as a
 * control character where `indent` is ONE_LINE. */
enum { ONE_LINE = -1 };
void paint_text(const struct brush *brush, enum paint paint, const char *string, int indent);

struct mark {
	uint32_t lo, hi; /* bytes within the line; hi > lo, or equal for one caret */
	bool primary;    /* ^ or - */
	const char *text;
	bool drawn;      /* set by snippet_line */
};

/* "  |" */
void snippet_bar(const struct brush *brush);

/* The line and its marks. `line` = 0 leaves the number out. A line too long for 100 columns is cut
 * around its marks, and repeated for marks that are too far from the first. */
void snippet_line(const struct brush *brush, uint32_t line, const char *text, uint32_t length,
		  struct mark *marks, uint32_t count);

#endif
