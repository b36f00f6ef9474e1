/* SPDX-License-Identifier: Apache-2.0 */
/* Line structure. Braces are matched plainly first. Only if they do not balance a second, strict
 * reading lets indentation say which brace was forgotten; the reading with fewer faults counts, so
 * a file that is merely indented oddly is never refused. */
#include "syntax/parser.h"
#include "plan_parser.h"
#include "syntax/report.h"

#include "base/text.h"

struct open {
	int kind; /* { ( [ */
	uint32_t lo;
	uint32_t indent; /* of the line it stands on */
	bool accused;	 /* a wrong closer was reported already */
};

/* A line with a deeper line after it although it opens nothing. */
struct suspect {
	struct span end; /* of its last token */
	uint32_t indent;
};

struct reading {
	const char *text;
	const struct source *source;
	struct work *work;
	const struct scan *scan;
	struct tokens out;
	VEC(struct fault) faults;
	uint32_t braces; /* faults of braces among them */
	struct open open[NEST_LIMIT];
	uint32_t depth;
	uint32_t indent;     /* of the current line */
	uint32_t line_start; /* offset */
	uint32_t last_extra; /* end of the last closing bracket that closes nothing */
	struct suspect suspect;
	bool strict;
	bool muted; /* the grammar is not to speak about this line */
	bool torn;  /* a string ran to the end of the line: what it swallowed is not reported */
	bool first; /* nothing but comments on this line yet */
	bool documented;
	struct text doc;
};

static void emit(struct reading *r, int kind, uint32_t lo, uint32_t hi)
{
	vec_push(r->work->scratch, &r->out.list, (struct token){lo, hi, kind});
}

static int last_kind(const struct reading *r)
{
	return r->out.list.n ? r->out.list.at[r->out.list.n - 1].kind : 0;
}

static uint32_t last_end(const struct reading *r)
{
	return r->out.list.n ? r->out.list.at[r->out.list.n - 1].hi : 0;
}

/* A run of closing brackets is one fault. */
static bool extra_again(const struct reading *r, enum fault_kind kind, uint32_t lo)
{
	const struct fault *last = r->faults.n ? &r->faults.at[r->faults.n - 1] : NULL;

	return kind == FAULT_EXTRA && last && last->kind == kind && r->last_extra == lo;
}

static void fault_with(struct reading *r, enum fault_kind kind, uint32_t lo, uint32_t hi,
		       struct span other)
{
	struct fault one = {kind, parser_span(r->source, lo, hi), other};
	bool again = extra_again(r, kind, lo);

	if (kind == FAULT_EXTRA)
		r->last_extra = hi;
	if (again)
		return;
	vec_push(r->work->scratch, &r->faults, one);
	r->muted |= kind == FAULT_LINE_START || kind == FAULT_DEEP || kind == FAULT_STRAY ||
		    kind == FAULT_STRING || (kind == FAULT_EXTRA && r->text[lo] != '}');
}

static void fault(struct reading *r, enum fault_kind kind, uint32_t lo, uint32_t hi)
{
	fault_with(r, kind, lo, hi, (struct span){0, 0});
}

static const struct open *top(const struct reading *r)
{
	return r->depth ? &r->open[r->depth - 1] : NULL;
}

static bool in_round(const struct reading *r)
{
	return r->depth && top(r)->kind != '{';
}

static int closer_of(int kind)
{
	return kind == '{' ? '}' : kind == '(' ? ')' : ']';
}

/* Closes the innermost bracket, which nothing in the text closes. `other`: the token that showed
 * it, or NULL. */
static void close_missing(struct reading *r, const struct raw *other)
{
	const struct open *open = top(r);
	struct span at = {0, 0};
	if (other)
		at = parser_span(r->source, other->lo, other->hi);
	if (!r->torn && !open->accused) {
		fault_with(r, FAULT_UNCLOSED, open->lo, open->lo + 1, at);
		r->braces += open->kind == '{';
	}
	emit(r, closer_of(open->kind), last_end(r), last_end(r));
	r->depth--;
}

