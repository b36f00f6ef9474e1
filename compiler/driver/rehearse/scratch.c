/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/rehearse/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { DEPTH = 4 }; /* folders in folders of a rehearsal */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof *signals };

static volatile sig_atomic_t stopped_by;

static void take_note(int signal)
{
	stopped_by = signal;
}

/* A signal that is ignored stays so: planc may run in the background. */
static void watch(void (*handler)(int))
{
	for (int i = 0; i < SIGNALS; i++) {
		struct sigaction old, action = {.sa_handler = handler};

		sigemptyset(&action.sa_mask);
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

bool scratch_stopped(void)
{
	return stopped_by != 0;
}

/* --- the folder ------------------------------------------------------------------------- */

bool scratch_open(struct session *session, const char *keep, struct scratch *out)
{
	const char *below = getenv("TMPDIR");
	char *path;

	*out = (struct scratch){.path = keep, .kept = keep != NULL};
	watch(take_note);
	if (keep)
		return session_folder(session, keep);
	if (!below || *below != '/')
		below = "/tmp";
	path = arena_text(session->work.keep, "%s/%s", below, "planc.XXXXXX");
	out->path = path;
	return mkdtemp(path) || session_cannot_write(session, path);
}

/* What is no folder is removed, and what is no more there is none. */
static void remove_all(const char *path, int depth, struct arena *arena)
{
	DIR *folder;
	struct dirent *entry;

	if (!unlink(path) || depth == 0)
		return;
	folder = opendir(path);
	if (!folder)
		return;
	while ((entry = readdir(folder)) != NULL)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			remove_all(arena_text(arena, "%s/%s", path, entry->d_name), depth - 1,
				   arena);
	closedir(folder);
	rmdir(path);
}

void scratch_close(struct session *session, const struct scratch *scratch)
{
	if (!scratch->kept && scratch->path)
		remove_all(scratch->path, DEPTH, session->work.keep);
	watch(SIG_DFL);
	if (stopped_by)
		raise(stopped_by);
}

/* --- programs --------------------------------------------------------------------------- */

double scratch_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 5 * 1000 * 1000}, NULL);
}

/* In a group of its own, so that all its processes can be ended. An errno, or 0. */
static int start(pid_t *child, struct strings *line, const char *said)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int fault;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, said,
					 O_WRONLY | O_CREAT | O_TRUNC, 0666);
	posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	fault = posix_spawnp(child, line->at[0], &actions, &attributes, (char *const *)line->at,
			     environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return fault;
}

enum ended scratch_run(struct strings *line, const char *said, double seconds, int *code,
		       struct arena *arena)
{
	double until = scratch_clock() + seconds;
	enum ended early = ENDED_WELL;
	pid_t child, gone;
	int status = 0;

	vec_push(arena, line, NULL);
	errno = start(&child, line, said);
	if (errno)
		return ENDED_NEVER_STARTED;
	while (!(gone = waitpid(child, &status, WNOHANG)) || (gone < 0 && errno == EINTR)) {
		if (early == ENDED_WELL && (stopped_by || scratch_clock() > until)) {
			early = stopped_by ? ENDED_STOPPED : ENDED_LATE;
			kill(-child, SIGKILL);
		}
		nap();
	}
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (early != ENDED_WELL)
		return early;
	return *code ? ENDED_BADLY : ENDED_WELL;
}
