/* SPDX-License-Identifier: Apache-2.0 */
/* Works on tokens and comments, not on the tree, so nothing that was written is lost. */
#include "syntax/format.h"

#include <string.h>

#include "syntax/parse.h"
#include "plan_parser.h"

static void add_item(struct format *f, uint32_t lo, uint32_t hi, int kind)
{
	struct item item = {.lo = lo, .hi = hi, .kind = kind};
	uint32_t at = f->items.n ? f->items.at[f->items.n - 1].hi : lo;
	uint32_t breaks = 0;
	for (; at < lo && breaks < 2; at++)
		breaks += f->text[at] == '\n';
	item.breaks = (uint8_t)breaks;
	while (kind == RAW_COMMENT && (f->text[item.hi - 1] == ' ' || f->text[item.hi - 1] == '\t'))
		item.hi--;
	vec_push(f->arena, &f->items, item);
}

/* Tokens and comments in the order of the text. */
static void collect(struct format *f, const struct tokens *tokens, const struct scan *scan)
{
	uint32_t c = 0;
	for (uint32_t t = 0; t < tokens->list.n; t++) {
		struct token token = tokens->list.at[t];
		for (; c < scan->raw.n && scan->raw.at[c].lo < token.lo; c++)
			if (scan->raw.at[c].kind == RAW_COMMENT)
				add_item(f, scan->raw.at[c].lo, scan->raw.at[c].hi, RAW_COMMENT);
		if (token.kind != TOK_NL && token.kind != 0)
			add_item(f, token.lo, token.hi, token.kind);
	}
}

static void match_brackets(struct format *f)
{
	uint32_t open[NEST_LIMIT], depth = 0;
	for (uint32_t i = 0; i < f->items.n; i++) {
		struct item *item = &f->items.at[i];
		if (item->kind == '{' || item->kind == '(' || item->kind == '[') {
			open[depth++] = i;
		} else if (item->kind == '}' || item->kind == ')' || item->kind == ']') {
			item->match = open[--depth];
			f->items.at[item->match].match = i;
		}
	}
}

static bool on_one_line(const struct format *f, uint32_t lo, uint32_t hi)
{
	for (uint32_t i = lo + 1; i <= hi; i++)
		if (f->items.at[i].breaks)
			return false;
	return true;
}

static void need_break(struct format *f, uint32_t i)
{
	struct item *item = &f->items.at[i];
	if (item->breaks == 0 && item->kind != RAW_COMMENT)
		item->breaks = 1;
}

/* A block that goes over several lines has its braces at line ends; no blank line stands inside
 * them, nor at the start of the file. */
static void settle_blocks(struct format *f)
{
	for (uint32_t i = 0; i < f->items.n; i++) {
		struct item *item = &f->items.at[i];
		if (item->kind != '{' || on_one_line(f, i, item->match))
			continue;
		need_break(f, i + 1);
		need_break(f, item->match);
		if (f->items.at[i + 1].breaks)
			f->items.at[i + 1].breaks = 1;
		f->items.at[item->match].breaks = 1;
	}
	if (f->items.n)
		f->items.at[0].breaks = 0;
}

/* One statement a line within the block that opens at `open`. */
static void break_block(struct format *f, uint32_t open)
{
	struct item *items = f->items.at;
	uint32_t close = items[open].match;
	need_break(f, open + 1);
	need_break(f, close);
	for (uint32_t i = open + 1; i < close; i++) {
		if (items[i].kind == '{' || items[i].kind == '(' || items[i].kind == '[') {
			i = items[i].match;
		} else if (items[i].kind == TOK_SEP) {
			items[i].drop = true;
			need_break(f, i + 1);
		}
	}
}

/* Index after the last item of the line that starts at `first`. */
static uint32_t line_end(const struct format *f, uint32_t first)
{
	uint32_t i = first + 1;
	while (i < f->items.n && !f->items.at[i].breaks)
		i++;
	return i;
}

static uint32_t line_width(const struct format *f, uint32_t first, uint32_t end)
{
	uint32_t width = 0;
	for (uint32_t i = first; i < end && f->items.at[i].kind != RAW_COMMENT; i++) {
		if (f->items.at[i].drop)
			continue;
		width += format_width(f, i) + (i > first && format_space(f, i - 1, i));
	}
	return width;
}

/* Breaks one-line blocks of lines that are too long, the outermost first. */
static void settle_widths(struct format *f)
{
	uint32_t depth = 0;
	for (uint32_t first = 0; first < f->items.n;) {
		uint32_t end = line_end(f, first);
		uint32_t open = end;
		if (FORMAT_INDENT * depth + line_width(f, first, end) > FORMAT_COLUMNS)
			for (open = first; open < end; open++)
				if (f->items.at[open].kind == '{' &&
				    f->items.at[open].match < end &&
				    f->items.at[open].match > open + 1)
					break;
		if (open < end) {
			break_block(f, open);
			continue;
		}
		for (; first < end; first++)
			depth += (f->items.at[first].kind == '{') -
				 (uint32_t)(f->items.at[first].kind == '}');
	}
}

bool format_source(const struct source *source, struct work *work, struct text *out)
{
	uint32_t errors = work->diags->errors;
	struct scan scan = {.arena = work->scratch};
	struct format format = {.text = source->text, .arena = work->scratch};
	struct tokens tokens = {0};
	parse(source, work);
	if (work->diags->errors > errors)
		return false;
	scan_source(source, &scan);
	lines(source, &scan, work, &tokens);
	collect(&format, &tokens, &scan);
	match_brackets(&format);
	settle_blocks(&format);
	settle_widths(&format);
	format_lines(&format, out);
	return true;
}
