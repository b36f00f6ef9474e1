/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler as one table of passes: text to tree to plan to graph to program to layout to
 * verdict. Everything that wants to know what planc thinks of a plan calls compile(). */
#ifndef DRIVER_PASSES_H
#define DRIVER_PASSES_H

#include "emit/emit.h"
#include "judge/verdict.h"
#include "syntax/parse.h"

/* Every representation of one plan, each made once by its pass and then only read. */
struct compiled {
	const struct source *source;
	const struct plan_options *options;
	struct node *file;
	struct plan *plan;
	struct graph graph;
	struct program program;
	struct layout layout;
	struct verdict verdict;
	const char *reached; /* name of the last pass that succeeded; "" before the first */
	bool judged;         /* all passes ran: the verdict is there */
};

struct compile_options {
	const char *stop_after;  /* name of a pass, or NULL */
	const char *dump;        /* name of a pass whose result is printed into `out`, or NULL */
	struct text *out;
	bool verify, fail_fast;
	void (*entering)(void *self, const char *pass); /* may be NULL */
	void *self;
};

/* Text to verdict. Assumes: `source` is in work->sources. Gives: what the passes made, faults in
 * work->diags. ast, plan and rules run whatever was reported; the others stop at the first that
 * fails. False if this call added an error. */
bool compile(const struct source *source, const struct plan_options *options,
	     const struct compile_options *how, struct compiled *out, struct work *work);

#endif
