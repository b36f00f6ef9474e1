/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics for people: snippets with marks, and one-line messages. */
#include "base/diag.h"

#include <string.h>

#include "base/snippet.h"

/* The command line has no line numbers; its gutter is this wide. */
enum { COMMAND_WIDTH = 2 };

struct spot {
	const struct source *source;
	uint32_t line, lo; /* lo: byte within the line */
	struct mark mark;
};

struct page {
	const struct diag *diag;
	struct brush brush;
	VEC(struct spot) spots; /* the primary one first, if it has a place */
};

static bool numbered(const struct source *source)
{
	return strcmp(source->path, "<command line>") != 0;
}

/* A mark ends with its line, without the blanks there. */
static void add_spot(struct page *page, struct span span, const char *text, bool primary)
{
	struct position at = sources_position(page->diag->in->sources, span.lo);
	struct spot spot = {.source = at.source, .line = at.line};
	uint32_t length, bytes = span.hi > span.lo ? span.hi - span.lo : 0;
	const char *line;

	if (!at.source)
		return;
	line = source_line(at.source, at.line, &length);
	spot.lo = at.column - 1 < length ? at.column - 1 : length;
	if (bytes >= length - spot.lo) {
		bytes = length - spot.lo;
		while (bytes && strchr(" \t\r", line[spot.lo + bytes - 1]))
			bytes--;
	}
	spot.mark = (struct mark){.lo = spot.lo, .hi = spot.lo + bytes, .text = text};
	spot.mark.primary = primary;
	vec_push(page->brush.out->arena, &page->spots, spot);
}

static int gutter_width(const struct page *page)
{
	uint32_t last = 0;
	int width = 1;

	for (uint32_t i = 0; i < page->spots.n; i++) {
		const struct spot *spot = &page->spots.at[i];

		if (!numbered(spot->source) && width < COMMAND_WIDTH)
			width = COMMAND_WIDTH;
		else if (numbered(spot->source) && spot->line > last)
			last = spot->line;
	}
	for (int digits = 1; last; last /= 10, digits++)
		width = digits > width ? digits : width;
	return width;
}

static void draw_title(const struct page *page)
{
	const struct diag *diag = page->diag;

	paint(&page->brush, page->brush.primary, "%s[%s]", diag_level_name(diag->level),
	      diag_row(diag->code)->code);
	paint(&page->brush, PAINT_TITLE, ": ");
	paint_text(&page->brush, PAINT_TITLE, diag->title, 2);
	text_add(page->brush.out, "\n");
}

/* The first spot by line of those in `source` from line `from` on, or NULL. */
static struct spot *first_from(const struct page *page, const struct source *source, uint32_t from)
{
	struct spot *first = NULL;

	for (uint32_t i = 0; i < page->spots.n; i++) {
		struct spot *spot = &page->spots.at[i];

		if (spot->source == source && spot->line >= from &&
		    (!first || spot->line < first->line ||
		     (spot->line == first->line && spot->lo < first->lo)))
			first = spot;
	}
	return first;
}

static void draw_line(const struct page *page, const struct source *source, uint32_t line)
{
	VEC(struct mark) marks = {0};
	uint32_t length;
	const char *text = source_line(source, line, &length);

	for (uint32_t i = 0; i < page->spots.n; i++)
		if (page->spots.at[i].source == source && page->spots.at[i].line == line)
			vec_push(page->brush.out->arena, &marks, page->spots.at[i].mark);
	snippet_line(&page->brush, numbered(source) ? line : 0, text, length, marks.at, marks.n);
}

/* `arrow` is "-->" for the primary file and ":::" for others. */
static void draw_place(const struct page *page, const char *arrow, const struct spot *spot)
{
	paint(&page->brush, PAINT_GUTTER, "%*s%s ", page->brush.width, "", arrow);
	paint_text(&page->brush, PAINT_PLAIN, spot->source->path, ONE_LINE);
	if (numbered(spot->source))
		text_add(page->brush.out, ":%u:%u\n", spot->line, spot->lo + 1);
	else
		text_add(page->brush.out, ":%u\n", spot->line);
	snippet_bar(&page->brush);
}

/* All marked lines of a file in order. One line between two is shown, more become dots. */
static void draw_source(const struct page *page, const struct source *source)
{
	struct spot *spot = first_from(page, source, 1);
	uint32_t last = 0;

	while (spot) {
		if (last && spot->line == last + 2)
			draw_line(page, source, last + 1);
		else if (last && spot->line > last + 2)
			paint(&page->brush, PAINT_GUTTER, "...\n");
		draw_line(page, source, spot->line);
		last = spot->line;
		spot = first_from(page, source, last + 1);
	}
}

