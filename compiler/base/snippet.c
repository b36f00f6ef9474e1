/* SPDX-License-Identifier: Apache-2.0 */
#include "base/snippet.h"

#include <stdarg.h>
#include <string.h>

#include "base/utf8.h"

enum { COLUMNS = 100, DOTS = 3, LONGEST_MARK = 40 };

static const char *const escapes[] = {
	[PAINT_TITLE] = "1",        [PAINT_ERROR] = "1;31",  [PAINT_WARNING] = "1;33",
	[PAINT_NOTE] = "1;36",      [PAINT_GUTTER] = "1;34",
};

static void paint_on(const struct brush *brush, enum paint paint)
{
	if (brush->color && paint != PAINT_PLAIN)
		text_add(brush->out, "\033[%sm", escapes[paint]);
}

static void paint_off(const struct brush *brush, enum paint paint)
{
	if (brush->color && paint != PAINT_PLAIN)
		text_add(brush->out, "\033[0m");
}

void paint(const struct brush *brush, enum paint paint, const char *format, ...)
{
	va_list args;

	paint_on(brush, paint);
	va_start(args, format);
	text_vadd(brush->out, format, args);
	va_end(args);
	paint_off(brush, paint);
}

void paint_text(const struct brush *brush, enum paint paint, const char *string, int indent)
{
	size_t left = strlen(string);

	paint_on(brush, paint);
	while (left) {
		struct glyph glyph = utf8_glyph(string, left);

		if (*string == '\n' && indent >= 0)
			text_add(brush->out, "\n%*s", indent, "");
		else
			text_raw(brush->out, glyph.text, strlen(glyph.text));
		string += glyph.bytes;
		left -= glyph.bytes;
	}
	paint_off(brush, paint);
}

void snippet_bar(const struct brush *brush)
{
	paint(brush, PAINT_GUTTER, "%*s|", brush->width + 1, "");
	text_add(brush->out, "\n");
}

/* The part [from, to) of a line that is shown, after `lead` cells of dots. */
struct window {
	const char *text;
	uint32_t length, from, to, lead;
};

/* Cells of [from, to), or more than `most` if they are more. */
static uint32_t cells(const char *text, uint32_t from, uint32_t to, uint32_t most)
{
	uint32_t sum = 0;

	while (from < to && sum <= most) {
		struct glyph glyph = utf8_glyph(text + from, to - from);

		from += glyph.bytes;
		sum += glyph.cells;
	}
	return sum;
}

/* Start of the character that ends at `at` (> 0). */
static uint32_t step_back(const char *text, uint32_t at)
{
	for (uint32_t bytes = 2; bytes <= 4 && bytes <= at; bytes++)
		if (utf8_glyph(text + at - bytes, bytes).bytes == bytes)
			return at - bytes;
	return at - 1;
}

/* Where the window begins so that `room` cells before `at` are seen. */
static uint32_t begin(const char *text, uint32_t at, uint32_t room)
{
	uint32_t sum = 0, steps = 0;

	while (at && steps++ < COLUMNS) {
		uint32_t before = step_back(text, at);

		sum += utf8_glyph(text + before, at - before).cells;
		if (sum > room)
			break;
		at = before;
	}
	return at;
}

/* Where it ends; a run of characters without width is cut as well. */
static uint32_t finish(const char *text, uint32_t from, uint32_t length, uint32_t room)
{
	uint32_t sum = 0, steps = 0;

	while (from < length && steps++ < 4 * COLUMNS) {
		struct glyph glyph = utf8_glyph(text + from, length - from);

		sum += glyph.cells;
		if (sum > room)
			break;
		from += glyph.bytes;
	}
	return from;
}

/* The window around a mark. Looks at no more of the line than it shows. */
static struct window look(const char *text, uint32_t length, const struct mark *mark, uint32_t room)
{
	struct window window = {.text = text, .length = length, .to = length};
	uint32_t reach;

	window.to = finish(text, 0, length, room);
	if (window.to == length)
		return window;
	reach = mark->hi - mark->lo < LONGEST_MARK ? mark->hi : mark->lo + LONGEST_MARK;
	window.to = finish(text, 0, length, room - DOTS);
	if (reach <= window.to)
		return window;
	window.from = begin(text, mark->lo < length ? mark->lo : length, room / 3);
	window.lead = window.from ? DOTS : 0;
	window.to = finish(text, window.from, length, room - 2 * DOTS);
	return window;
}

static void draw_text(const struct brush *brush, uint32_t line, const struct window *window)
{
	uint32_t to = window->to;
	bool cut = to < window->length;

	while (!cut && to > window->from && strchr(" \t\r", window->text[to - 1]))
		to--;
	if (line)
		paint(brush, PAINT_GUTTER, "%*u |", brush->width, line);
	else
		paint(brush, PAINT_GUTTER, "%*s |", brush->width, "");
	if (to > window->from || window->lead)
		text_add(brush->out, " %s", window->lead ? "..." : "");
	for (uint32_t at = window->from; at < to;) {
		struct glyph glyph = utf8_glyph(window->text + at, to - at);

		text_raw(brush->out, glyph.text, strlen(glyph.text));
		at += glyph.bytes;
	}
	text_add(brush->out, "%s\n", cut ? "..." : "");
}

