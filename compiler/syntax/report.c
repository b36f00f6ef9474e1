/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/report.h"

#include <string.h>

#include "syntax/parser.h"
#include "plan_parser.h"

/* "cluster box" of the line `cluster box {`. */
static const char *opener_text(struct work *work, struct position at)
{
	uint32_t length = 0, lo = 0;
	const char *line = source_line(at.source, at.line, &length);
	while (lo < length && (line[lo] == ' ' || line[lo] == '\t'))
		lo++;
	uint32_t hi = lo;
	while (hi < length && line[hi] != '{')
		hi++;
	while (hi > lo && (line[hi - 1] == ' ' || line[hi - 1] == '\t'))
		hi--;
	return arena_copy(work->keep, line + lo, hi - lo);
}

/* The line above whose indentation the closing bracket has. */
static struct position line_closed(struct work *work, struct span closer)
{
	struct position at = sources_position(work->sources, closer.lo);
	uint32_t column = at.column;
	while (at.line > 1) {
		uint32_t length = 0, lo = 0;
		const char *line = source_line(at.source, --at.line, &length);
		while (lo < length && (line[lo] == ' ' || line[lo] == '\t'))
			lo++;
		if (lo + 1 == column && lo < length && memchr(line, '{', length))
			break;
	}
	return at;
}

static void unclosed(struct work *work, struct fault fault, const char *text)
{
	struct diag *diag =
		diag_add(work->diags, E0104, fault.at, "this `%s` is never closed", text);
	diag_at(diag, "opened here");
	if (!fault.other.hi)
		return;
	struct position line = line_closed(work, fault.other);
	diag_label(diag, fault.other, "stands at the indentation of line %u, so it closes `%s`",
		   line.line, opener_text(work, line));
}

static void extra(struct work *work, struct fault fault, const char *text)
{
	struct diag *diag =
		diag_add(work->diags, E0104, fault.at, "this `%s` closes nothing", text);
	if (*text == '}')
		diag_label(diag, fault.other, "a `{` may be missing after this");
	else
		diag_label(diag, fault.other, "still open here");
}

static void line_start(struct work *work, struct fault fault, const char *text)
{
	struct diag *diag =
		diag_add(work->diags, E0101, fault.at, "a line cannot start with `%s`", text);
	diag_at(diag, "belongs on the line above");
	if (strcmp(text, "{") == 0)
		diag_note(diag, "the `{` of a block stands on the line of its name");
	else if (strchr("+-*/=<>!", text[0]) && strcmp(text, "=") != 0)
		diag_note(diag, "move the operator up: a line that ends in an operator goes on");
	else
		diag_note(diag, "a line goes on only after `{`, `,`, `else` and operators, and "
				"inside ( ) and [ ]");
}

static void stray(struct work *work, struct fault fault, const char *text)
{
	uint32_t length = fault.at.hi - fault.at.lo;
	bool printable = length <= 16;
	struct diag *diag;
	if (scan_utf8(text, length) < length)
		return; /* report_byte told */
	for (const char *c = text; *c; c++)
		printable = printable && *c > ' ' && *c < 0x7f;
	if (!printable || !*text) {
		diag_add(work->diags, E0103, fault.at,
			 "a character that the language has no use for");
		return;
	}
	diag = diag_add(work->diags, E0103, fault.at, "the language has no use for `%s`", text);
	if (*text == '#')
		diag_note(diag, "a comment starts with `//`");
	else if (*text == '\'')
		diag_note(diag, "a string stands between two `\"`");
}

/* True if the text behind `at` goes on with a `=` alone: `at` begins a setting. */
static bool before_equals(struct work *work, struct span at)
{
	const struct source *source = sources_position(work->sources, at.lo).source;
	const char *text = source->text + (at.hi - source->start);
	size_t blanks = strspn(text, " \t");
	return text[blanks] == '=' && text[blanks + 1] != '=';
}

/* The one name that begins with a digit, if what stands at `at`, after a 1, is near it. */
static const char *near_order(struct work *work, struct span at)
{
	static const char *const names[] = {"1f1b"};
	const struct source *source = sources_position(work->sources, at.lo).source;
	uint32_t first = at.lo - source->start;
	if (first == 0 || source->text[first - 1] != '1')
		return NULL;
	at.lo--;
	return name_nearest(sources_text(work->sources, work->scratch, at), names, 1);
}

