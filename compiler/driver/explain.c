/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/explain.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/bug.h"
#include "driver/commands.h"

static const char *const texts[DIAG_CODES] = {
#define EXPLAIN(code, text) [code] = text,
#include "driver/explain.def"
#undef EXPLAIN
};

/* A code, or the name of a lint or error; DIAG_CODES if there is none. */
static int find(const char *what)
{
	for (int i = 0; i < DIAG_CODES; i++)
		if (!strcasecmp(what, diag_row((enum diag_code)i)->code) ||
		    !strcasecmp(what, diag_row((enum diag_code)i)->name))
			return i;
	return DIAG_CODES;
}

static const struct explain_case *find_case(const char *code)
{
	for (const struct explain_case *at = explain_cases; at->code; at++)
		if (!strcmp(at->code, code))
			return at;
	return NULL;
}

/* Words between blanks, lines of at most 92 columns. */
static void add_wrapped(struct text *out, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (column && column + 1 + word > 92) {
			text_raw(out, "\n", 1);
			column = 0;
		}
		text_add(out, "%s%.*s", column ? " " : "", (int)word, text);
		column += word + (column ? 1 : 0);
		text += word + strspn(text + word, " ");
	}
	text_raw(out, "\n", 1);
}

static void add_indented(struct text *out, const char *text)
{
	while (*text) {
		size_t line = strcspn(text, "\n");

		text_add(out, "%s%.*s\n", line ? "    " : "", (int)line, text);
		text += line + (text[line] == '\n');
	}
}

void command_explain(struct session *session)
{
	struct argument what = session->options.operands.at[0];
	const struct explain_case *example;
	const struct diag_row *row;
	struct text *out = &session->out;
	char *meaning;
	int code = find(what.text);

	if (code == DIAG_CODES) {
		diag_note(wrong_operand(session, what, "there is no code `%s`", what.text),
			  "`planc list codes` prints all of them");
		return;
	}
	row = diag_row((enum diag_code)code);
	text_add(out, "%s %s (%s)\n\n", row->code, row->name, diag_level_name(row->level));
	meaning = arena_text(session->work.keep, "%s.", row->meaning);
	*meaning = (char)toupper((unsigned char)*meaning);
	add_wrapped(out, meaning);
	text_raw(out, "\n", 1);
	BUG_IF(!texts[code], "%s has no row in explain.def", row->code);
	add_wrapped(out, texts[code]);
	example = find_case(row->code);
	if (!example)
		return;
	if (*example->plan) {
		text_add(out, "\nExample:\n\n");
		add_indented(out, example->plan);
	}
	text_add(out, "\nplanc says:\n\n");
	add_indented(out, strchr(example->message, '\n') + 1); /* after `exit N` */
}
