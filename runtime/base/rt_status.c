/* SPDX-License-Identifier: Apache-2.0 */
/* The text lies in memory that all ranks map, so that one process, the supervisor, prints one
 * message, however many ranks fail in the wake of the first. */
#include "base/rt_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WHOLE = 3 * 4096 }; /* two paths and a reason */

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

/* Where a character starts, at `at` or before. */
static size_t character(const char *text, size_t at)
{
	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/* A text that is too long loses its middle: names of files are there, the reason is at the end. */
static void fit(char *out, size_t room, const char *text, size_t length)
{
	size_t half = room / 2 - 4;
	if (length < room)
		memcpy(out, text, length + 1);
	else
		snprintf(out, room, "%.*s...%s", (int)character(text, half), text,
			 text + character(text, length - half));
}

static void record(const char *format, va_list args)
{
	uint32_t none = 0;
	if (!atomic_compare_exchange_strong(&current->claimed, &none, 1))
		return;
	current->rank = current_rank;
	current->step = current_step;
	char whole[WHOLE] = "";
	int length = vsnprintf(whole, sizeof whole, format, args);
	length = length < WHOLE ? length : WHOLE - 1;
	fit(current->text, sizeof current->text, whole, length > 0 ? (size_t)length : 0);
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
