/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rt_log.h"
#include "base/rt_status.h"

enum { LINE = 64, GRACE_MILLISECONDS = 1000, POLL_MILLISECONDS = 200 };

/* timeout(1), for one, sends its signal to the program and again to the group. */
enum { ECHO_MILLISECONDS = 250 };

struct rank_words {
	_Alignas(LINE) _Atomic int64_t step;
	_Atomic uint64_t words[2];
};

struct world_shared {
	struct rt_fault fault;
	_Alignas(LINE) _Atomic int stop;
	_Atomic int asked; /* 1 + the rank that got the signal; 0: the parent did */
	_Atomic(const char *) writing; /* argv lies at one address in all ranks */
	struct rank_words ranks[];
};

/* What a signal handler of a rank touches. */
static struct {
	_Atomic int *stop, *asked;
	int rank;
} of_signals;

static void *map_shared(const char *name, size_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	void *at = MAP_FAILED;
	if (ftruncate(fd, (off_t)bytes) == 0)
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int error = errno;
	close(fd);
	errno = error;
	return at == MAP_FAILED ? NULL : at;
}

static size_t map_size(int64_t bytes)
{
	return bytes > 0 ? (size_t)bytes : 1;
}

static int map_arenas(struct world *world, const int64_t *bytes)
{
	for (int rank = 0; rank < world->ranks; rank++) {
		char name[32];
		snprintf(name, sizeof name, "arena.%d", rank);
		world->arena_bytes[rank] = bytes[rank];
		world->arena[rank] = map_shared(name, map_size(bytes[rank]));
		if (world->arena[rank] == NULL)
			return rt_fail("cannot map the arena of rank %d, %lld bytes: %s", rank,
				       (long long)bytes[rank], strerror(errno));
	}
	return 0;
}

int world_open(struct world *world, int ranks, const int64_t *bytes, size_t comm_bytes)
{
	memset(world, 0, sizeof *world);
	world->ranks = ranks;
	world->rank = -1;
	world->arena = calloc((size_t)ranks, sizeof *world->arena);
	world->arena_bytes = calloc((size_t)ranks, sizeof *world->arena_bytes);
	world->comm_bytes = comm_bytes;
	world->shared_bytes =
		sizeof(struct world_shared) + (size_t)ranks * sizeof(struct rank_words);
	if (world->arena == NULL || world->arena_bytes == NULL)
		return rt_fail("out of memory for %d ranks", ranks);
	world->comm = map_shared("comm", comm_bytes);
	world->shared = map_shared("control", world->shared_bytes);
	if (world->comm == NULL || world->shared == NULL)
		return rt_fail("cannot map shared memory: %s", strerror(errno));
	world->shared->fault.rank = -1;
	world->shared->fault.step = -1;
	for (int rank = 0; rank < ranks; rank++)
		atomic_store(&world->shared->ranks[rank].step, -1);
	return map_arenas(world, bytes);
}

void world_close(struct world *world)
{
	for (int rank = 0; world->arena != NULL && rank < world->ranks; rank++)
		if (world->arena[rank] != NULL)
			munmap(world->arena[rank], map_size(world->arena_bytes[rank]));
	if (world->comm != NULL)
		munmap(world->comm, world->comm_bytes);
	if (world->shared != NULL)
		munmap(world->shared, world->shared_bytes);
	free(world->arena);
	free(world->arena_bytes);
	memset(world, 0, sizeof *world);
}

void world_step(struct world *world, int64_t step)
{
	rt_status_step(step);
	atomic_store(&world->shared->ranks[world->rank].step, step);
}

int world_stop(const struct world *world)
{
	return atomic_load(&world->shared->stop);
}

void world_writing(struct world *world, const char *path)
{
	atomic_store(&world->shared->writing, path);
}

const char *world_unfinished(const struct world *world)
{
	return atomic_load(&world->shared->writing);
}

void world_post(struct world *world, uint64_t round, uint64_t word)
{
	atomic_store(&world->shared->ranks[world->rank].words[round & 1], word);
}