static void note_comma(struct diag *diag)
{
	diag_note(diag, "statements on one line are parted by `,`");
}

/* What a letter after a number, or before `b`, stands for elsewhere. */
static const struct multiple {
	char letter;
	const char *zeros, *decimal, *binary; /* binary: NULL for what is no amount of memory */
} multiples[] = {
	{'k', "_000", "`kB` (10^3)", "`KiB` (2^10)"},
	{'m', "_000_000", "`MB` (10^6)", "`MiB` (2^20)"},
	{'g', "_000_000_000", "`GB` (10^9)", "`GiB` (2^30)"},
	{'t', "_000_000_000_000", "`TB` (10^12)", "`TiB` (2^40)"},
	{'b', "_000_000_000", NULL, NULL},
};

static const struct multiple *multiple_of(char letter)
{
	for (size_t i = 0; i < sizeof multiples / sizeof multiples[0]; i++)
		if ((letter | 0x20) == multiples[i].letter)
			return &multiples[i];
	return NULL;
}

static void note_bytes(struct diag *diag, const struct multiple *multiple)
{
	if (multiple->binary)
		diag_note(diag, "for bytes, write %s or %s", multiple->decimal, multiple->binary);
}

/* `4k`, `7b`: the number written out, if it is a short one. */
static void note_suffix(struct work *work, struct diag *diag, struct span at,
			const struct multiple *multiple)
{
	const struct source *source = sources_position(work->sources, at.lo).source;
	uint32_t hi = at.lo - source->start, lo;

	while (hi > 0 && source->text[hi - 1] == ' ')
		hi--;
	for (lo = hi; lo > 0 && source->text[lo - 1] >= '0' && source->text[lo - 1] <= '9';)
		lo--;
	if (lo < hi && hi - lo <= 3 && lo > 0 && !strchr("._", source->text[lo - 1]))
		diag_note(diag, "a number has no suffix: write `%.*s%s`", (int)(hi - lo),
			  source->text + lo, multiple->zeros);
	else
		diag_note(diag, "a number has no suffix: write `4%s` for `4%c`", multiple->zeros,
			  multiple->letter);
}

/* True if `text` is a suffix, or an amount of memory with a small `b`. */
static bool note_multiple(struct work *work, struct diag *diag, struct span at, const char *text)
{
	static const char *const bits[] = {"b", "b/s", "bps", "bit", "ib"};
	const struct multiple *multiple = multiple_of(*text);

	if (multiple && !text[1]) {
		note_suffix(work, diag, at, multiple);
		if (multiple->letter != 'k')
			note_bytes(diag, multiple);
		return true;
	}
	for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
		if (!multiple || !multiple->binary || strcmp(text + 1, bits[i]) != 0)
			continue;
		diag_note(diag,
			  "bits and bytes differ by 8, so `%s` is refused everywhere: "
			  "links take `Gbit/s` or `GB/s`",
			  text);
		if (!strchr(text, '/'))
			note_bytes(diag, multiple);
		return true;
	}
	return false;
}

static void unit(struct work *work, struct fault fault, const char *text)
{
	static const char *const units[] = {
#define UNIT(text, type, scale) text,
#include "syntax/units.def"
#undef UNIT
		"within", "across", "over", "else"};
	struct diag *diag = diag_add(work->diags, E0110, fault.at, "`%s` is not a unit", text);
	diag_at(diag, "a unit stands here, or nothing");
	if (note_multiple(work, diag, fault.at, text))
		return;
	if (before_equals(work, fault.at)) {
		note_comma(diag);
		return;
	}
	const char *near = near_order(work, fault.at);
	if (!near)
		near = name_nearest(text, units, sizeof units / sizeof units[0]);
	if (near && text[1])
		diag_note(diag, "a word with a similar name exists: `%s`", near);
}

