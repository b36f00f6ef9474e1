/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/cpu_fault.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "device/cpu/cpu_kernels.h"

/* A kernel knows no device; a process has one. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct {
	const char *kernel; /* NULL: none */
	int64_t row, value, limit;
} fault;

void cpu_bad_index(const char *kernel, int64_t row, int64_t value, int64_t limit)
{
	pthread_mutex_lock(&guard);
	if (!fault.kernel || row < fault.row) {
		fault.kernel = kernel;
		fault.row = row;
		fault.value = value;
		fault.limit = limit;
	}
	pthread_mutex_unlock(&guard);
}

int cpu_fault_take(char *text)
{
	pthread_mutex_lock(&guard);
	bool found = fault.kernel;
	if (found)
		snprintf(text, RT_DEVICE_FAULT,
			 "kernel %s: row %" PRId64 ": index %" PRId64 " is outside [0, %" PRId64
			 ")",
			 fault.kernel, fault.row, fault.value, fault.limit);
	fault.kernel = NULL;
	pthread_mutex_unlock(&guard);
	return found ? -1 : 0;
}