static void end_line(struct reading *r)
{
	uint32_t at = last_end(r);
	if (r->out.list.n && last_kind(r) != TOK_NL)
		emit(r, TOK_NL, at, at < r->source->length ? at + 1 : at);
}

bool parser_joins(int kind)
{
	switch (kind) {
	case '+':
	case '-':
	case '*':
	case '/':
	case '<':
	case '>':
	case TOK_EQ:
	case TOK_NE:
	case TOK_LE:
	case TOK_GE:
	case TOK_ELSE:
		return true;
	default:
		return false;
	}
}

/* A statement goes on in the next line after these. */
static bool goes_on(int kind)
{
	return kind == '{' || kind == ',' || kind == TOK_SEP || parser_joins(kind);
}

/* No line starts with these. */
static bool belongs_above(int kind)
{
	switch (kind) {
	case '{':
	case '=':
	case TOK_ARROW:
		return true;
#define WORD(token, text, starts)                                                                  \
	case TOK_##token:                                                                          \
		return !(starts);
#include "syntax/words.def"
#undef WORD
	default:
		return goes_on(kind) && kind != ',';
	}
}

static uint32_t indent_of(const struct reading *r, uint32_t at)
{
	uint32_t indent = 0;
	for (uint32_t i = r->line_start; i < at; i++)
		indent = r->text[i] == '\t' ? (indent / 8 + 1) * 8 : indent + 1;
	return indent;
}

static void take_doc(struct reading *r, uint32_t at)
{
	if (r->documented) {
		struct doc doc = {at, name_get(r->work->names, r->doc.at, r->doc.length)};
		vec_push(r->work->scratch, &r->out.docs, doc);
	}
	r->documented = false;
}

static void suspect(struct reading *r, uint32_t indent)
{
	uint32_t n = r->out.list.n;
	if (n < 2 || last_kind(r) != TOK_NL || indent <= r->indent)
		return;
	struct token last = r->out.list.at[n - 2];
	r->suspect = (struct suspect){parser_span(r->source, last.lo, last.hi), r->indent};
}

/* True if a word at the start of a line is used as if it were a name. */
static bool used_as_name(const struct raw *raw)
{
	return raw->kind > 255 && (raw[1].kind == '=' || raw[1].kind == ':' || raw[1].kind == '.');
}

/* The first token of a line: it may show that brackets of earlier lines were forgotten. */
static void start_line(struct reading *r, const struct raw *raw)
{
	uint32_t indent = indent_of(r, raw->lo);
	bool closes = raw->kind == ')' || raw->kind == ']';
	suspect(r, indent);
	r->first = false;
	r->indent = indent;
	if (in_round(r) && !closes && r->indent <= top(r)->indent) {
		while (in_round(r) && r->indent <= top(r)->indent)
			close_missing(r, NULL);
		if (!in_round(r) && !goes_on(last_kind(r)))
			end_line(r);
	}
	while (r->strict && r->depth && top(r)->kind == '{' && raw->kind != '}' && !closes &&
	       r->indent <= top(r)->indent) {
		close_missing(r, NULL);
		end_line(r);
	}
	r->torn = false;
	if (last_kind(r) == TOK_NL && belongs_above(raw->kind) && !used_as_name(raw)) {
		fault(r, FAULT_LINE_START, raw->lo, raw->hi);
		r->out.list.n--;
	}
	if (raw->kind != '}')
		take_doc(r, raw->lo);
	r->documented = false;
}

static void open_bracket(struct reading *r, const struct raw *raw)
{
	r->open[r->depth++] = (struct open){raw->kind, raw->lo, r->indent, false};
	emit(r, raw->kind, raw->lo, raw->hi);
}

static void close_round(struct reading *r, const struct raw *raw)
{
	uint32_t match = r->depth;
	while (match && r->open[match - 1].kind != '{' &&
	       closer_of(r->open[match - 1].kind) != raw->kind)
		match--;
	if (!match || r->open[match - 1].kind == '{') {
		struct span still = {0, 0};
		if (in_round(r)) {
			still = parser_span(r->source, top(r)->lo, top(r)->lo + 1);
			r->open[r->depth - 1].accused = true;
		}
		fault_with(r, FAULT_EXTRA, raw->lo, raw->hi, still);
		return;
	}
	while (r->depth > match)
		close_missing(r, NULL);
	emit(r, raw->kind, raw->lo, raw->hi);
	r->depth--;
}