static void number(struct work *work, struct fault fault, const char *text)
{
	struct diag *diag;
	if (strlen(text) > 40) {
		diag_add(work->diags, E0106, fault.at, "a number of %zu characters is too long",
			 strlen(text));
		return;
	}
	if (strncmp(text, "1f1b", 4) == 0) {
		diag_add(work->diags, E0106, fault.at, "`%s` is neither a number nor a name", text);
		return;
	}
	diag = diag_add(work->diags, E0106, fault.at, "`%s` is not a number", text);
	if (text[0] == '.')
		diag_note(diag, "write `0%s`", text);
	else if (text[strlen(text) - 1] == '.')
		diag_note(diag, "digits stand on both sides of the point");
	else if (strchr(text, '_'))
		diag_note(diag, "a `_` stands between two digits");
	else
		diag_note(diag, "numbers are exact: 38 digits, exponents from -64 to 64");
}

void report_fault(struct work *work, struct fault fault)
{
	const char *text = sources_text(work->sources, work->scratch, fault.at);
	switch (fault.kind) {
	case FAULT_UNCLOSED:
		unclosed(work, fault, text);
		break;
	case FAULT_EXTRA:
		extra(work, fault, text);
		break;
	case FAULT_DEEP:
		diag_add(work->diags, E0108, fault.at, "brackets are nested more than %d deep",
			 NEST_LIMIT);
		break;
	case FAULT_LINE_START:
		line_start(work, fault, text);
		break;
	case FAULT_SEMICOLON:
		diag_note(diag_add(work->diags, E0101, fault.at, "`;` does not end a statement"),
			  "a line ends a statement; on one line, statements are parted by `,`");
		break;
	case FAULT_PERCENT:
		diag_add(work->diags, E0101, fault.at, "`%%` stands only after a number");
		break;
	case FAULT_STRAY:
		stray(work, fault, text);
		break;
	case FAULT_STRING:
		diag_add(work->diags, E0102, fault.at, "this string is not closed on its line");
		break;
	case FAULT_NUMBER:
		number(work, fault, text);
		break;
	case FAULT_UNIT:
		unit(work, fault, text);
		break;
	default:
		break;
	}
}

void report_byte(struct work *work, struct span at)
{
	const char *text = sources_text(work->sources, work->scratch, at);
	struct diag *diag;
	if (*text == '\0') {
		diag_add(work->diags, E0103, at, "the file holds a NUL byte");
		return;
	}
	diag = diag_add(work->diags, E0103, at, "the file is not UTF-8 text");
	diag_at(diag, "byte 0x%02x", (unsigned char)*text);
}

void report_escape(struct work *work, struct span at)
{
	const char *text = sources_text(work->sources, work->scratch, at);
	bool plain = text[1] > ' ' && text[1] < 0x7f;
	struct diag *diag = diag_add(work->diags, E0102, at, "unknown escape%s%s%s in a string",
				     plain ? " `" : "", plain ? text : "", plain ? "`" : "");
	diag_note(diag, "a string knows `\\\"`, `\\\\` and `\\n`");
}

void report_deep(struct parser *parser, struct span span)
{
	parser->deep = true;
	diag_add(parser->work->diags, E0108, span, "this expression is nested too deeply");
}

/* Syntax errors. */

struct expectation {
	const char *const *names;
	int count;
};

static bool expects(struct expectation e, const char *name)
{
	for (int i = 0; i < e.count; i++)
		if (strcmp(e.names[i], name) == 0)
			return true;
	return false;
}

/* Tokens that a class stands for, or that are possible nearly everywhere and tell nothing. */
static bool tells_nothing(const char *name)
{
	static const char *const dull[] = {
		"a number",	"a string",  "a name",	    "of",	   "a faulty value",
		"a wrong unit", "separator", "end of line", "end of file", "true",
		"false",	"rest",	     "'('",	    "'['",	   "'-'",
		"'+'",		"'*'",	     "'/'",	    "'<'",	   "'>'",
		"==",		"!=",	     "<=",	    ">=",	   "'.'",
		"a unit"};
	for (size_t i = 0; i < sizeof dull / sizeof dull[0]; i++)
		if (strcmp(dull[i], name) == 0)
			return true;
	return false;
}

static const char *quoted(struct work *work, const char *name)
{
	if (name[0] == '\'')
		return arena_text(work->scratch, "`%c`", name[1]);
	return arena_text(work->scratch, "`%s`", name);
}

