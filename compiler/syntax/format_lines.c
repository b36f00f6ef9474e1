/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of items to text: spaces, indentation, aligned `=` and comments. */
#include "syntax/format.h"

#include <string.h>

#include "plan_parser.h"
#include "syntax/parser.h"

#define NO_ITEM UINT32_MAX

struct line {
	uint32_t first, end;	       /* items without the comment at the end */
	uint32_t comment;	       /* item, or NO_ITEM; a line of its own has first == end */
	uint32_t equals;	       /* item of the `=` of its statement, or NO_ITEM */
	uint32_t depth;		       /* of braces */
	uint32_t head;		       /* line its statement starts on */
	uint32_t opener;	       /* line of the ( or [ it stands in, or NO_ITEM */
	bool closes;		       /* starts with the bracket that ends that one */
	bool ends_run;		       /* a block starts or ends here */
	bool blank;		       /* a blank line before */
	uint32_t left;		       /* columns before the `=`, without indentation */
	uint32_t right;		       /* columns from the `=` on, or of all */
	uint32_t pad;		       /* spaces put before the `=` */
	uint32_t indent, value, width; /* columns: start, after `= `, end */
	uint32_t comment_at;
};

struct layout {
	const struct format *format;
	VEC(struct line) lines;
	struct {
		int kind;
		uint32_t line;
	} open[NEST_LIMIT]; /* brackets around the current item */
	uint32_t depth;
};

static bool ends_operand(int kind)
{
	switch (kind) {
	case TOK_NAME:
	case TOK_NUMBER:
	case TOK_UNIT:
	case TOK_STRING:
	case TOK_TRUE:
	case TOK_FALSE:
	case TOK_REST:
	case ')':
	case ']':
		return true;
	default:
		return false;
	}
}

bool format_space(const struct format *format, uint32_t left, uint32_t right)
{
	const struct item *items = format->items.at;
	int before = items[left].kind, after = items[right].kind;
	if (after == ',' || after == TOK_SEP || after == ')' || after == ']' || after == '.' ||
	    after == TOK_DOTS)
		return false;
	if (before == '(' || before == '[' || before == '.' || before == TOK_DOTS)
		return false;
	if (after == '(' && before == TOK_NAME)
		return false;
	if (before == '-')
		return left > 0 && ends_operand(items[left - 1].kind);
	return true;
}

uint32_t format_width(const struct format *format, uint32_t item)
{
	uint32_t width = 0;
	for (uint32_t i = format->items.at[item].lo; i < format->items.at[item].hi; i++)
		width += ((unsigned char)format->text[i] & 0xc0) != 0x80;
	return width;
}

static struct line *last_line(struct layout *l)
{
	return &l->lines.at[l->lines.n - 1];
}

/* True if the items so far leave the statement open at the end of their line. */
static bool left_open(const struct layout *l, uint32_t first)
{
	const struct item *items = l->format->items.at;
	uint32_t i = first;
	while (i > 0 && (items[i - 1].kind == RAW_COMMENT || items[i - 1].drop))
		i--;
	return i > 0 && parser_joins(items[i - 1].kind);
}

static void start_line(struct layout *l, uint32_t first)
{
	struct line line = {.first = first, .end = first, .comment = NO_ITEM, .equals = NO_ITEM};
	const struct item *item = &l->format->items.at[first];
	bool inside = l->depth && l->open[l->depth - 1].kind != '{';
	line.blank = item->breaks > 1;
	line.head = l->lines.n;
	line.opener = inside ? l->open[l->depth - 1].line : NO_ITEM;
	line.closes = inside && (item->kind == ')' || item->kind == ']');
	if (inside || left_open(l, first))
		line.head = last_line(l)->head;
	for (uint32_t i = 0; i < l->depth; i++)
		line.depth += l->open[i].kind == '{';
	line.depth -= item->kind == '}';
	line.ends_run = item->kind == '}';
	vec_push(l->format->arena, &l->lines, line);
}

static void add_to_line(struct layout *l, uint32_t i, uint32_t depth_at_start)
{
	struct line *line = last_line(l);
	int kind = l->format->items.at[i].kind;
	if (kind == RAW_COMMENT) {
		line->comment = i;
		return;
	}
	bool head = line->head == l->lines.n - 1;
	if (kind == '=' && head && line->equals == NO_ITEM && l->depth == depth_at_start)
		line->equals = i;
	if (kind == '{' || kind == '(' || kind == '[') {
		l->open[l->depth].kind = kind;
		l->open[l->depth++].line = l->lines.n - 1;
	} else if (kind == '}' || kind == ')' || kind == ']') {
		l->depth--;
	}
	line->end = i + 1;
	line->ends_run |= kind == '{' && l->format->items.at[i].match != i + 1 &&
			  i + 1 < l->format->items.n && l->format->items.at[i + 1].breaks;
}