uint64_t world_read(const struct world *world, uint64_t round, int rank)
{
	return atomic_load(&world->shared->ranks[rank].words[round & 1]);
}

/* ---- a rank ------------------------------------------------------------------------------- */

static void ask_stop(int signal_number)
{
	int none = 0;
	if (atomic_compare_exchange_strong(of_signals.stop, &none, signal_number))
		atomic_store(of_signals.asked, of_signals.rank + 1);
}

/* The parent hears Ctrl-C for all; SIGTERM to one rank asks all. */
static void rank_signals(struct world *world, const sigset_t *mask)
{
	struct sigaction action = {.sa_handler = ask_stop, .sa_flags = SA_RESTART};
	of_signals.stop = &world->shared->stop;
	of_signals.asked = &world->shared->asked;
	of_signals.rank = world->rank;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGPIPE, &action, NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
}

static _Noreturn void rank_main(struct world *world, pid_t parent, const sigset_t *mask,
				int (*body)(struct world *, void *), void *argument)
{
	int rank = world->rank;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(RT_EXIT_FAULT);
	rt_status_bind(&world->shared->fault, rank);
	rank_signals(world, mask);
	if (body(world, argument) != 0)
		_exit(RT_EXIT_FAULT);
	exit(0);
}

/* ---- the parent --------------------------------------------------------------------------- */

struct watch {
	struct world *world;
	pid_t *pids;
	int alive, code, signals; /* code of the first rank that failed */
	bool failed, killed, said;
	int64_t deadline; /* milliseconds; once failed */
	int64_t heard;	  /* the first signal */
	int64_t noticed;  /* that a rank got one */
	long long oom_kills;
};

static int64_t milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Processes the kernel has ended for want of memory since the machine started; -1: unknown. */
static long long oom_kills(void)
{
	FILE *file = fopen("/proc/vmstat", "re");
	char line[128];
	long long count = -1;
	while (file != NULL && count < 0 && fgets(line, sizeof line, file) != NULL)
		if (sscanf(line, "oom_kill %lld", &count) != 1)
			count = -1;
	if (file != NULL)
		fclose(file);
	return count;
}

static void kill_all(struct watch *watch)
{
	for (int rank = 0; rank < watch->world->ranks; rank++)
		if (watch->pids[rank] > 0)
			kill(watch->pids[rank], SIGKILL);
	watch->killed = true;
}

static void begin_end(struct watch *watch, int code)
{
	if (watch->failed)
		return;
	watch->failed = true;
	watch->code = code;
	watch->deadline = milliseconds() + GRACE_MILLISECONDS;
}

static void blame(struct watch *watch, int rank, int status)
{
	struct world_shared *shared = watch->world->shared;
	rt_status_bind(&shared->fault, rank);
	rt_status_step(atomic_load(&shared->ranks[rank].step));
	if (!WIFSIGNALED(status)) {
		rt_fail("ended with exit code %d", WEXITSTATUS(status));
		begin_end(watch, WEXITSTATUS(status));
		return;
	}
	const char *name = sigabbrev_np(WTERMSIG(status));
	bool memory = WTERMSIG(status) == SIGKILL && oom_kills() > watch->oom_kills;
	const char *cause = memory ? ": the machine ran out of memory" : "";
	if (WTERMSIG(status) == SIGBUS)
		cause = ": a data file became shorter, or shared memory is full";
	rt_fail("ended by SIG%s%s", name != NULL ? name : "?", cause);
	begin_end(watch, RT_EXIT_FAULT);
}

/* The others wait for it, and it may go on: no fault. After Ctrl-Z this process stops as well, and
 * says nothing. */
static void say_stopped(const struct watch *watch, int rank, int signal_number)
{
	rt_log("rank %d is stopped by SIG%s, the others wait; `kill -CONT %ld` lets it go on", rank,
	       sigabbrev_np(signal_number), (long)watch->pids[rank]);
}

