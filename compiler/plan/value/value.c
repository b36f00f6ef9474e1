/* SPDX-License-Identifier: Apache-2.0 */
/* Values: types, units, conversion to what a setting wants. Expressions are in value_eval.c. */
#include "plan/value.h"

#include <string.h>

#include "plan/ratio.h"
#include "plan/value/value_type.h"

/* Unit of the smallest piece: `exact` counts items, bytes, seconds, ...; units.def counts time in
 * nanoseconds and shares in percent. */
const struct type_row type_rows[TYPES] = {
	[TYPE_NONE] = {"", "nothing", "a value", "", 1, false, false},
	[TYPE_COUNT] = {"count", "a count", "a whole number", "", 1, true, true},
	[TYPE_FACTOR] = {"factor", "a factor", "a number", "", 1, true, false},
	[TYPE_SHARE] = {"share", "a share", "a share in `%`", "95 %", 100, true, false},
	[TYPE_BYTES] = {"bytes", "an amount of memory", "bytes", "1.5 GiB", 1, true, true},
	[TYPE_RATE] = {"rate", "a rate", "bytes or bits a second", "25 GB/s", 1, true, false},
	[TYPE_FLOPS] = {"flops", "an arithmetic rate", "operations a second", "312 TFLOPS", 1, true,
			false},
	[TYPE_TIME] = {"time", "a time", "a time", "3 us", 1000000000, true, false},
	[TYPE_SEQS] = {"seqs", "a number of sequences", "sequences", "8 seq", 1, true, true},
	[TYPE_TOKENS] = {"tokens", "a number of tokens", "tokens", "1024 tokens", 1, true, true},
	[TYPE_BOOL] = {"bool", "true or false", "`true` or `false`", "true", 1, false, false},
	[TYPE_WORD] = {"word", "a word", "a word", "", 1, false, false},
	[TYPE_STRING] = {"string", "a string", "a string", "\"data/*.txt\"", 1, false, false},
	[TYPE_LIST] = {"list", "a list", "a list", "[1, 2]", 1, false, false},
};

struct unit_row {
	const char *text;
	enum value_type type;
	uint64_t scale;
};

enum {
	unit_bytes = TYPE_BYTES,
	unit_rate = TYPE_RATE,
	unit_flops = TYPE_FLOPS,
	unit_time = TYPE_TIME,
	unit_seqs = TYPE_SEQS,
	unit_tokens = TYPE_TOKENS,
	unit_share = TYPE_SHARE
};

static const struct unit_row units[] = {
#define UNIT(text, type, scale) {text, (enum value_type)unit_##type, UINT64_C(scale)},
#include "syntax/units.def"
#undef UNIT
};

enum { UNITS = sizeof units / sizeof *units };

static const struct unit_row *unit_find(const char *text)
{
	for (uint32_t k = 0; k < UNITS; k++)
		if (!strcmp(units[k].text, text))
			return &units[k];
	return NULL;
}

bool value_unit(const char *text, enum value_type *type, uint64_t *scale)
{
	const struct unit_row *row = unit_find(text);

	if (!row)
		return false;
	*type = row->type;
	*scale = row->scale;
	return true;
}

const char *value_type_name(enum value_type type)
{
	return type_rows[type].name;
}

const char *value_type_word(enum value_type type)
{
	return type_rows[type].word;
}

enum value_type value_type_of(const char *word)
{
	for (int type = TYPE_COUNT; type <= TYPE_BOOL; type++)
		if (!strcmp(type_rows[type].word, word))
			return (enum value_type)type;
	return TYPE_NONE;
}

bool value_settle(struct value *value)
{
	const struct type_row *row = &type_rows[value->type];

	if (row->whole) {
		if (!ratio_to_int(value->exact, &value->i))
			return false;
		value->f = (double)value->i;
		return true;
	}
	value->f = ratio_to_double(value->exact);
	return true;
}

struct value value_count(int64_t count, enum origin origin)
{
	struct value value = {.type = TYPE_COUNT, .origin = origin, .exact = ratio_from(count)};

	value_settle(&value);
	return value;
}

struct value value_word(const struct name *word, enum origin origin)
{
	return (struct value){.type = TYPE_WORD, .origin = origin, .word = word};
}

struct value value_poison(struct span span)
{
	return (struct value){.poisoned = true, .origin = ORIGIN_FILE, .span = span};
}