/* A mark in cells of the window. */
struct drawn {
	const struct mark *mark;
	uint32_t column, cells, end; /* end: after the label and a blank */
	uint32_t row;
};

/* A mark that goes on outside the window is drawn short: its label needs the room. */
static struct drawn place(const struct window *window, const struct mark *mark)
{
	struct drawn drawn = {.mark = mark};
	uint32_t lo = mark->lo < window->to ? mark->lo : window->to;
	uint32_t hi = mark->hi < window->to ? mark->hi : window->to;
	size_t label = strlen(mark->text);

	drawn.column = window->lead + cells(window->text, window->from, lo, UINT32_MAX - 8);
	drawn.cells = lo < hi ? cells(window->text, lo, hi, UINT32_MAX - 8) : 1;
	drawn.cells = drawn.cells ? drawn.cells : 1;
	if (mark->hi > hi && drawn.cells > LONGEST_MARK)
		drawn.cells = LONGEST_MARK;
	drawn.end = drawn.column + drawn.cells + 1;
	if (label)
		drawn.end += cells(mark->text, 0, (uint32_t)label, UINT32_MAX - 8) + 2;
	return drawn;
}

/* The first row in which nothing of the other marks is touched. */
static uint32_t free_row(const struct drawn *drawn, uint32_t count, const struct drawn *mark)
{
	uint32_t row = 0, i = 0;

	while (i < count) {
		bool apart = drawn[i].row != row || drawn[i].end <= mark->column ||
			     mark->end <= drawn[i].column;

		if (apart) {
			i++;
		} else {
			row++;
			i = 0;
		}
	}
	return row;
}

/* The leftmost mark of a row from `column` on, or NULL. */
static const struct drawn *next_in_row(const struct drawn *drawn, uint32_t count, uint32_t row,
				       uint32_t column)
{
	const struct drawn *next = NULL;

	for (uint32_t i = 0; i < count; i++)
		if (drawn[i].row == row && drawn[i].column >= column &&
		    (!next || drawn[i].column < next->column))
			next = &drawn[i];
	return next;
}

static void draw_mark(const struct brush *brush, const struct drawn *drawn)
{
	enum paint color = drawn->mark->primary ? brush->primary : PAINT_GUTTER;
	char line[COLUMNS + 1];
	uint32_t n = drawn->cells < COLUMNS ? drawn->cells : COLUMNS;

	memset(line, drawn->mark->primary ? '^' : '-', n);
	line[n] = '\0';
	paint(brush, color, "%s", line);
	if (*drawn->mark->text) {
		text_raw(brush->out, " ", 1);
		paint_text(brush, color, drawn->mark->text, 1);
	}
}

/* False if the row is empty. */
static bool draw_row(const struct brush *brush, const struct drawn *drawn, uint32_t count,
		     uint32_t row)
{
	const struct drawn *next = next_in_row(drawn, count, row, 0);
	uint32_t column = 0;

	if (!next)
		return false;
	paint(brush, PAINT_GUTTER, "%*s|", brush->width + 1, "");
	text_raw(brush->out, " ", 1);
	while (next) {
		text_add(brush->out, "%*s", (int)(next->column - column), "");
		draw_mark(brush, next);
		column = next->end - 1 - (*next->mark->text ? 1 : 0);
		next = next_in_row(drawn, count, row, column + 1);
	}
	text_raw(brush->out, "\n", 1);
	return true;
}

static bool in_window(const struct window *window, const struct mark *mark)
{
	return mark->lo >= window->from &&
	       (mark->lo < window->to || window->to == window->length);
}

/* Draws the marks inside the window; primary ones first, so that they get the first row. */
static void draw_marks(const struct brush *brush, const struct window *window, struct mark *marks,
		       uint32_t count)
{
	struct drawn *drawn = ARENA_ARRAY(brush->out->arena, struct drawn, count);
	uint32_t n = 0;

	for (int primary = 1; primary >= 0; primary--) {
		for (uint32_t i = 0; i < count; i++) {
			if (marks[i].drawn || marks[i].primary != (primary == 1) ||
			    !in_window(window, &marks[i]))
				continue;
			drawn[n] = place(window, &marks[i]);
			drawn[n].row = free_row(drawn, n, &drawn[n]);
			marks[i].drawn = true;
			n++;
		}
	}
	for (uint32_t row = 0; draw_row(brush, drawn, n, row); row++)
		;
}

/* The mark to look at next: the primary one, else the first. */
static const struct mark *pending(const struct mark *marks, uint32_t count)
{
	const struct mark *found = NULL;

	for (uint32_t i = 0; i < count; i++)
		if (!marks[i].drawn && (!found || (marks[i].primary && !found->primary)))
			found = &marks[i];
	return found;
}

void snippet_line(const struct brush *brush, uint32_t line, const char *text, uint32_t length,
		  struct mark *marks, uint32_t count)
{
	uint32_t room = COLUMNS - (uint32_t)brush->width - 3;
	const struct mark none = {.text = ""};
	const struct mark *mark = pending(marks, count);

	do {
		struct window window = look(text, length, mark ? mark : &none, room);

		draw_text(brush, line, &window);
		draw_marks(brush, &window, marks, count);
		mark = pending(marks, count);
	} while (mark);
}
