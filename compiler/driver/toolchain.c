/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/toolchain.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const struct span nowhere;

static struct diag *fault(struct session *session, const char *title)
{
	return diag_add(session->work.diags, E0801, nowhere, "%s", title);
}

/* Blanks and line ends separate; there is no quoting. */
static void add_words(struct strings *list, const char *text, struct arena *arena)
{
	for (;;) {
		size_t length;

		text += strspn(text, " \t\r\n");
		length = strcspn(text, " \t\r\n");
		if (!length)
			return;
		vec_push(arena, list, arena_copy(arena, text, length));
		text += length;
	}
}

static char *folder_of(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? arena_copy(arena, path, (size_t)(slash - path)) : arena_copy(arena, ".", 1);
}

static char *own_folder(struct arena *arena)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	return folder_of(arena, path);
}

/* The words of a file; none if there is no such file. */
static void read_words(struct strings *list, const char *path, struct arena *arena)
{
	size_t length;
	const char *text = text_read(arena, path, &length);

	if (text)
		add_words(list, text, arena);
}

/* $CC, else the compiler that built planc if this machine has it, else cc. */
static void find_compiler(struct toolchain *out, const char *folder, struct arena *arena)
{
	const char *cc = getenv("CC");

	if (cc)
		add_words(&out->cc, cc, arena);
	if (out->cc.n)
		return;
	read_words(&out->cc, arena_text(arena, "%s/cc.txt", folder), arena);
	if (out->cc.n && *out->cc.at[0] == '/' && access(out->cc.at[0], X_OK))
		out->cc.n = 0;
	if (!out->cc.n)
		add_words(&out->cc, "cc", arena);
}

bool toolchain_find(struct session *session, struct toolchain *out)
{
	struct arena *arena = session->work.keep;
	const char *own = own_folder(arena), *folder;

	*out = (struct toolchain){0};
	folder = arena_text(arena, "%s/../lib/planc", own ? own : ".");
	out->include = arena_text(arena, "%s/../include/planc", own ? own : ".");
	out->archive = arena_text(arena, "%s/libplanc_rt.a", folder);
	find_compiler(out, folder, arena);
	read_words(&out->flags, arena_text(arena, "%s/link.txt", folder), arena);
	if (!access(out->archive, R_OK) && !access(out->include, X_OK))
		return true;
	diag_note(fault(session, "the runtime that belongs to this planc was not found"),
		  "looked for %s", out->archive);
	return false;
}

static void push(struct strings *list, const char *word, struct arena *arena)
{
	vec_push(arena, list, word);
}

static struct strings command_line(const struct toolchain *toolchain,
				   const struct artifacts *artifacts, const char *folder,
				   const char *program, struct arena *arena)
{
	static const char *const fixed[] = {"-std=c17", "-O2", "-ffp-contract=off", "-Wall",
					    "-Wextra", "-Werror"};
	struct strings line = {0};

	for (uint32_t i = 0; i < toolchain->cc.n; i++)
		push(&line, toolchain->cc.at[i], arena);
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		push(&line, fixed[i], arena);
	push(&line, arena_text(arena, "-I%s", toolchain->include), arena);
	for (uint32_t i = 0; i < artifacts->all.n; i++) {
		const char *path = artifacts->all.at[i].path;
		size_t length = strlen(path);

		if (length > 2 && !strcmp(path + length - 2, ".c"))
			push(&line, arena_text(arena, "%s/%s", folder, path), arena);
	}
	push(&line, "-o", arena);
	push(&line, program, arena);
	push(&line, toolchain->archive, arena);
	for (uint32_t i = 0; i < toolchain->flags.n; i++)
		push(&line, toolchain->flags.at[i], arena);
	return line;
}

static char *joined(const struct strings *line, struct arena *arena)
{
	struct text text = text_new(arena);

	for (uint32_t i = 0; i < line->n; i++)
		text_add(&text, "%s%s", i ? " " : "", line->at[i]);
	return text.at;
}

/* Runs a command, its output on standard error. The exit status, 128 + signal, or -1 with errno if
 * it could not be started. */
static int run(struct strings *line, struct arena *arena)
{
	posix_spawn_file_actions_t actions;
	pid_t child;
	int status, fault;

	push(line, NULL, arena);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	fault = posix_spawnp(&child, line->at[0], &actions, NULL, (char *const *)line->at, environ);
	posix_spawn_file_actions_destroy(&actions);
	line->n--;
	errno = fault;
	if (fault)
		return -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool toolchain_compile(struct session *session, const struct toolchain *toolchain,
		       const struct artifacts *artifacts, const char *folder, const char *program)
{
	struct arena *arena = session->work.keep;
	const char *beside = arena_text(arena, "%s.%ld.tmp", program, (long)getpid());
	struct strings line = command_line(toolchain, artifacts, folder, beside, arena);
	const char *text = joined(&line, arena), *cc = line.at[0];
	int status;

	session_note(session, "planc: %s", text);
	status = run(&line, arena);
	if (!status && !rename(beside, program))
		return true;
	if (!status)
		session_cannot_write(session, program);
	else if (status < 0)
		fault(session, arena_text(arena, "`%s` could not be started: %s", cc,
					  strerror(errno)));
	else
		diag_note(fault(session, arena_text(arena, "`%s` failed with exit code %d", cc,
						    status)),
			  "the command was: %s", text);
	unlink(beside);
	return false;
}

static bool newer(const struct stat *made, const char *than)
{
	struct stat needed;

	if (stat(than, &needed))
		return false;
	if (made->st_mtim.tv_sec != needed.st_mtim.tv_sec)
		return made->st_mtim.tv_sec > needed.st_mtim.tv_sec;
	return made->st_mtim.tv_nsec > needed.st_mtim.tv_nsec;
}

bool toolchain_current(struct session *session, const struct toolchain *toolchain,
		       const struct artifacts *artifacts, const char *folder, const char *program)
{
	struct arena *arena = session->work.keep;
	struct stat made;

	if (stat(program, &made) || !newer(&made, toolchain->archive))
		return false;
	for (uint32_t i = 0; i < artifacts->all.n; i++)
		if (!newer(&made, arena_text(arena, "%s/%s", folder, artifacts->all.at[i].path)))
			return false;
	return true;
}