/* "`a`, `b` or `c`" of the names that tell something; NULL if there are none or more than three. */
static const char *choice_text(struct work *work, struct expectation e)
{
	const char *words[4] = {NULL};
	int count = 0;
	if (expects(e, "a name") && !expects(e, "'='"))
		words[count++] = "a name";
	for (int i = 0; i < e.count; i++) {
		if (tells_nothing(e.names[i]))
			continue;
		if (count == 3)
			return NULL;
		words[count++] = quoted(work, e.names[i]);
	}
	const char *out = words[0];
	for (int i = 1; i < count; i++)
		out = arena_text(work->scratch, "%s%s%s", out, i + 1 < count ? ", " : " or ",
				 words[i]);
	return out;
}

/* What fits at a place, in few words. */
static const char *expected_text(struct work *work, struct expectation e)
{
	if (expects(e, "let"))
		return "a statement";
	if (expects(e, "a number") && expects(e, "a string"))
		return "a value";
	const char *choice = choice_text(work, e);
	if (choice)
		return choice;
	if (expects(e, "'='"))
		return "`=`";
	if (expects(e, "end of line"))
		return "end of line";
	if (e.count == 0)
		return "nothing more";
	return e.names[0][0] == 'a' || e.names[0][0] == 'e' ? e.names[0] : quoted(work, e.names[0]);
}

static bool is_word(int kind)
{
	switch (kind) {
#define WORD(token, text, starts) case TOK_##token:
#include "syntax/words.def"
#undef WORD
		return true;
	default:
		return false;
	}
}

static const char *found_text(struct parser *parser, struct token token)
{
	const char *text = parser->source->text + token.lo;
	switch (token.kind) {
	case 0:
		return "end of file";
	case TOK_NL:
		return "end of line";
	case TOK_NUMBER:
	case TOK_BAD:
		return "a number";
	case TOK_STRING:
		return "a string";
	default:
		if (token.hi == token.lo)
			return "end of line";
		if (token.hi - token.lo > 40)
			return "a name";
		return arena_text(parser->work->scratch, "`%.*s`", (int)(token.hi - token.lo),
				  text);
	}
}

static bool ends_statement(int kind)
{
	return kind == TOK_NL || kind == TOK_SEP || kind == '{' || kind == '}' || kind == 0;
}

/* Index of the first token of the statement that holds token `i`. */
static uint32_t statement_start(const struct parser *parser, uint32_t i)
{
	while (i > 0 && !ends_statement(parser->tokens.list.at[i - 1].kind))
		i--;
	return i;
}

static bool spells(const struct parser *parser, struct token token, const char *const *words)
{
	uint32_t length = token.hi - token.lo;
	for (; *words; words++)
		if (strlen(*words) == length &&
		    memcmp(*words, parser->source->text + token.lo, length) == 0)
			return true;
	return false;
}

/* True if the statement begins like a setting whose `=` is missing: `nodes 4`. `after` is then the
 * token after the path, `path` where the path ends. */
static bool lacks_equals(const struct parser *parser, uint32_t at, uint32_t *after)
{
	static const char *const others[] = {
		"data",	   "tensor", "sequence", "pipeline",	 "zero", "context", "expert",
		"cluster", "model",  "device",	 "architecture", "link", "repeat",  NULL};
	const struct token *list = parser->tokens.list.at;
	uint32_t i = statement_start(parser, at);
	if (list[i].kind != TOK_NAME || spells(parser, list[i], others))
		return false;
	for (i++; list[i].kind == '.' && list[i + 1].kind == TOK_NAME;)
		i += 2;
	*after = i;
	if (i > at)
		return false;
	switch (list[i].kind) {
	case TOK_NUMBER:
	case TOK_STRING:
	case TOK_BAD:
	case TOK_TRUE:
	case TOK_FALSE:
	case TOK_REST:
	case '[':
		return true;
	case TOK_NAME:
		return i < at && list[at].kind != TOK_BAD_UNIT && list[at].kind != '=';
	default:
		return false;
	}
}

