/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/rt_status.h"

enum { SPINS = 2000, SLICE_NANOSECONDS = 50 * 1000 * 1000 };

static int spins = SPINS;

void wait_asleep(void)
{
	spins = 0;
}

double wait_clock(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void relax(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

enum wait_end wait_change(_Atomic uint32_t *word, uint32_t old, double seconds)
{
	for (int i = 0; i < spins; i++) {
		if (atomic_load_explicit(word, memory_order_acquire) != old)
			return WAIT_CHANGED;
		relax();
	}
	double start = wait_clock();
	while (atomic_load_explicit(word, memory_order_acquire) == old) {
		if (rt_aborted())
			return WAIT_ABORTED;
		if (seconds > 0 && wait_clock() - start > seconds)
			return WAIT_TIMEOUT;
		struct timespec slice = {.tv_nsec = SLICE_NANOSECONDS};
		syscall(SYS_futex, word, FUTEX_WAIT, old, &slice, NULL, 0);
	}
	return WAIT_CHANGED;
}

void wait_signal(_Atomic uint32_t *word)
{
	atomic_fetch_add_explicit(word, 1, memory_order_acq_rel);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