/* True if an earlier spot lies in the same file, so that the file was drawn with it. */
static bool drawn_before(const struct page *page, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (page->spots.at[i].source == page->spots.at[index].source)
			return true;
	return false;
}

static void draw_snippets(const struct page *page)
{
	for (uint32_t i = 0; i < page->spots.n; i++) {
		const struct spot *spot = &page->spots.at[i];

		if (drawn_before(page, i))
			continue;
		if (i) {
			snippet_bar(&page->brush);
			draw_place(page, ":::", first_from(page, spot->source, 1));
		} else {
			draw_place(page, "-->", spot);
		}
		draw_source(page, spot->source);
	}
}

static void draw_table(const struct page *page)
{
	const char *line = page->diag->table;
	int indent = page->brush.width + 1;

	paint(&page->brush, PAINT_GUTTER, "%*s= ", indent, "");
	while (*line) {
		size_t length = strcspn(line, "\n");
		char *copy = arena_copy(page->brush.out->arena, line, length);

		if (line != page->diag->table && length)
			text_add(page->brush.out, "%*s", indent + 2, "");
		paint_text(&page->brush, PAINT_PLAIN, copy, indent + 2);
		text_add(page->brush.out, "\n");
		line += length + (line[length] == '\n');
	}
}

static void draw_notes(const struct page *page)
{
	const struct diag *diag = page->diag;
	int indent = page->brush.width + 1;

	if (page->spots.n && (diag->notes.n || diag->table))
		snippet_bar(&page->brush);
	if (diag->table)
		draw_table(page);
	for (uint32_t i = 0; i < diag->notes.n; i++) {
		paint(&page->brush, PAINT_GUTTER, "%*s= ", indent, "");
		paint(&page->brush, PAINT_TITLE, "note");
		text_add(page->brush.out, ": ");
		paint_text(&page->brush, PAINT_PLAIN, diag->notes.at[i], indent + 8);
		text_add(page->brush.out, "\n");
	}
}

void diag_human(const struct diag *diag, bool color, struct text *out)
{
	static const enum paint paints[] = {[LEVEL_NOTE] = PAINT_NOTE,
					    [LEVEL_WARNING] = PAINT_WARNING,
					    [LEVEL_ERROR] = PAINT_ERROR};
	struct page page = {.diag = diag, .brush = {.out = out, .color = color}};

	page.brush.primary = paints[diag->level];
	add_spot(&page, diag->span, diag->label, true);
	for (uint32_t i = 0; i < diag->labels.n; i++)
		add_spot(&page, diag->labels.at[i].span, diag->labels.at[i].text, false);
	page.brush.width = gutter_width(&page);
	draw_title(&page);
	draw_snippets(&page);
	draw_notes(&page);
}

/* True while the limit lets this diagnostic through; counts what it holds back. */
static bool let_through(const struct diag *diag, struct diag_style style, uint32_t *errors)
{
	if (diag->level != LEVEL_ERROR)
		return true;
	return ++*errors <= style.limit || !style.limit;
}

static void tell_rest(struct diag_style style, uint32_t errors, struct text *out)
{
	uint32_t rest = style.limit && errors > style.limit ? errors - style.limit : 0;

	if (rest)
		text_add(out, "%u more error%s; `--max-errors=0` prints all\n", rest,
			 rest == 1 ? "" : "s");
}

void diags_human(const struct diags *diags, struct diag_style style, struct text *out)
{
	uint32_t errors = 0;
	bool first = true;

	for (uint32_t i = 0; i < diags->all.n; i++) {
		if (!let_through(diags->all.at[i], style, &errors))
			continue;
		if (!first)
			text_add(out, "\n");
		first = false;
		diag_human(diags->all.at[i], style.color, out);
	}
	if (style.limit && errors > style.limit)
		text_add(out, "\n");
	tell_rest(style, errors, out);
}

static void add_short(const struct diag *diag, struct text *out)
{
	struct position at = sources_position(diag->in->sources, diag->span.lo);
	struct brush brush = {.out = out};

	if (at.source) {
		paint_text(&brush, PAINT_PLAIN, at.source->path, ONE_LINE);
		text_add(out, ":%u:%u: ", at.line, at.column);
	}
	text_add(out, "%s[%s]: ", diag_level_name(diag->level), diag_row(diag->code)->code);
	paint_text(&brush, PAINT_PLAIN, diag->title, ONE_LINE);
	text_add(out, "\n");
}

void diags_short(const struct diags *diags, struct diag_style style, struct text *out)
{
	uint32_t errors = 0;

	for (uint32_t i = 0; i < diags->all.n; i++)
		if (let_through(diags->all.at[i], style, &errors))
			add_short(diags->all.at[i], out);
	tell_rest(style, errors, out);
}
