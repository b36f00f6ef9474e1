/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "driver/revision.h"
#include "driver/tell.h"

static const struct span nowhere;

/* The session that a fault of planc's own has to flush. */
static struct session *open_session;

static void flush_on_bug(void)
{
	if (open_session && !open_session->told)
		tell(open_session, "bug");
}

static bool gone(int fault)
{
	return fault == ENOENT || fault == ENOTDIR;
}

/* True if an -I folder was put in front of the path. */
static bool from_include(const struct session *session, const char *path)
{
	for (uint32_t i = 0; i < session->options.include.n; i++) {
		const char *folder = session->options.include.at[i];
		size_t length = strlen(folder);

		if (!strncmp(path, folder, length) && path[length] == '/')
			return true;
	}
	return false;
}

/* What a file of a revision imports is of the same revision; paths of a revision's root lose its
 * name, others have it. */
static const char *in_revision(const struct session *session, const char *path, struct arena *arena)
{
	const char *revision = session->revision;

	if (!revision || *path == '/' || from_include(session, path))
		return NULL;
	if (!strncmp(path, revision, strlen(revision)))
		return path;
	return arena_text(arena, "%s%s", revision, path);
}

/* For imports: absent files are the resolver's to report, at the import. */
static const struct source *read_import(void *self, const char *path, struct work *work)
{
	struct session *session = self;
	const struct source *source;
	const char *name = in_revision(session, path, work->keep), *said;
	size_t length;
	char *text = name ? revision_read(name, work->keep, &length, &said)
			  : text_read(work->keep, path, &length);

	if (!text && name)
		return NULL;
	path = name ? name : path;

	if (!text && !gone(errno))
		diag_add(work->diags, E0701, nowhere, "cannot read `%s`: %s", path,
			 strerror(errno));
	if (!text)
		return NULL;
	source = sources_add(work->sources, path, text, length, false);
	if (source)
		vec_push(work->keep, &session->inputs, source);
	session_note(session, "planc: read %s", path);
	return source;
}

static void set_lints(struct session *session)
{
	struct diags *diags = session->work.diags;

	for (uint32_t i = 0; i < session->options.lints.n; i++) {
		const struct lint *lint = &session->options.lints.at[i];

		for (int code = 0; code < DIAG_CODES; code++) {
			const struct diag_row *row = diag_row((enum diag_code)code);

			if (row->level != LEVEL_WARNING || (strcmp(lint->what.text, "warnings") &&
							    strcmp(lint->what.text, row->code) &&
							    strcmp(lint->what.text, row->name)))
				continue;
			diags->silent[code] = lint->letter == 'A';
			diags->deny[code] = lint->letter == 'D';
		}
	}
}

void session_open(struct session *session, int argc, char **argv)
{
	struct work *work = &session->work;

	*session = (struct session){0};
	work->keep = arena_new();
	work->scratch = arena_new();
	work->names = names_new(work->keep);
	work->sources = sources_new(work->keep);
	work->diags = diags_new(work->keep, work->sources);
	work->check_only = true; /* artifacts_make refuses what cannot be emitted */
	session->out = text_new(work->keep);
	session->lines = text_new(work->keep);
	open_session = session;
	bug_hook(flush_on_bug);
	options_parse(argc, argv, &session->options, work);
	set_lints(session);
	memcpy(session->silent, work->diags->silent, sizeof session->silent);
	session->plan_options = (struct plan_options){
		.set = session->options.set.at,
		.nset = session->options.set.n,
		.include = session->options.include.at,
		.ninclude = session->options.include.n,
		.read = read_import,
		.reader = session,
		.command = command_rows[session->options.command].name,
	};
}

int session_tell(struct session *session)
{
	session->told = true;
	return tell(session, NULL);
}

int session_close(struct session *session)
{
	int code = session->told ? 0 : session_tell(session);

	for (uint32_t i = session->folders.n; i-- > 0;)
		rmdir(session->folders.at[i]); /* which keeps what has files */
	open_session = NULL;
	arena_delete(session->work.scratch);
	arena_delete(session->work.keep);
	return code;
}

