/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/parse.h"

#include <string.h>

#include "base/utf8.h"
#include "syntax/parser.h"
#include "plan_parser.h"
#include "syntax/report.h"

int plan_yylex(PLAN_YYSTYPE *value, struct span *span, struct parser *parser);

struct span parser_span(const struct source *source, uint32_t lo, uint32_t hi)
{
	return (struct span){source->start + lo, source->start + hi};
}

bool scan_unit(const char *text, uint32_t length)
{
	static const char *const units[] = {
#define UNIT(text, type, scale) text,
#include "syntax/units.def"
#undef UNIT
	};
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strlen(units[i]) == length && memcmp(units[i], text, length) == 0)
			return true;
	return false;
}

uint32_t scan_utf8(const char *text, uint32_t length)
{
	uint32_t at = 0, code;
	while (at < length) {
		uint32_t bytes = utf8_decode(text + at, length - at, &code);
		if (!bytes || !code)
			break;
		at += bytes;
	}
	return at;
}

/* Resolves escapes. A faulty string gives NODE_ERROR, with its text as name. */
static struct node *string_node(struct parser *parser, struct token token, struct span span)
{
	const char *text = parser->source->text;
	bool closed = token.hi - token.lo > 1 && text[token.hi - 1] == '"';
	uint32_t end = closed ? token.hi - 1 : token.hi;
	char *out = arena_alloc(parser->work->scratch, end - token.lo + 1);
	size_t length = 0;
	bool whole = closed;
	for (uint32_t i = token.lo + 1; i < end; i++) {
		if (text[i] != '\\') {
			out[length++] = text[i];
			continue;
		}
		i++;
		if (i < end && (text[i] == '"' || text[i] == '\\'))
			out[length++] = text[i];
		else if (i < end && text[i] == 'n')
			out[length++] = '\n';
		else {
			whole = false;
			if (closed)
				report_escape(parser->work,
					      parser_span(parser->source, i - 1, i + 1));
		}
	}
	struct node *node = node_new(parser, whole ? NODE_STRING : NODE_ERROR, span);
	node->name = name_get(parser->work->names, out, length);
	return node;
}

/* The next token with its value; spans are offsets of the whole offset space. */
int plan_yylex(PLAN_YYSTYPE *value, struct span *span, struct parser *parser)
{
	struct token token = parser->tokens.list.at[parser->next];
	const char *text = parser->source->text + token.lo;
	uint32_t length = token.hi - token.lo;
	struct decimal number;
	parser->handed = parser->next;
	if (token.kind != 0)
		parser->next++;
	*span = parser_span(parser->source, token.lo, token.hi);
	switch (token.kind) {
	case TOK_NAME:
	case TOK_UNIT:
		value->TOK_NAME = name_get(parser->work->names, text, length);
		value->TOK_UNIT = value->TOK_NAME;
		break;
	case TOK_STRING:
		value->TOK_STRING = string_node(parser, token, *span);
		break;
	case TOK_NUMBER:
		if (!decimal_parse(text, length, &number)) {
			report_fault(parser->work,
				     (struct fault){.kind = FAULT_NUMBER, .at = *span});
			return TOK_BAD;
		}
		struct decimal *kept = ARENA_NEW(parser->work->keep, struct decimal);
		*kept = number;
		value->TOK_NUMBER = kept;
		break;
	default:
		break;
	}
	return token.kind;
}

struct node *parse(const struct source *source, struct work *work)
{
	struct scan scan = {.arena = work->scratch};
	struct parser parser = {.work = work, .source = source};
	uint32_t bad = scan_utf8(source->text, source->length);
	if (bad < source->length)
		report_byte(work, parser_span(source, bad, bad + 1));
	scan_source(source, &scan);
	lines(source, &scan, work, &parser.tokens);
	parser_run(&parser);
	if (!parser.file)
		parser.file = node_new(&parser, NODE_FILE, (struct span){0, 0});
	parser.file->span = parser_span(source, 0, source->length);
	return parser.file;
}
