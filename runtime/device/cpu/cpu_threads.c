/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* cpu sets */
#include "device/cpu/cpu_threads.h"

#include <hwloc.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>

/* First processing unit of each core from `first` on. */
static bool find_cores(struct cpu_threads *threads, int64_t first, int64_t wanted)
{
	hwloc_topology_t topology;
	bool found = false;
	if (hwloc_topology_init(&topology) != 0)
		return false;
	if (hwloc_topology_load(topology) == 0) {
		int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
		found = cores >= wanted;
		for (int i = 0; found && i < threads->count; i++) {
			hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE,
								 (unsigned int)(first + i));
			threads->core[i] = hwloc_bitmap_first(core->cpuset);
		}
	}
	hwloc_topology_destroy(topology);
	return found;
}

void cpu_threads_open(struct cpu_threads *threads, int64_t count, int64_t rank, int64_t ranks,
		      bool pin)
{
	threads->count = (int)(count < CPU_MAX_THREADS ? count : CPU_MAX_THREADS);
	threads->pinned = pin && find_cores(threads, rank * threads->count, ranks * threads->count);
	omp_set_dynamic(0);
	omp_set_num_threads(threads->count);
}

void cpu_threads_bind(const struct cpu_threads *threads, int thread)
{
	static _Thread_local bool bound;
	if (bound || !threads->pinned)
		return;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((size_t)threads->core[thread], &set);
	(void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	bound = true;
}

void cpu_threads_run(const struct cpu_threads *threads, void (*work)(void *context, int thread),
		     void *context)
{
#pragma omp parallel num_threads(threads->count)
	{
		int thread = omp_get_thread_num();
		cpu_threads_bind(threads, thread);
		work(context, thread);
	}
}
