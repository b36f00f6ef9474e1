/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const struct command_row command_rows[COMMANDS] = {
#define COMMAND(name, least, most, operands, summary) {#name, operands, summary, least, most},
#define LATER(name)
#include "driver/commands.def"
#undef COMMAND
#undef LATER
};

static const char *const later[] = {
#define COMMAND(name, least, most, operands, summary)
#define LATER(name) #name,
#include "driver/commands.def"
#undef COMMAND
#undef LATER
};

#define ON(name) COMMAND_BIT_##name
#define PLANS COMMAND_BITS_PLANS
#define ALL COMMAND_BITS_ALL
const struct option_row option_rows[] = {
#define OPTION(short, long, kind, field, choices, commands, value, doc)                            \
	{short, long, OPTION_##kind, offsetof(struct options, field), choices, commands,        \
	 value, doc},
#include "driver/options.def"
#undef OPTION
};
#undef ON
#undef PLANS
#undef ALL
const uint32_t option_count = sizeof option_rows / sizeof *option_rows;

/* The command line while it is read. */
struct reader {
	int argc, at;
	char **argv;
	const struct source *source;
	uint32_t *offset; /* of each argument within the source */
	struct options *out;
	struct work *work;
};

const char *word_at(const char *words, int k, size_t *length)
{
	while (k-- > 0) {
		words += strcspn(words, " ");
		words += *words == ' ';
	}
	*length = strcspn(words, " ");
	return *length ? words : NULL;
}

const struct option_row *option_long(const char *name, size_t length)
{
	for (uint32_t i = 0; i < option_count; i++)
		if (length && strlen(option_rows[i].name) == length &&
		    !strncmp(option_rows[i].name, name, length))
			return &option_rows[i];
	return NULL;
}

const struct option_row *option_short(char letter)
{
	for (uint32_t i = 0; i < option_count; i++)
		if (letter && option_rows[i].letter == letter)
			return &option_rows[i];
	return NULL;
}

/* Bytes [from, to) of an argument; to = 0: its end. */
static struct span span_in(const struct reader *reader, int argument, size_t from, size_t to)
{
	uint32_t lo = reader->source->start + reader->offset[argument];

	to = to ? to : strlen(reader->argv[argument]);
	return (struct span){lo + (uint32_t)from, lo + (uint32_t)to};
}

static struct span span_of(const struct reader *reader, int argument)
{
	return span_in(reader, argument, 0, 0);
}

/* The arguments with one blank between; the program's name without its folder. */
static void add_source(struct reader *reader)
{
	struct text text = text_new(reader->work->keep);

	reader->offset = ARENA_ARRAY(reader->work->keep, uint32_t, (size_t)reader->argc + 1);
	text_raw(&text, "planc", 5);
	for (int i = 1; i < reader->argc; i++) {
		text_raw(&text, " ", 1);
		reader->offset[i] = (uint32_t)text.length;
		text_raw(&text, reader->argv[i], strlen(reader->argv[i]));
	}
	reader->source = sources_add(reader->work->sources, "<command line>", text.at, text.length,
				     false);
}

static struct diag *fault(struct reader *reader, struct span span, const char *title)
{
	return diag_add(reader->work->diags, E0602, span, "%s", title);
}