static void make_lines(struct layout *l)
{
	uint32_t depth = 0;
	for (uint32_t i = 0; i < l->format->items.n; i++) {
		if (l->format->items.at[i].drop)
			continue;
		if (l->lines.n == 0 || l->format->items.at[i].breaks) {
			start_line(l, i);
			depth = l->depth;
		}
		add_to_line(l, i, depth);
	}
}

static uint32_t columns(const struct layout *l, uint32_t first, uint32_t end)
{
	uint32_t width = 0;
	for (uint32_t i = first; i < end; i++)
		if (!l->format->items.at[i].drop)
			width += format_width(l->format, i) +
				 (i > first && format_space(l->format, i - 1, i));
	return width;
}

static void measure(struct layout *l)
{
	for (uint32_t i = 0; i < l->lines.n; i++) {
		struct line *line = &l->lines.at[i];
		if (line->equals == NO_ITEM) {
			line->right = columns(l, line->first, line->end);
			continue;
		}
		line->left = columns(l, line->first, line->equals);
		line->right = columns(l, line->equals, line->end) + (line->left > 0);
	}
}

/* True for a line that neither has a place in a run nor ends one. */
static bool passes(const struct layout *l, uint32_t i)
{
	const struct line *line = &l->lines.at[i];
	return line->head != i || line->first == line->end;
}

static void align_equals(struct layout *l)
{
	for (uint32_t start = 0, end; start < l->lines.n; start = end) {
		uint32_t most = 0;
		bool open = true;
		for (end = start; end < l->lines.n && open; end++) {
			const struct line *line = &l->lines.at[end];
			bool member = passes(l, end) || line->equals != NO_ITEM;
			if (end > start &&
			    (line->blank || !member || line->depth != l->lines.at[start].depth))
				break;
			if (line->equals != NO_ITEM && line->left > most)
				most = line->left;
			open = member && !line->ends_run;
		}
		for (uint32_t i = start; i < end; i++)
			if (l->lines.at[i].equals != NO_ITEM)
				l->lines.at[i].pad = most - l->lines.at[i].left;
	}
}

/* Columns of each line; a line that goes on stands under the value, or deeper than its bracket. */
static void place_lines(struct layout *l)
{
	for (uint32_t i = 0; i < l->lines.n; i++) {
		struct line *line = &l->lines.at[i];
		const struct line *head = &l->lines.at[line->head];
		line->indent = FORMAT_INDENT * line->depth;
		if (line->opener != NO_ITEM)
			line->indent = l->lines.at[line->opener].indent +
				       (line->closes ? 0 : FORMAT_INDENT);
		else if (line->head != i)
			line->indent = head->equals != NO_ITEM ? head->value
							       : head->indent + 2 * FORMAT_INDENT;
		line->value = line->indent + line->left + line->pad + 3;
		line->width = line->indent + line->left + line->pad + line->right;
	}
}

static void align_comments(struct layout *l)
{
	for (uint32_t start = 0, end; start < l->lines.n; start = end) {
		uint32_t most = 0;
		bool open = true;
		for (end = start; end < l->lines.n && open; end++) {
			const struct line *line = &l->lines.at[end];
			if (end > start &&
			    (line->blank || l->format->items.at[line->first].kind == '}'))
				break;
			if (line->comment != NO_ITEM && line->end > line->first &&
			    line->width > most)
				most = line->width;
			open = !line->ends_run;
		}
		for (uint32_t i = start; i < end; i++)
			l->lines.at[i].comment_at = most + 2;
	}
}

static void put_spaces(struct text *out, uint32_t count)
{
	static const char spaces[] = "                                ";
	for (; count >= sizeof spaces; count -= (uint32_t)sizeof spaces - 1)
		text_raw(out, spaces, sizeof spaces - 1);
	text_raw(out, spaces, count);
}

static void print_item(const struct layout *l, uint32_t i, struct text *out)
{
	const struct item *item = &l->format->items.at[i];
	text_raw(out, l->format->text + item->lo, item->hi - item->lo);
}

static void print_line(const struct layout *l, const struct line *line, struct text *out)
{
	if (line->blank)
		text_raw(out, "\n", 1);
	put_spaces(out, line->indent);
	for (uint32_t i = line->first; i < line->end; i++) {
		if (l->format->items.at[i].drop)
			continue;
		put_spaces(out, i == line->equals ? line->pad : 0);
		if (i > line->first)
			put_spaces(out, format_space(l->format, i - 1, i));
		print_item(l, i, out);
	}
	if (line->comment != NO_ITEM) {
		if (line->end > line->first)
			put_spaces(out, line->comment_at - line->width);
		print_item(l, line->comment, out);
	}
	text_raw(out, "\n", 1);
}

void format_lines(const struct format *format, struct text *out)
{
	struct layout layout = {.format = format};
	make_lines(&layout);
	measure(&layout);
	align_equals(&layout);
	place_lines(&layout);
	align_comments(&layout);
	for (uint32_t i = 0; i < layout.lines.n; i++)
		print_line(&layout, &layout.lines.at[i], out);
}
