/* SPDX-License-Identifier: Apache-2.0 */
/* A table of text: rows of cells, each column as wide as its widest cell. */
#ifndef DRIVER_COLUMNS_H
#define DRIVER_COLUMNS_H

#include "base/text.h"
#include "base/vec.h"

struct columns {
	struct arena *arena;
	const char *align; /* a letter a column: l or r */
	VEC(const char *) cells;
};

/* `align` as "llr": three columns, the last one to the right. */
struct columns columns_new(struct arena *arena, const char *align);
/* As many texts as there are columns; NULL counts as "". */
void columns_row(struct columns *columns, ...);
/* Two blanks between columns, none at the end of a line. */
void columns_print(const struct columns *columns, struct text *out);

#endif
