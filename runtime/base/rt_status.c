/* SPDX-License-Identifier: Apache-2.0 */
/* The text lies in memory that all ranks map, so that one process, the supervisor, prints one
 * message, however many ranks fail in the wake of the first. */
#include "base/rt_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static struct rt_fault own = {.rank = -1, .step = -1};
static struct rt_fault *current = &own;
static int current_rank = -1;
static int64_t current_step = -1;

void rt_status_bind(struct rt_fault *fault, int rank)
{
	current = fault;
	current_rank = rank;
}

void rt_status_step(int64_t step)
{
	current_step = step;
}

struct rt_fault *rt_status_fault(void)
{
	return current;
}

bool rt_aborted(void)
{
	return atomic_load_explicit(&current->claimed, memory_order_acquire) != 0;
}

static void record(const char *format, va_list args)
{
	uint32_t none = 0;
	if (!atomic_compare_exchange_strong(&current->claimed, &none, 1))
		return;
	current->rank = current_rank;
	current->step = current_step;
	vsnprintf(current->text, sizeof current->text, format, args);
	atomic_store_explicit(&current->claimed, 2, memory_order_release);
}

int rt_fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	record(format, args);
	va_end(args);
	return -1;
}

_Noreturn void rt_die(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	record(format, args);
	va_end(args);
	_exit(RT_EXIT_FAULT);
}
