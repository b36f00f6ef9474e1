/* SPDX-License-Identifier: Apache-2.0 */
/* One run of planc: its command line, what it read, what it found, what it will print. Only the
 * session writes to the terminal, at the end, in the format asked for. */
#ifndef DRIVER_SESSION_H
#define DRIVER_SESSION_H

#include "driver/options.h"
#include "driver/passes.h"

enum { EXIT_INVALID = 1, EXIT_USAGE = 2, EXIT_FILE = 3, EXIT_TOOL = 4, EXIT_LIMIT = 5 };

/* What one FILE came to. */
struct outcome {
	const char *file;
	struct compiled compiled;
	bool good; /* no error */
};

struct session {
	struct work work;
	struct options options;
	struct plan_options plan_options;
	bool silent[DIAG_CODES]; /* by the command line alone */
	struct text out;   /* what the command prints on standard output */
	struct text lines; /* human lines after the diagnostics: summaries, files that differ */
	VEC(struct outcome *) outcomes;
	VEC(const struct source *) inputs; /* files read, in order */
	struct strings folders; /* that were made, from the outermost on */
	bool differs;      /* fmt --check, emit --check, diff --exit-code: exit code 1 */
	const char *revision; /* "main:" while a file of a git revision is compiled, or NULL */
	bool told;         /* the output was printed */
};

void session_open(struct session *session, int argc, char **argv);
/* Prints everything and gives the exit code. Folders that were made and got no file are removed. */
int session_close(struct session *session);
/* Prints what there is before planc becomes another program; 0 if all could be written. */
int session_tell(struct session *session);

/* A line on standard error at once, with -v only. */
void session_note(const struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Reads a file or, for "-", standard input. NULL with E0701 at `operand` if that fails. */
const struct source *session_read(struct session *session, struct argument operand);

/* Compiles operand `index` with the options of the command line. `stop_after` is the last pass the
 * command needs, or NULL for all. NULL if the file could not be read. */
struct outcome *session_compile(struct session *session, uint32_t index, const char *stop_after);

/* Makes PATH's folders and writes beside it (text_stage). False with E0702. */
bool session_stage(struct session *session, const struct text *text, const char *path,
		   struct staged *out);
/* Makes PATH's folders, writes it whole or not at all. False with E0702. */
bool session_write(struct session *session, const struct text *text, const char *path);
/* Makes a folder and those above it. False with E0702. */
bool session_folder(struct session *session, const char *path);
bool session_cannot_write(struct session *session, const char *path);

#endif
