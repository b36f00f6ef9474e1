/* SPDX-License-Identifier: Apache-2.0 */
/* bench_run N COMMAND...: runs a command N times; prints the best and the middle wall time, and the
 * largest resident size. */
#define _DEFAULT_SOURCE /* wait4 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1000 };

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Seconds of one run; -1 if it failed. */
static double run(char **command, long *kib)
{
	double start = now();
	pid_t child = fork();
	struct rusage usage;
	int status;

	if (child == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0)
		return -1;
	if (usage.ru_maxrss > *kib)
		*kib = usage.ru_maxrss;
	return now() - start;
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

int main(int argc, char **argv)
{
	double seconds[MOST];
	long kib = 0;
	int n = argc > 2 ? atoi(argv[1]) : 0;

	if (n < 1 || n > MOST) {
		fputs("usage: bench_run N COMMAND...\n", stderr);
		return 2;
	}
	for (int i = 0; i < n; i++) {
		seconds[i] = run(argv + 2, &kib);
		if (seconds[i] < 0) {
			fputs("the command failed\n", stderr);
			return 1;
		}
	}
	qsort(seconds, (size_t)n, sizeof *seconds, by_value);
	printf("best %.1f ms, middle %.1f ms, %.1f MiB\n", 1e3 * seconds[0], 1e3 * seconds[n / 2],
	       (double)kib / 1024);
	return 0;
}