static void report_no_equals(struct parser *parser, uint32_t after)
{
	const struct token *list = parser->tokens.list.at;
	struct token name = list[after - 1], value = list[after];
	const char *found = value.kind == TOK_NAME ? "a name" : found_text(parser, value);
	struct span at = parser_span(parser->source, value.lo, value.hi);
	struct diag *diag =
		diag_add(parser->work->diags, E0105, at, "expected `=` after `%.*s`, found %s",
			 (int)(name.hi - name.lo), parser->source->text + name.lo, found);
	diag_at(diag, "a setting is written `name = value`");
}

static bool muted(const struct parser *parser, uint32_t at)
{
	uint32_t lo = 0, hi = parser->tokens.muted.n;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (parser->tokens.muted.at[middle].hi < at)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < parser->tokens.muted.n && parser->tokens.muted.at[lo].lo <= at;
}

/* True for an error that follows from one told already: on a line with faults of its bytes, after a
 * wrong unit, or at the start of a statement right after a faulty one. */
static bool follows(const struct parser *parser, uint32_t at)
{
	const struct token *list = parser->tokens.list.at;
	uint32_t start = statement_start(parser, at);
	for (uint32_t i = start; i < at; i++)
		if (list[i].kind == TOK_BAD_UNIT)
			return true;
	if (parser->failed && start == at && at > 0 && !is_word(list[at].kind) &&
	    statement_start(parser, at - 1) <= parser->last_error)
		return true;
	return muted(parser, list[at].lo);
}

/* True if token `at`, a `,`, stands in round brackets that hold no arguments: `= (a, b)`. */
static bool in_plain_round(const struct parser *parser, uint32_t at)
{
	const struct token *list = parser->tokens.list.at;
	int depth = 0;
	if (list[at].kind != ',')
		return false;
	for (uint32_t i = at; i-- > 0 && !ends_statement(list[i].kind);) {
		depth += list[i].kind == ')' || list[i].kind == ']';
		depth -= list[i].kind == '(' || list[i].kind == '[';
		if (depth < 0)
			return list[i].kind == '(' && i > 0 && list[i - 1].kind == '=';
	}
	return false;
}

/* What other languages write here and this one writes otherwise. */
static void note_habit(struct parser *parser, struct diag *diag, uint32_t at)
{
	const struct token *list = parser->tokens.list.at;
	uint32_t start = statement_start(parser, at);
	bool body = list[at].kind == '{' && at > start + 1;
	if (at > start && list[at - 1 - body].kind == ':' && list[start].kind == TOK_NAME)
		diag_note(diag, "a setting is written `name = value`");
	else if (in_plain_round(parser, at))
		diag_note(diag, "a list is written `[a, b]`");
	else if (at > start && list[at].kind == TOK_NAME && list[at + 1].kind == '=')
		note_comma(diag);
}

/* Offset of the end of the line if its first token, the one at `lo`, already is a fault: the rest
 * of such a line is no statement (prose whose comment mark is lost), and nothing more is said of
 * it. */
static uint32_t quiet_line(const struct source *source, uint32_t lo)
{
	const char *text = source->text;
	uint32_t start = lo;
	while (start > 0 && (text[start - 1] == ' ' || text[start - 1] == '\t'))
		start--;
	if (start > 0 && text[start - 1] != '\n')
		return 0;
	return lo + (uint32_t)strcspn(text + lo, "\n");
}

/* A syntax error at the token handed out last. */
void report_unexpected(struct parser *parser, const char *const *expected, int count)
{
	struct expectation e = {expected, count};
	const struct token *list = parser->tokens.list.at;
	uint32_t at = parser->handed;
	uint32_t after = 0;
	struct token token = list[at];
	bool told = follows(parser, at) || token.lo < parser->quiet;
	parser->failed = true;
	parser->last_error = at;
	if (told)
		return;
	parser->quiet = quiet_line(parser->source, token.lo);
	if (lacks_equals(parser, at, &after)) {
		report_no_equals(parser, after);
		return;
	}
	struct span span = parser_span(parser->source, token.lo, token.hi);
	struct diag *diag = diag_add(parser->work->diags, E0101, span, "expected %s, found %s",
				     expected_text(parser->work, e), found_text(parser, token));
	diag_at(diag, "not expected here");
	note_habit(parser, diag, at);
	if (is_word(token.kind) && expects(e, "a name"))
		diag_note(diag, "`%.*s` is a reserved word", (int)(token.hi - token.lo),
			  parser->source->text + token.lo);
}