static const char *say(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static const char *say(struct reader *reader, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = arena_vtext(reader->work->keep, format, args);
	va_end(args);
	return text;
}

static bool unknown_option(struct reader *reader, const char *name, struct span span)
{
	const char *names[64];
	const char *near;
	size_t count = 0;
	struct diag *diag = fault(reader, span, say(reader, "there is no option `%s`", name));

	for (uint32_t i = 0; i < option_count && count < 64; i++)
		if (*option_rows[i].name)
			names[count++] = option_rows[i].name;
	near = name_nearest(name + strspn(name, "-"), names, count);
	diag_at(diag, "not known");
	if (near)
		diag_note(diag, "an option with a similar name exists: `--%s`", near);
	if (reader->out->command == COMMAND_run)
		diag_note(diag, "arguments of the program stand behind `--`: "
				"`planc run x.plan -- --steps 3`");
	diag_note(diag, "`planc help` prints all of them");
	return false;
}

static bool set_number(struct reader *reader, const char *text, struct span span, uint32_t *out)
{
	uint64_t value = 0;

	for (const char *at = text; *at; at++) {
		if (*at < '0' || *at > '9' || value > 100000000) {
			diag_at(fault(reader, span, say(reader, "`%s` is not a count", text)),
				"a whole number from 0 on");
			return false;
		}
		value = 10 * value + (uint64_t)(*at - '0');
	}
	*out = (uint32_t)value;
	return true;
}

static bool set_choice(struct reader *reader, const struct option_row *row, const char *text,
		       struct span span, int *out)
{
	const char *word;
	size_t length;
	struct diag *diag;
	struct text all = text_new(reader->work->keep);

	for (int k = 0; (word = word_at(row->choices, k, &length)); k++) {
		if (strlen(text) == length && !strncmp(word, text, length)) {
			*out = k;
			return true;
		}
		text_add(&all, "%s%.*s", k ? ", " : "", (int)length, word);
	}
	diag = fault(reader, span, say(reader, "`--%s` does not take `%s`", row->name, text));
	diag_at(diag, "not one of its words");
	diag_note(diag, "valid values: %s", all.at);
	return false;
}

static bool set_lint(struct reader *reader, char letter, const char *text, struct span span)
{
	bool known = !strcmp(text, "warnings");

	for (int i = 0; i < DIAG_CODES && !known; i++)
		known = diag_row(i)->level == LEVEL_WARNING &&
			(!strcmp(text, diag_row(i)->code) || !strcmp(text, diag_row(i)->name));
	if (!known) {
		struct diag *diag =
			fault(reader, span, say(reader, "there is no lint `%s`", text));

		diag_at(diag, "not known");
		diag_note(diag, "`planc list lints` prints all of them");
		return false;
	}
	vec_push(reader->work->keep, &reader->out->lints,
		 (struct lint){letter, {text, span}});
	return true;
}

static bool other_command(struct reader *reader)
{
	const char *text = reader->argv[reader->at];
	const char *title = say(reader, "`planc %s` does not take `%.*s`",
				command_rows[reader->out->command].name,
				(int)strcspn(text, "="), text);

	fault(reader, span_of(reader, reader->at), title);
	return false;
}

/* `text` is NULL for a flag. */
static bool set_option(struct reader *reader, const struct option_row *row, const char *text,
		       struct span span)
{
	void *field = (char *)reader->out + row->field;
	struct strings *list = field;

	if (!(row->commands & 1u << reader->out->command))
		return other_command(reader);
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return true;
	case OPTION_TEXT:
		*(const char **)field = text;
		return true;
	case OPTION_NUMBER:
		return set_number(reader, text, span, field);
	case OPTION_CHOICE:
		return set_choice(reader, row, text, span, field);
	case OPTION_LIST:
		vec_push(reader->work->keep, list, text);
		return true;
	case OPTION_LINT:
		return set_lint(reader, row->letter, text, span);
	}
	return true;
}

/* The value of an option stands at `from` of this argument, or is the next one. */
static bool take_option(struct reader *reader, const struct option_row *row, size_t from)
{
	int at = reader->at;

	if (row->kind == OPTION_FLAG)
		return set_option(reader, row, NULL, span_of(reader, at));
	if (from)
		return set_option(reader, row, reader->argv[at] + from,
				  span_in(reader, at, from, 0));
	if (at + 1 >= reader->argc) {
		const char *title = say(reader, "`%s` needs a value", reader->argv[at]);

		diag_at(fault(reader, span_of(reader, at), title), "expected %s after it",
			row->value);
		return false;
	}
	if (!set_option(reader, row, reader->argv[at + 1], span_of(reader, at + 1)))
		return false;
	reader->at++;
	return true;
}

static bool take_long(struct reader *reader)
{
	const char *text = reader->argv[reader->at] + 2;
	size_t length = strcspn(text, "=");
	const struct option_row *row = option_long(text, length);
	struct span span = span_in(reader, reader->at, 0, length + 2);

	if (!row)
		return unknown_option(reader, say(reader, "--%.*s", (int)length, text), span);
	if (text[length] && row->kind == OPTION_FLAG) {
		fault(reader, span_in(reader, reader->at, length + 2, 0),
		      say(reader, "`--%s` takes no value", row->name));
		return false;
	}
	return take_option(reader, row, text[length] ? length + 3 : 0);
}