void session_note(const struct session *session, const char *format, ...)
{
	va_list args;

	if (!session->options.verbose)
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static void entering(void *self, const char *pass)
{
	session_note(self, "planc: pass %s", pass);
}

const struct source *session_read(struct session *session, struct argument operand)
{
	struct work *work = &session->work;
	bool input = !strcmp(operand.text, "-");
	const char *path = input ? session->options.stdin_name : operand.text, *said = NULL;
	const struct source *source;
	size_t length;
	char *text;

	session->revision = session->options.command == COMMAND_diff
				    ? revision_of(operand.text, work->keep)
				    : NULL;
	if (session->revision)
		text = revision_read(path, work->keep, &length, &said);
	else
		text = input ? text_read_open(work->keep, STDIN_FILENO, &length)
			     : text_read(work->keep, path, &length);
	if (!text) {
		diag_add(work->diags, E0701, operand.span, "cannot read `%s`: %s", path,
			 said ? said : strerror(errno));
		return NULL;
	}
	source = sources_add(work->sources, path, text, length, false);
	if (!source)
		diag_add(work->diags, E0701, operand.span,
			 "cannot read `%s`: all inputs together exceed 4 GiB", path);
	else
		vec_push(work->keep, &session->inputs, source);
	session_note(session, "planc: read %s", path);
	return source;
}

/* The word of a choice as a name of a pass; "none" is NULL. */
static const char *pass_name(const char *field, int choice, struct arena *arena)
{
	const struct option_row *row = option_long(field, strlen(field));
	size_t length;
	const char *word = word_at(row->choices, choice, &length);

	return choice ? arena_copy(arena, word, length) : NULL;
}

struct outcome *session_compile(struct session *session, uint32_t index, const char *stop_after)
{
	struct options *options = &session->options;
	struct arena *arena = session->work.keep;
	const struct source *source = session_read(session, options->operands.at[index]);
	struct compile_options how = {
		.stop_after = pass_name("stop-after", options->stop_after, arena),
		.dump = pass_name("dump", options->dump, arena),
		.out = &session->out,
		.verify = options->verify || PLANC_VERIFY,
		.fail_fast = options->fail_fast,
		.entering = entering,
		.self = session,
	};
	struct outcome *outcome;

	if (!source)
		return NULL;
	/* An `allow` holds for its own file. */
	memcpy(session->work.diags->silent, session->silent, sizeof session->silent);
	how.stop_after = how.stop_after ? how.stop_after : stop_after;
	outcome = ARENA_NEW(arena, struct outcome);
	outcome->file = source->path;
	vec_push(arena, &session->outcomes, outcome);
	outcome->good = compile(source, &session->plan_options, &how, &outcome->compiled,
				&session->work);
	return outcome;
}

bool session_cannot_write(struct session *session, const char *path)
{
	diag_add(session->work.diags, E0702, nowhere, "cannot write `%s`: %s", path,
		 strerror(errno));
	return false;
}

bool session_folder(struct session *session, const char *path)
{
	char *copy = arena_copy(session->work.keep, path, strlen(path));

	for (char *at = copy + 1; *copy; at++) {
		char kept = *at;

		if (kept && kept != '/')
			continue;
		*at = '\0';
		if (!mkdir(copy, 0777))
			vec_push(session->work.keep, &session->folders,
				 arena_text(session->work.keep, "%s", copy));
		else if (errno != EEXIST)
			return session_cannot_write(session, copy);
		*at = kept;
		if (!kept)
			break;
	}
	return true;
}

bool session_stage(struct session *session, const struct text *text, const char *path,
		   struct staged *out)
{
	const char *slash = strrchr(path, '/');

	if (slash && slash != path &&
	    !session_folder(session, arena_copy(session->work.keep, path, (size_t)(slash - path))))
		return false;
	return text_stage(text, path, out) || session_cannot_write(session, path);
}

bool session_write(struct session *session, const struct text *text, const char *path)
{
	struct staged staged;

	return session_stage(session, text, path, &staged) &&
	       (staged_take(&staged) || session_cannot_write(session, path));
}