static void close_brace(struct reading *r, const struct raw *raw, bool first)
{
	while (in_round(r))
		close_missing(r, NULL);
	if (!r->depth || (r->strict && first && r->indent > top(r)->indent)) {
		bool known = first && r->suspect.indent == r->indent;
		fault_with(r, FAULT_EXTRA, raw->lo, raw->hi,
			   known ? r->suspect.end : (struct span){0, 0});
		r->suspect.end = (struct span){0, 0};
		r->braces++;
		return;
	}
	while (r->strict && first && r->depth > 1 && top(r)->indent > r->indent &&
	       r->open[r->depth - 2].indent >= r->indent && r->open[r->depth - 2].kind == '{')
		close_missing(r, raw);
	emit(r, '}', raw->lo, raw->hi);
	r->depth--;
}

static const struct raw *raw_at(const struct reading *r, uint32_t i)
{
	static const struct raw none;
	return i < r->scan->raw.n ? &r->scan->raw.at[i] : &none;
}

/* A word after a number. Returns how many raw tokens it took. */
static uint32_t after_number(struct reading *r, uint32_t i)
{
	const struct raw *word = raw_at(r, i), *slash = raw_at(r, i + 1), *per = raw_at(r, i + 2);
	const char *text = r->text + word->lo;
	bool rate = slash->kind == '/' && slash->lo == word->hi && per->kind == TOK_NAME &&
		    per->lo == slash->hi;
	uint32_t n = r->out.list.n;
	if (rate && scan_unit(text, per->hi - word->lo)) {
		emit(r, TOK_UNIT, word->lo, per->hi);
		return 3;
	}
	if (scan_unit(text, word->hi - word->lo)) {
		emit(r, TOK_UNIT, word->lo, word->hi);
		return 1;
	}
	if (n > 1 && r->out.list.at[n - 2].kind == TOK_NAME) {
		emit(r, TOK_NAME, word->lo, word->hi);
		return 1;
	}
	rate = rate && per->hi - per->lo == 1 && r->text[per->lo] == 's';
	uint32_t hi = rate ? per->hi : word->hi;
	if (raw_at(r, i - 1)->kind != RAW_STRAY)
		fault(r, FAULT_UNIT, word->lo, hi);
	emit(r, TOK_BAD_UNIT, word->lo, hi);
	return rate ? 3 : 1;
}

static void percent(struct reading *r, const struct raw *raw)
{
	if (last_kind(r) == TOK_NUMBER)
		emit(r, TOK_UNIT, raw->lo, raw->hi);
	else
		fault(r, FAULT_PERCENT, raw->lo, raw->hi);
}

static void separator(struct reading *r, uint32_t i)
{
	const struct raw *raw = raw_at(r, i);
	int next = raw_at(r, i + 1)->kind;
	if (raw->kind == RAW_SEMICOLON) {
		fault(r, FAULT_SEMICOLON, raw->lo, raw->hi);
		if (next == TOK_NL || next == RAW_COMMENT || next == 0)
			return;
	}
	emit(r, in_round(r) ? ',' : TOK_SEP, raw->lo, raw->hi);
}

