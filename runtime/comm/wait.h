/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for another process: spin for tens of microseconds, then sleep in the kernel, and look
 * at rt_aborted a few times a second so that a dead peer holds nobody. */
#ifndef COMM_WAIT_H
#define COMM_WAIT_H

#include <stdatomic.h>
#include <stdint.h>

enum wait_end { WAIT_CHANGED = 0, WAIT_ABORTED = -1, WAIT_TIMEOUT = 1 };

/* Until *word != old; `seconds` > 0: at most so long. */
enum wait_end wait_change(_Atomic uint32_t *word, uint32_t old, double seconds);

/* From now on, in this process and those it forks: sleep at once. Where ranks share cores, one that
 * spins takes the time of the one that it waits for. */
void wait_asleep(void);

/* Adds one to *word and wakes all who wait for it. */
void wait_signal(_Atomic uint32_t *word);

/* Monotonic clock, seconds. */
double wait_clock(void);

#endif
