/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/columns.h"

#include <stdarg.h>
#include <string.h>

struct columns columns_new(struct arena *arena, const char *align)
{
	return (struct columns){.arena = arena, .align = align};
}

void columns_row(struct columns *columns, ...)
{
	size_t n = strlen(columns->align);
	va_list cells;

	va_start(cells, columns);
	for (size_t i = 0; i < n; i++) {
		const char *cell = va_arg(cells, const char *);

		vec_push(columns->arena, &columns->cells, cell ? cell : "");
	}
	va_end(cells);
}

static const char *cell_at(const struct columns *columns, size_t row, size_t column)
{
	return columns->cells.at[row * strlen(columns->align) + column];
}

static int width_of(const struct columns *columns, size_t column)
{
	size_t rows = columns->cells.n / strlen(columns->align), width = 0;

	for (size_t row = 0; row < rows; row++) {
		size_t length = strlen(cell_at(columns, row, column));

		width = length > width ? length : width;
	}
	return (int)width;
}

static void print_line(struct text *out, const char *line)
{
	size_t length = strlen(line);

	while (length && line[length - 1] == ' ')
		length--;
	text_add(out, "%.*s\n", (int)length, line);
}

void columns_print(const struct columns *columns, struct text *out)
{
	size_t n = strlen(columns->align), rows = columns->cells.n / n;
	int *widths = ARENA_ARRAY(columns->arena, int, n);

	for (size_t i = 0; i < n; i++)
		widths[i] = width_of(columns, i);
	for (size_t row = 0; row < rows; row++) {
		struct text line = text_new(columns->arena);

		for (size_t i = 0; i < n; i++) {
			bool right = columns->align[i] == 'r';

			if (!widths[i])
				continue;
			text_add(&line, "%s%*s", line.length ? "  " : "",
				 right ? widths[i] : -widths[i], cell_at(columns, row, i));
		}
		print_line(out, line.length ? line.at : "");
	}
}