static void reap(struct watch *watch)
{
	for (int rank = 0; rank < watch->world->ranks; rank++) {
		int status, options = WNOHANG | WUNTRACED;
		if (watch->pids[rank] <= 0 || waitpid(watch->pids[rank], &status, options) <= 0)
			continue;
		if (WIFSTOPPED(status)) {
			say_stopped(watch, rank, WSTOPSIG(status));
			continue;
		}
		watch->pids[rank] = 0;
		watch->alive--;
		if (!watch->killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
			blame(watch, rank, status);
	}
	if (rt_aborted())
		begin_end(watch, RT_EXIT_FAULT);
}

static void hear(struct watch *watch, int signal_number)
{
	if (signal_number == SIGCHLD || signal_number <= 0)
		return;
	if (watch->signals > 0 && milliseconds() - watch->heard < ECHO_MILLISECONDS)
		return;
	watch->heard = watch->signals == 0 ? milliseconds() : watch->heard;
	watch->signals++;
	int none = 0;
	atomic_compare_exchange_strong(&watch->world->shared->stop, &none, signal_number);
	if (watch->signals == 1)
		rt_log("SIG%s: stopping at the end of this step", sigabbrev_np(signal_number));
	else
		kill_all(watch);
}

/* The signal that a rank got alone. Where it went to all, the parent hears it as well, maybe a
 * moment later: `last` is when there is no later. */
static void say_asked(struct watch *watch, bool last)
{
	int asked = atomic_load(&watch->world->shared->asked);
	if (asked == 0 || watch->said || watch->signals > 0)
		return;
	int64_t now = milliseconds();
	watch->noticed = watch->noticed > 0 ? watch->noticed : now;
	if (!last && now - watch->noticed < POLL_MILLISECONDS / 2)
		return;
	watch->said = true;
	rt_log("SIG%s to rank %d: stopping at the end of this step",
	       sigabbrev_np(world_stop(watch->world)), asked - 1);
}

/* People count steps from 1. */
static void say_fault(const struct rt_fault *fault)
{
	const char *text = atomic_load(&fault->claimed) == 2 ? fault->text : "failed";
	if (fault->rank < 0)
		rt_log("%s", text);
	else if (fault->step < 0)
		rt_log("rank %d, before the first step: %s", fault->rank, text);
	else
		rt_log("rank %d, step %lld: %s", fault->rank, (long long)fault->step + 1, text);
}

static int supervise(struct watch *watch, const sigset_t *signals)
{
	while (watch->alive > 0) {
		struct timespec poll = {.tv_nsec = POLL_MILLISECONDS * 1000L * 1000L};
		hear(watch, sigtimedwait(signals, NULL, &poll));
		reap(watch);
		say_asked(watch, watch->alive == 0);
		if (watch->failed && !watch->killed && milliseconds() > watch->deadline)
			kill_all(watch);
	}
	if (watch->failed) {
		say_fault(&watch->world->shared->fault);
		return watch->code;
	}
	int stop = world_stop(watch->world);
	return stop != 0 ? 128 + stop : 0;
}

static int start_ranks(struct watch *watch, const sigset_t *mask,
		       int (*body)(struct world *, void *), void *argument)
{
	pid_t parent = getpid();
	for (int rank = 0; rank < watch->world->ranks; rank++) {
		pid_t pid = fork();
		if (pid == 0) {
			free(watch->pids);
			watch->world->rank = rank;
			rank_main(watch->world, parent, mask, body, argument);
		}
		if (pid < 0) {
			rt_fail("cannot start rank %d: %s", rank, strerror(errno));
			begin_end(watch, RT_EXIT_FAULT);
			return -1;
		}
		watch->pids[rank] = pid;
		watch->alive++;
	}
	return 0;
}

int world_run(struct world *world, int (*body)(struct world *world, void *argument), void *argument)
{
	struct watch watch = {.world = world, .oom_kills = oom_kills()};
	watch.pids = calloc((size_t)world->ranks, sizeof *watch.pids);
	if (watch.pids == NULL)
		return RT_EXIT_FAULT;
	sigset_t signals, before;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	rt_status_bind(&world->shared->fault, -1);
	fflush(NULL);
	start_ranks(&watch, &before, body, argument);
	int code = supervise(&watch, &signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	free(watch.pids);
	return code;
}