static void comment(struct reading *r, const struct raw *raw)
{
	const char *text = r->text + raw->lo;
	uint32_t length = raw->hi - raw->lo;
	if (!r->first || length < 3 || text[2] != '/' || (length > 3 && text[3] == '/'))
		return;
	uint32_t skip = length > 3 && text[3] == ' ' ? 4 : 3;
	while (length > skip && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;
	if (r->documented)
		text_raw(&r->doc, "\n", 1);
	else
		r->doc = text_new(r->work->scratch);
	text_raw(&r->doc, text + skip, length - skip);
	r->documented = true;
}

static void mute(struct reading *r, uint32_t end)
{
	struct muted muted = {r->line_start, end};
	if (r->muted)
		vec_push(r->work->scratch, &r->out.muted, muted);
	r->muted = false;
}

static void new_line(struct reading *r, const struct raw *raw)
{
	mute(r, raw->hi);
	if (!in_round(r) && !goes_on(last_kind(r)))
		end_line(r);
	r->first = true;
	r->line_start = raw->hi;
}

/* Raw tokens from `i` to the end of the line. */
static uint32_t rest_of_line(const struct reading *r, uint32_t i)
{
	uint32_t end = i;

	while (raw_at(r, end)->kind != TOK_NL && raw_at(r, end)->kind != 0)
		end++;
	return end - i;
}

/* What stands for a text that has no meaning. After a `#` that is the rest of the line: a comment,
 * in the habit of other languages. Returns how many raw tokens it took. */
static uint32_t faulty(struct reading *r, uint32_t i)
{
	const struct raw *raw = raw_at(r, i);
	if (raw->kind == RAW_OPEN_STRING) {
		fault(r, FAULT_STRING, raw->lo, raw->hi);
		emit(r, TOK_STRING, raw->lo, raw->hi);
		r->torn = true;
	} else if (raw->kind == RAW_BAD_NUMBER) {
		fault(r, FAULT_NUMBER, raw->lo, raw->hi);
		emit(r, TOK_BAD, raw->lo, raw->hi);
	} else {
		fault(r, FAULT_STRAY, raw->lo, raw->hi);
		return r->text[raw->lo] == '#' ? rest_of_line(r, i) : 1;
	}
	return 1;
}

/* One token that is neither line end nor comment. Returns how many raw tokens it took. */
static uint32_t take(struct reading *r, uint32_t i)
{
	const struct raw *raw = raw_at(r, i);
	bool first = r->first;
	if (first)
		start_line(r, raw);
	switch (raw->kind) {
	case '{':
	case '(':
	case '[':
		open_bracket(r, raw);
		return 1;
	case '}':
		close_brace(r, raw, first);
		return 1;
	case ')':
	case ']':
		close_round(r, raw);
		return 1;
	case ',':
	case RAW_SEMICOLON:
		separator(r, i);
		return 1;
	case RAW_PERCENT:
		percent(r, raw);
		return 1;
	case TOK_NAME:
		if (last_kind(r) == TOK_NUMBER)
			return after_number(r, i);
		break;
	case RAW_OPEN_STRING:
	case RAW_BAD_NUMBER:
	case RAW_STRAY:
		return faulty(r, i);
	default:
		break;
	}
	emit(r, raw->kind, raw->lo, raw->hi);
	return 1;
}

static bool opens(int kind)
{
	return kind == '{' || kind == '(' || kind == '[';
}

static void read_all(struct reading *r)
{
	r->first = true;
	for (uint32_t i = 0; raw_at(r, i)->kind != 0;) {
		const struct raw *raw = raw_at(r, i);
		if (opens(raw->kind) && r->depth == NEST_LIMIT) {
			fault(r, FAULT_DEEP, raw->lo, raw->hi);
			r->torn = true;
			break;
		}
		if (raw->kind == TOK_NL)
			new_line(r, raw);
		else if (raw->kind == RAW_COMMENT)
			comment(r, raw);
		else
			i += take(r, i) - 1;
		i++;
	}
	while (r->depth)
		close_missing(r, NULL);
	end_line(r);
	mute(r, r->source->length);
	emit(r, 0, r->source->length, r->source->length);
}

void lines(const struct source *source, const struct scan *scan, struct work *work,
	   struct tokens *out)
{
	struct reading plain = {.text = source->text, .source = source, .work = work, .scan = scan};
	struct reading strict = plain;
	struct reading *chosen = &plain;
	read_all(&plain);
	if (plain.braces) {
		strict.strict = true;
		read_all(&strict);
		if (strict.braces <= plain.braces)
			chosen = &strict;
	}
	for (uint32_t i = 0; i < chosen->faults.n; i++)
		report_fault(work, chosen->faults.at[i]);
	*out = chosen->out;
}
