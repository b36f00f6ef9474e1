/* SPDX-License-Identifier: Apache-2.0 */
/* The command line as data. It is a source like any file, so faults in it have a place. */
#ifndef DRIVER_OPTIONS_H
#define DRIVER_OPTIONS_H

#include "base/vec.h"
#include "base/work.h"

enum command {
#define COMMAND(name, least, most, operands, summary) COMMAND_##name,
#define LATER(name)
#include "driver/commands.def"
#undef COMMAND
#undef LATER
	COMMANDS
};

struct command_row {
	const char *name, *operands, *summary;
	uint32_t least, most;
};
extern const struct command_row command_rows[COMMANDS];

/* Sets of commands, as bits. */
enum {
#define COMMAND(name, least, most, operands, summary) COMMAND_BIT_##name = 1 << COMMAND_##name,
#define LATER(name)
#include "driver/commands.def"
#undef COMMAND
#undef LATER
	COMMAND_BITS_PLANS = COMMAND_BIT_check | COMMAND_BIT_build | COMMAND_BIT_emit |
			     COMMAND_BIT_run | COMMAND_BIT_rehearse | COMMAND_BIT_expand |
			     COMMAND_BIT_show | COMMAND_BIT_diff,
	COMMAND_BITS_ALL = (1 << COMMANDS) - 1,
};

enum option_kind {
	OPTION_FLAG,
	OPTION_TEXT,
	OPTION_NUMBER,
	OPTION_CHOICE,
	OPTION_LIST,
	OPTION_LINT
};

struct option_row {
	char letter;         /* 0: none */
	const char *name;    /* without dashes; "": none */
	enum option_kind kind;
	size_t field;        /* offset in struct options */
	const char *choices; /* words with blanks between; the first is the default */
	uint32_t commands;
	const char *value, *doc;
};
extern const struct option_row option_rows[];
extern const uint32_t option_count;
/* The row of a long name, or NULL. */
const struct option_row *option_long(const char *name, size_t length);
/* The row of a letter, or NULL. */
const struct option_row *option_short(char letter);

/* The k-th word of a list with blanks between, its bytes in *length; NULL past the end. */
const char *word_at(const char *words, int k, size_t *length);

struct argument {
	const char *text;
	struct span span; /* in the source `<command line>` */
};

/* Texts in the order of the command line; grows with vec_push. */
struct strings {
	const char **at;
	uint32_t n, room;
};

struct lint {
	char letter; /* W, A, D */
	struct argument what;
};

enum format { FORMAT_HUMAN, FORMAT_SHORT, FORMAT_JSON };
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum dump { DUMP_NONE, DUMP_AST, DUMP_PLAN, DUMP_GRAPH, DUMP_PROGRAM, DUMP_LAYOUT, DUMP_VERDICT,
	    DUMP_C };

struct options {
	enum command command;
	VEC(struct argument) operands;
	struct strings set;     /* -P */
	struct strings include; /* -I */
	VEC(struct lint) lints;    /* in their order: the last one counts */
	const char *output, *folder, *diagnostics_file, *depfile, *stdin_name;
	int format, color, dump, stop_after; /* index of the choice */
	uint32_t max_errors, rank; /* rank UINT32_MAX: not given */
	bool fail_fast, quiet, verbose, check, diff, json, all_ranks, exit_code, verify, help;
	char **program_arguments;  /* run: after `--`, ends in NULL; else NULL */
	struct span command_span;
};

/* Reads the command line. Adds `<command line>` to work->sources and E0602 for what planc does not
 * know; false then. What was read before the fault stays set, so the format asked for is used. */
bool options_parse(int argc, char **argv, struct options *out, struct work *work);

#endif
