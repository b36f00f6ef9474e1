/* SPDX-License-Identifier: Apache-2.0 */
/* The one pool of threads of a rank: OpenMP's, which oneDNN uses too. It starts at the first
 * parallel loop, so never before the fork. */
#ifndef CPU_CPU_THREADS_H
#define CPU_CPU_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/workspace.h"

enum { CPU_MAX_THREADS = RT_THREADS_MAX };

/* Where the threads of a rank run: core i for thread i; no cores: wherever the system likes. */
struct cpu_threads {
	int count;
	bool pinned;
	int core[CPU_MAX_THREADS]; /* number of a processing unit, as the system counts */
};

/* Thread i of rank r gets core r * count + i of those that this process may use, if there are
 * enough for all ranks. */
void cpu_threads_open(struct cpu_threads *threads, int64_t count, int64_t rank, int64_t ranks,
		      bool pin);

/* Binds the calling thread of the pool to its core; does nothing the second time. */
void cpu_threads_bind(const struct cpu_threads *threads, int thread);

/* Calls work(context, thread) on every thread of the pool, and waits. */
void cpu_threads_run(const struct cpu_threads *threads, void (*work)(void *context, int thread),
		     void *context);

#endif