/* Several flags may share a dash; a value may follow its letter at once. */
static bool take_short(struct reader *reader)
{
	const char *text = reader->argv[reader->at];
	int at = reader->at;

	for (size_t i = 1; text[i]; i++) {
		const struct option_row *row = option_short(text[i]);

		if (!row)
			return unknown_option(reader, say(reader, "-%c", text[i]),
					      span_in(reader, at, i, i + 1));
		if (row->kind != OPTION_FLAG)
			return take_option(reader, row, text[i + 1] ? i + 1 : 0);
		set_option(reader, row, NULL, span_of(reader, at));
	}
	return true;
}

static void take_operand(struct reader *reader)
{
	vec_push(reader->work->keep, &reader->out->operands,
		 (struct argument){reader->argv[reader->at], span_of(reader, reader->at)});
}

static bool unknown_command(struct reader *reader, const char *name, struct span span)
{
	const char *names[COMMANDS];
	const char *near;
	struct diag *diag;

	for (uint32_t i = 0; i < sizeof later / sizeof *later; i++) {
		if (strcmp(name, later[i]))
			continue;
		diag = fault(reader, span, say(reader, "`planc %s` is not in this version", name));
		diag_at(diag, "planned, not available yet");
		return false;
	}
	for (int i = 0; i < COMMANDS; i++)
		names[i] = command_rows[i].name;
	near = name_nearest(name, names, COMMANDS);
	diag = fault(reader, span, say(reader, "there is no command `%s`", name));
	diag_at(diag, "not known");
	if (near)
		diag_note(diag, "a command with a similar name exists: `%s`", near);
	diag_note(diag, "`planc help` prints all of them");
	return false;
}

/* `planc`, `planc --help` and `planc --version` are short for commands. */
static bool take_command(struct reader *reader)
{
	const char *name = reader->argc > 1 ? reader->argv[1] : "";

	reader->at = 1;
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	if (!strcmp(name, "--version"))
		name = "version";
	if (!*name) {
		struct diag *diag = fault(reader, (struct span){0, 0}, "a command is missing");

		diag_note(diag, "`planc help` prints all of them");
		return false;
	}
	reader->out->command_span = span_of(reader, 1);
	for (int i = 0; i < COMMANDS; i++) {
		if (!strcmp(name, command_rows[i].name)) {
			reader->out->command = (enum command)i;
			return true;
		}
	}
	return unknown_command(reader, name, reader->out->command_span);
}

static bool take_arguments(struct reader *reader)
{
	bool good = true, ended = false;

	for (reader->at = 2; reader->at < reader->argc; reader->at++) {
		const char *text = reader->argv[reader->at];

		if (!ended && !strcmp(text, "--")) {
			ended = true;
			if (reader->out->command != COMMAND_run)
				continue;
			reader->out->program_arguments = reader->argv + reader->at + 1;
			break;
		}
		if (ended || text[0] != '-' || !text[1])
			take_operand(reader);
		else if (text[1] == '-')
			good = take_long(reader) && good;
		else
			good = take_short(reader) && good;
	}
	return good;
}

static bool count_operands(struct reader *reader)
{
	const struct options *out = reader->out;
	const struct command_row *row = &command_rows[out->command];
	struct span span = out->command_span;
	struct diag *diag;

	if (out->help || (out->operands.n >= row->least && out->operands.n <= row->most))
		return true;
	if (out->operands.n > row->most)
		span = out->operands.at[row->most].span;
	diag = fault(reader, span,
		     say(reader, "`planc %s` has %s operands", row->name,
			 out->operands.n < row->least ? "too few" : "too many"));
	diag_note(diag, "usage: planc %s %s", row->name, row->operands);
	return false;
}

/* Without a command no option is read but the one that says how the fault is told. */
static void seek_format(const struct reader *reader)
{
	for (int i = 2; i < reader->argc; i++)
		if (!strcmp(reader->argv[i], "--error-format=json") ||
		    (!strcmp(reader->argv[i], "json") &&
		     !strcmp(reader->argv[i - 1], "--error-format")))
			reader->out->format = FORMAT_JSON;
}

bool options_parse(int argc, char **argv, struct options *out, struct work *work)
{
	struct reader reader = {.argc = argc, .argv = argv, .out = out, .work = work};

	*out = (struct options){.max_errors = 20, .rank = UINT32_MAX, .stdin_name = "<stdin>"};
	add_source(&reader);
	if (!take_command(&reader)) {
		seek_format(&reader);
		return false;
	}
	return take_arguments(&reader) && count_operands(&reader);
}
