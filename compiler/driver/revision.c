/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/revision.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *revision_of(const char *operand, struct arena *arena)
{
	const char *colon = strchr(operand, ':');

	if (!colon || colon == operand || *operand == '-' || !access(operand, F_OK))
		return NULL;
	return arena_copy(arena, operand, (size_t)(colon + 1 - operand));
}

static bool open_pipe(int ends[2])
{
	if (pipe(ends))
		return false;
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	return true;
}

/* `git cat-file blob REV:PATH`, its output and its messages into pipes. An errno, or 0. */
static int start(const char *name, const int out[2], const int err[2], pid_t *child)
{
	const char *line[] = {"git", "cat-file", "blob", name, NULL};
	posix_spawn_file_actions_t actions;
	int fault;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
	fault = posix_spawnp(child, line[0], &actions, NULL, (char *const *)line, environ);
	posix_spawn_file_actions_destroy(&actions);
	return fault;
}

static bool ended_well(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Without the line end. */
static const char *first_line(const char *text, struct arena *arena)
{
	return arena_copy(arena, text ? text : "", text ? strcspn(text, "\n") : 0);
}

/* git's messages are shorter than what a pipe holds, so one pipe is read after the other. */
static char *collect(pid_t child, int out, int err, struct arena *arena, size_t *length,
		     const char **said)
{
	char *text = text_read_open(arena, out, length);
	int fault = errno;
	size_t n;
	const char *messages;

	close(out);
	messages = text_read_open(arena, err, &n);
	close(err);
	*said = text ? first_line(messages, arena) : strerror(fault);
	return ended_well(child) ? text : NULL;
}

char *revision_read(const char *name, struct arena *arena, size_t *length, const char **said)
{
	int out[2], err[2], fault;
	pid_t child;

	*said = strerror(errno);
	if (!open_pipe(out))
		return NULL;
	if (!open_pipe(err)) {
		*said = strerror(errno);
		close(out[0]);
		close(out[1]);
		return NULL;
	}
	fault = start(name, out, err, &child);
	close(out[1]);
	close(err[1]);
	if (!fault)
		return collect(child, out[0], err[0], arena, length, said);
	close(out[0]);
	close(err[0]);
	*said = arena_text(arena, "`git` could not be started: %s", strerror(fault));
	return NULL;
}