static struct value literal_number(const char *text)
{
	struct value value = {.type = TYPE_COUNT};
	const char *space = strchr(text, ' ');
	size_t length = space ? (size_t)(space - text) : strlen(text);
	struct decimal number;
	uint64_t scale = 1;

	BUG_IF(!decimal_parse(text, (uint32_t)length, &number), "bad default `%s`", text);
	BUG_IF(space && !value_unit(space + 1, &value.type, &scale), "bad default `%s`", text);
	BUG_IF(!ratio_of(number, scale, type_rows[value.type].per, &value.exact),
	       "bad default `%s`", text);
	if (value.type == TYPE_COUNT && !ratio_whole(value.exact))
		value.type = TYPE_FACTOR;
	BUG_IF(!value_settle(&value), "bad default `%s`", text);
	return value;
}

struct value value_literal(const char *text, struct names *names)
{
	struct value value = {.type = TYPE_BOOL};

	if (!strcmp(text, "true") || !strcmp(text, "false"))
		value.i = text[0] == 't';
	else if (*text >= '0' && *text <= '9' && strcmp(text, "1f1b") != 0)
		value = literal_number(text);
	else
		value = value_word(name_of(names, text), ORIGIN_DEFAULT);
	value.origin = ORIGIN_DEFAULT;
	return value;
}

int value_compare(const struct value *a, const struct value *b)
{
	return ratio_compare(a->exact, b->exact);
}

/* --- conversion ------------------------------------------------------------------------- */

static struct value poison(struct value value, enum value_type want)
{
	value.poisoned = true;
	value.type = want;
	return value;
}

/* What a bare number was meant to be: up to 1 a fraction, from 1 on percent. */
static void note_share(struct diag *diag, struct value value, struct work *work)
{
	struct ratio one = {1, 1}, hundred = {100, 1}, percent;
	int order = ratio_compare(value.exact, one);

	value.type = TYPE_SHARE;
	if (value.exact.top < 0 || ratio_compare(value.exact, hundred) > 0 ||
	    !ratio_div(value.exact, hundred, &percent)) {
		diag_note(diag, "for example `%s`", type_rows[TYPE_SHARE].example);
	} else if (order == 0) {
		diag_note(diag, "write `1 %%` or `100 %%`");
	} else {
		if (order > 0)
			value.exact = percent;
		diag_note(diag, "write `%s`", value_text(&value, work->keep));
	}
}

static struct value refuse_bare(struct value value, enum value_type want, const char *setting,
				struct work *work)
{
	struct diag *diag =
		diag_add(work->diags, E0111, value.span, "`%s` needs a unit", setting);

	if (want == TYPE_BYTES)
		diag_at(diag, "a bare number says neither bytes, MiB nor GiB");
	else if (want == TYPE_SHARE)
		diag_at(diag, "a bare number is not a share");
	else
		diag_at(diag, "expected %s", type_rows[want].expected);
	if (want == TYPE_SHARE)
		note_share(diag, value, work);
	else
		diag_note(diag, "for example `%s`", type_rows[want].example);
	return poison(value, want);
}

static struct value refuse_fraction(struct value value, enum value_type want, const char *setting,
				    struct work *work)
{
	struct diag *diag =
		diag_add(work->diags, E0113, value.span, "`%s` is a whole number", setting);

	diag_at(diag, "this has a fraction");
	return poison(value, want);
}

static struct value refuse_type(struct value value, enum value_type want, const char *setting,
				struct work *work)
{
	struct diag *diag = diag_add(work->diags, E0112, value.span, "`%s` is %s, this is %s",
				     setting, type_rows[want].name, type_rows[value.type].name);

	diag_at(diag, "expected %s", type_rows[want].expected);
	return poison(value, want);
}

struct value value_as(struct value value, enum value_type want, const char *setting,
		      struct work *work)
{
	bool bare = value.type == TYPE_COUNT || value.type == TYPE_FACTOR;
	bool needs_unit = want == TYPE_BYTES || want == TYPE_RATE || want == TYPE_FLOPS ||
			  want == TYPE_TIME || want == TYPE_SHARE;

	if (value.poisoned)
		return poison(value, want);
	if (value.type == want)
		return value;
	if (bare && needs_unit)
		return refuse_bare(value, want, setting, work);
	if (value.type == TYPE_FACTOR && (want == TYPE_COUNT || type_rows[want].whole))
		return refuse_fraction(value, want, setting, work);
	if (!bare || !type_rows[want].number)
		return refuse_type(value, want, setting, work);
	value.type = want;
	value_settle(&value);
	return value;
}

