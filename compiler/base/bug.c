/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bug.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_MACHINE = 3, EXIT_BUG = 70 };

static void (*before_bug)(void);

void bug_hook(void (*hook)(void))
{
	before_bug = hook;
}

/* The hook is taken out first: a second bug inside it must not run it again. */
void bug_at(const char *file, int line, const char *format, ...)
{
	void (*hook)(void) = before_bug;
	va_list args;

	before_bug = NULL;
	if (hook)
		hook();
	fprintf(stderr, "planc: bug: %s:%d: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("\nplanc: this is a fault of planc, not of the plan; please report it with\n"
	      "planc: the plan, the command line and the output of `planc version`\n",
	      stderr);
	fflush(NULL);
	_Exit(EXIT_BUG);
}

void die(const char *format, ...)
{
	va_list args;

	fputs("planc: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	fflush(NULL);
	_Exit(EXIT_MACHINE);
}
