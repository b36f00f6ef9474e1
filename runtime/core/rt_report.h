/* SPDX-License-Identifier: Apache-2.0 */
/* What rank 0 tells: lines or a progress bar on standard output, and the log of --log: one JSON
 * object a line, each in one write, so that the file is valid up to its last line. */
#ifndef CORE_REPORT_H
#define CORE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rt_log.h"
#include "core/memory.h"
#include "rt/rt.h"

struct report {
	struct rt *rt;
	bool speaks;	    /* rank 0 and not quiet */
	bool terminal, bar; /* bar: one stands on the screen */
	int log;	    /* descriptor, or -1 */
	struct rt_text line;
	struct rank_memory *ranks; /* [ranks]; rank 0 alone */
	int64_t steps, every; /* plain lines: each so many steps */
	double start, shown;  /* seconds of the clock: end of step 0; last bar */
	int lost;	      /* errno of the first line that standard output did not take, or 0 */
};

struct report_step {
	int64_t step, tokens; /* tokens: of all steps so far */
	double loss, norm, lr, seconds;
};

/* Allocates the line; nothing is allocated later. -1 after rt_fail. */
int report_open(struct report *report, struct rt *rt, int64_t steps);
void report_close(struct report *report);

void report_start(struct report *report);
int report_step(struct report *report, const struct report_step *step);
/* `use` of rank 0; report->ranks has been filled. */
int report_memory(struct report *report, const struct memory_use *use);
int report_validation(struct report *report, int64_t steps, double loss); /* steps taken */
int report_end(struct report *report, int64_t steps, const struct memory_use *use);

/* Standard output of rank 0. What it does not take ends the training after the step, and the run
 * fails at its end: report_lost gives -1 after rt_fail then. */
void report_write(struct report *report, const void *bytes, size_t count);
int report_lost(const struct report *report);

/* A line for people, not shown with --quiet unless it is a `result`. */
void report_say(struct report *report, bool result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