/* --- text ------------------------------------------------------------------------------- */

/* True if the value is at least one such unit, with at most three decimals; with none where two
 * families of units serve one type. */
static bool suits(const struct value *value, const struct unit_row *unit)
{
	bool binary = strchr(unit->text, 'i') != NULL;
	int parts = unit->type == TYPE_BYTES && !binary ? 1 : 1000;
	struct ratio part = {(__int128)unit->scale, parts * (__int128)type_rows[value->type].per};
	struct ratio count;

	/* Rates are printed in decimal bytes, whatever they were written in. */
	if (unit->type == TYPE_RATE && (binary || strstr(unit->text, "bit")))
		return false;
	return ratio_div(value->exact, part, &count) && ratio_whole(count) &&
	       (count.top >= parts || count.top <= -parts);
}

/* The largest unit that suits; else the smallest of the type. */
static const struct unit_row *unit_for(const struct value *value)
{
	const struct unit_row *best = NULL;

	for (uint32_t k = 0; k < UNITS; k++) {
		if (units[k].type != value->type)
			continue;
		if (!best || (suits(value, &units[k]) && units[k].scale > best->scale))
			best = &units[k];
	}
	return best;
}

/* "1e-5" of "1e-05". */
static char *double_text(double value, struct arena *arena)
{
	char *text = num_double(arena, value), *from = strstr(text, "e-0");

	if (from)
		memmove(from + 2, from + 3, strlen(from + 3) + 1);
	return text;
}

#define DIGITS_OF_DOUBLE INT64_C(999999999999999)

/* A fraction as a decimal: exact where it ends after at most 30 places, else the nearest double.
 * Up to 15 digits the double says the same and is shorter. */
static char *ratio_text(struct ratio ratio, struct arena *arena)
{
	__int128 ten = 1;

	for (int places = 0; places <= 30; places++, ten *= 10) {
		__int128 scaled;

		if (ten % ratio.bottom)
			continue;
		if (__builtin_mul_overflow(ratio.top, ten / ratio.bottom, &scaled))
			break;
		if (scaled > INT64_MAX || scaled < -INT64_MAX)
			break;
		if (!places)
			return arena_text(arena, "%lld", (long long)scaled);
		if (scaled > DIGITS_OF_DOUBLE || scaled < -DIGITS_OF_DOUBLE)
			return arena_text(arena, "%llde-%d", (long long)scaled, places);
		break;
	}
	return double_text(ratio_to_double(ratio), arena);
}

static char *number_text(const struct value *value, struct arena *arena)
{
	const struct unit_row *unit = unit_for(value);
	struct ratio count;

	if (!unit || !ratio_div(value->exact,
				(struct ratio){(__int128)unit->scale, type_rows[value->type].per},
				&count))
		return ratio_text(value->exact, arena);
	return arena_text(arena, "%s %s", ratio_text(count, arena), unit->text);
}

/* A string as it is written, quotes and escapes put back. */
static char *string_text(const struct name *word, struct arena *arena)
{
	struct text out = text_new(arena);

	text_raw(&out, "\"", 1);
	for (const char *at = word->text; *at; at++) {
		if (*at == '"' || *at == '\\')
			text_raw(&out, "\\", 1);
		if (*at == '\n')
			text_raw(&out, "\\n", 2);
		else
			text_raw(&out, at, 1);
	}
	text_raw(&out, "\"", 1);
	return out.at;
}

static char *list_text(const struct value *value, struct arena *arena)
{
	struct text out = text_new(arena);

	text_raw(&out, "[", 1);
	for (uint32_t k = 0; k < value->nitems; k++) {
		const char *item = value->items[k].type == TYPE_LIST
					   ? "[...]"
					   : value_text(&value->items[k], arena);

		text_add(&out, "%s%s", k ? ", " : "", item);
	}
	text_raw(&out, "]", 1);
	return out.at;
}

char *value_text(const struct value *value, struct arena *arena)
{
	if (value->type == TYPE_BOOL)
		return arena_text(arena, value->i ? "true" : "false");
	if (value->type == TYPE_WORD)
		return arena_text(arena, "%s", value->word->text);
	if (value->type == TYPE_STRING)
		return string_text(value->word, arena);
	if (value->type == TYPE_LIST)
		return list_text(value, arena);
	if (!type_rows[value->type].number || value->poisoned)
		return arena_text(arena, "?");
	return number_text(value, arena);
}
