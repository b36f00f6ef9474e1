/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/emit_text.h"

#include <ctype.h>
#include <string.h>

#include "base/bug.h"
#include "base/num.h"
#include "base/utf8.h"
#include "emit/version.h"

enum { COMMENT_COLUMNS = 86 }; /* of a comment inside a function, its marks left out */

void emit_head(struct emitter *e, const char *what)
{
	text_add(e->out,
		 "/* %s of plan `%s` (%s), written by planc %s.\n"
		 " * Do not edit: change the plan. */\n",
		 what, e->plan->name->text, emit_comment(e, e->plan->source->path), PLANC_VERSION);
}

uint64_t emit_part(struct emitter *e, uint32_t dim, uint32_t cuts)
{
	uint64_t ranks = factors_ranks(&e->program->flow->factors, cuts);
	return e->program->graph->model->dims[dim].padded % ranks ? ranks : 1;
}

char *emit_size(struct emitter *e, const struct size *size)
{
	char *text = arena_text(e->arena, "%lld", (long long)size->value);
	uint64_t over = 1;
	for (uint32_t i = 0; i < size->dims.n; i++) {
		uint64_t part = emit_part(e, size->dims.at[i], size->cuts[i]);
		const char *dim = emit_dim(e, size->dims.at[i], size->logical,
					   part == 1 ? size->cuts[i] : 0);
		text = arena_text(e->arena, i ? "%s * %s" : "%s%s", i ? text : "", dim);
		over *= part;
	}
	if (over > 1)
		text = arena_text(e->arena, "%s / %llu", text, (unsigned long long)over);
	if (size->dims.n && size->factor != 1)
		text = arena_text(e->arena, "%lld * %s", (long long)size->factor, text);
	if (size->index_in)
		text = arena_text(e->arena, "rt_index(rt, %s) * %s",
				  emit_group(e, size->index_in), text);
	return text;
}

char *emit_buffer_shape(struct emitter *e, const struct buffer *b)
{
	const struct factors *factors = &e->program->flow->factors;
	struct text out = text_new(e->arena);
	text_add(&out, "%s [", graph_type_name(b->type));
	for (uint32_t i = 0; i < b->dims.n; i++) {
		const struct dim *d = &e->program->graph->model->dims[b->dims.at[i]];
		uint32_t cuts = spread_cuts(&b->spread, factors, b->dims.at[i]);
		text_add(&out, "%s%s %llu", i ? ", " : "", d->name->text,
			 (unsigned long long)d->padded);
		if (cuts)
			text_add(&out, " / %llu", (unsigned long long)factors_ranks(factors, cuts));
	}
	if (b->dims.n == 0)
		text_add(&out, "%llu", (unsigned long long)b->elements);
	text_add(&out, "]");
	return out.at;
}

char *emit_string(struct emitter *e, const char *string)
{
	struct text text = text_new(e->arena);
	text_raw(&text, "\"", 1);
	for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
		char piece[8] = {(char)*c, 0};
		if (*c == '"' || *c == '\\' || *c == '?') {
			piece[0] = '\\';
			piece[1] = (char)*c;
		} else if (*c < 0x20 || *c >= 0x7f) {
			piece[0] = '\\';
			piece[1] = (char)('0' + (*c >> 6));
			piece[2] = (char)('0' + (*c >> 3 & 7));
			piece[3] = (char)('0' + (*c & 7));
		}
		text_raw(&text, piece, strlen(piece));
	}
	text_raw(&text, "\"", 1);
	return text.at;
}

char *emit_double(struct emitter *e, double value)
{
	char *text = num_double(e->arena, value);
	return strpbrk(text, ".eEn") ? text : arena_text(e->arena, "%s.0", text);
}

const char *emit_type(enum rt_type type)
{
	static const char *const names[] = {
		[RT_F32] = "float",  [RT_F64] = "double",  [RT_BF16] = "uint16_t",
		[RT_I32] = "int32_t", [RT_I64] = "int64_t", [RT_U8] = "uint8_t",
	};
	return names[type];
}

const char *emit_suffix(enum rt_type type)
{
	static const char *const names[] = {[RT_F32] = "f32", [RT_F64] = "f64", [RT_BF16] = "bf16"};
	BUG_IF(type > RT_BF16, "no reference kernel of type %d", (int)type);
	return names[type];
}

const char *emit_rt_type(enum rt_type type)
{
	static const char *const names[] = {
#define RT_TYPE(name, bytes, text) "RT_" #name,
#include "rt/types.def"
#undef RT_TYPE
	};
	return names[type];
}

char *emit_comment(struct emitter *e, const char *text)
{
	struct text out = text_new(e->arena);
	for (size_t left = strlen(text); left;) {
		struct glyph glyph = utf8_glyph(text, left);
		char c = *text, next = left > 1 ? text[1] : '\0';
		text_raw(&out, glyph.text, strlen(glyph.text));
		if ((c == '*' && next == '/') || (c == '/' && next == '*') ||
		    (c == '?' && next == '?') || c == '\\')
			text_raw(&out, " ", 1);
		text += glyph.bytes;
		left -= glyph.bytes;
	}
	return out.length ? out.at : arena_text(e->arena, "%s", "");
}

/* A source line without its blanks and its own comment, as a comment. */
static char *source_text(struct emitter *e, const char *line, uint32_t length)
{
	struct text text = text_new(e->arena);
	bool string = false;
	uint32_t start = 0;
	while (start < length && isspace((unsigned char)line[start]))
		start++;
	for (uint32_t i = start; i < length; i++) {
		char next = i + 1 < length ? line[i + 1] : '\0', c = line[i];
		if (c == '"')
			string = !string;
		if (!string && c == '/' && next == '/')
			break;
		bool blank = (unsigned char)c <= 0x20;
		if (blank && !string && text.length && text.at[text.length - 1] == ' ')
			continue;
		text_raw(&text, blank ? " " : &c, 1);
	}
	while (text.length && text.at[text.length - 1] == ' ')
		text.at[--text.length] = '\0';
	return emit_comment(e, text.length ? text.at : "");
}

/* Cuts a line of text at a space so that it has at most `columns` bytes, `...` included. */
static char *cut(char *text, size_t columns)
{
	size_t n = columns > COMMENT_COLUMNS ? 16 : columns;
	if (n < 16)
		n = 16;
	if (strlen(text) <= n)
		return text;
	n -= 4;
	while (n > 8 && text[n] != ' ')
		n--;
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	memcpy(text + n, " ...", 5);
	return text;
}

void emit_source(struct emitter *e, struct span span, const char *prefix)
{
	struct position at = sources_position(e->work->sources, span.lo);
	uint32_t length = 0;
	if (!at.source)
		return;
	const char *line = source_line(at.source, at.line, &length);
	const char *where = sources_where(e->work->sources, e->arena, span);
	char *head = arena_text(e->arena, "%s%s", prefix,
				emit_comment(e, where));
	text_add(e->out, "/* %s  %s */\n", head,
		 cut(source_text(e, line, length), COMMENT_COLUMNS - strlen(head)));
}
