/* SPDX-License-Identifier: Apache-2.0 */
/* How a run fails: the first message wins, all ranks see it at once, the supervisor prints it.
 *
 * A function that fails calls rt_fail and hands -1 up. Where no way up exists (a kernel in a
 * thread) rt_die ends the process. Both record rank, step and text in `struct rt_fault`, which all
 * ranks map; whoever waits for another rank watches rt_aborted. */
#ifndef RT_STATUS_H
#define RT_STATUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { RT_FAULT_TEXT = 960 };

enum rt_exit { RT_EXIT_FAULT = 1, RT_EXIT_USAGE = 2 };

struct rt_fault {
	_Atomic uint32_t claimed; /* 1: somebody failed, 2: the text below is whole */
	int32_t rank;		  /* -1: no rank, the launcher itself */
	int64_t step;		  /* -1: before the first step */
	char text[RT_FAULT_TEXT];
};

/* Uses `fault` (shared by the ranks) from now on; until then a record of this process. */
void rt_status_bind(struct rt_fault *fault, int rank);

/* The step that messages name. */
void rt_status_step(int64_t step);

/* Records the message unless another one is there. Gives -1, always. */
int rt_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, then ends this process at once; callable from any thread. */
_Noreturn void rt_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True once any rank has failed. */
bool rt_aborted(void);

/* The record in use; never NULL. */
struct rt_fault *rt_status_fault(void);

/* Kernels' assertions: the condition is about data of the user, so they stay in every build. */
#define RT_ASSERT(condition, ...)                                                                  \
	do {                                                                                       \
		if (!(condition))                                                                  \
			rt_die(__VA_ARGS__);                                                       \
	} while (0)

#endif
