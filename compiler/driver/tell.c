/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/tell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emit/version.h"

static bool write_out(int file, const struct text *text)
{
	const char *at = text->at;
	size_t left = text->length;

	while (left) {
		ssize_t n = write(file, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		at += n;
		left -= (size_t)n;
	}
	return true;
}

static bool colors(const struct session *session)
{
	const char *off = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (session->options.color != COLOR_AUTO)
		return session->options.color == COLOR_ALWAYS;
	return isatty(STDERR_FILENO) && !(off && *off) &&
	       !(terminal && !strcmp(terminal, "dumb"));
}

static int exit_code(const struct session *session)
{
	int code = diags_exit(session->work.diags);

	if (session->differs && (!code || code > EXIT_INVALID))
		code = EXIT_INVALID;
	return code;
}

static bool has_error(const struct session *session, enum diag_code code)
{
	const struct diags *diags = session->work.diags;

	for (uint32_t i = 0; i < diags->all.n; i++)
		if (diags->all.at[i]->code == code && diags->all.at[i]->level == LEVEL_ERROR)
			return true;
	return false;
}

/* One word for what the exit code says. */
static const char *verdict_word(const struct session *session, int code)
{
	switch (code) {
	case 0:
		return "ok";
	case EXIT_INVALID:
		if (has_error(session, E0341) || has_error(session, E0342))
			return "differs";
		return session->work.diags->errors ? "invalid" : "differs";
	case EXIT_USAGE:
		return "wrong_use";
	case EXIT_FILE:
		return "file_error";
	case EXIT_TOOL:
		return "tool_failed";
	default:
		return has_error(session, E0401) ? "does_not_fit" : "limit_not_met";
	}
}

static void add_summary(const struct outcome *outcome, struct text *out)
{
	if (outcome->compiled.judged)
		verdict_json(&outcome->compiled.verdict, out);
	else
		text_add(out, "null");
}

/* One file: its summary as a member of the document; several: a list with their names. */
static void add_summaries(const struct session *session, struct text *out)
{
	uint32_t n = session->outcomes.n;

	if (n == 1) {
		text_add(out, ",\n  \"summary\": ");
		add_summary(session->outcomes.at[0], out);
	}
	for (uint32_t i = 0; i < n && n > 1; i++) {
		text_add(out, "%s{ \"file\": ", i ? ",\n    " : ",\n  \"files\": [\n    ");
		text_json(out, session->outcomes.at[i]->file);
		text_add(out, ", \"summary\": ");
		add_summary(session->outcomes.at[i], out);
		text_add(out, " }%s", i + 1 == n ? " ]" : "");
	}
}

static struct text document(const struct session *session, const char *verdict)
{
	const struct diags *diags = session->work.diags;
	struct text out = text_new(session->work.keep);

	text_add(&out, "{ \"format_version\": \"1.0\",\n  \"planc\": \"%s\",\n", PLANC_VERSION);
	text_add(&out, "  \"verdict\": \"%s\",\n  \"error_count\": %u, \"warning_count\": %u,\n",
		 verdict, diags->errors, diags->warnings);
	text_add(&out, "  \"diagnostics\": ");
	diags_json(diags, &out);
	add_summaries(session, &out);
	if (session->out.length) {
		text_add(&out, ",\n  \"output\": ");
		text_json(&out, session->out.at);
	}
	text_add(&out, " }\n");
	return out;
}

/* With -q: errors alone. */
static struct diags *without_warnings(const struct session *session)
{
	const struct diags *all = session->work.diags;
	struct diags *errors = ARENA_NEW(session->work.keep, struct diags);

	*errors = *all;
	errors->all.n = errors->all.room = 0;
	for (uint32_t i = 0; i < all->all.n; i++)
		if (all->all.at[i]->level == LEVEL_ERROR)
			vec_push(session->work.keep, &errors->all, all->all.at[i]);
	return errors;
}

static struct text messages(const struct session *session)
{
	const struct options *options = &session->options;
	struct text out = text_new(session->work.keep);
	struct diag_style style = {colors(session), options->max_errors};
	const struct diags *diags =
		options->quiet ? without_warnings(session) : session->work.diags;

	if (options->format == FORMAT_SHORT) {
		style.color = false;
		diags_short(diags, style, &out);
	} else {
		diags_human(diags, style, &out);
	}
	if (!options->quiet && session->lines.length) {
		if (out.length && options->format == FORMAT_HUMAN)
			text_add(&out, "\n");
		text_raw(&out, session->lines.at, session->lines.length);
	}
	return out;
}

/* The exit code once something could not be printed. */
static int lost(const char *what, int code)
{
	fprintf(stderr, "planc: error[E0702]: cannot write %s: %s\n", what, strerror(errno));
	return code && code < EXIT_FILE ? code : EXIT_FILE;
}

int tell(struct session *session, const char *verdict)
{
	const struct options *options = &session->options;
	struct text json, human;
	int code;

	diags_sort(session->work.diags);
	code = exit_code(session);
	json = document(session, verdict ? verdict : verdict_word(session, code));
	if (options->diagnostics_file && !text_write(&json, options->diagnostics_file))
		code = lost(options->diagnostics_file, code);
	if (options->format == FORMAT_JSON)
		return write_out(STDOUT_FILENO, &json) ? code : lost("standard output", code);
	human = messages(session);
	if (!write_out(STDOUT_FILENO, &session->out))
		code = lost("standard output", code);
	write_out(STDERR_FILENO, &human);
	return code;
}
