/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of a file, taken through all passes up to the layout in this process. */
#ifndef OPERATORS_COMPILED_H
#define OPERATORS_COMPILED_H

#include "place/layout.h"

struct compiled_plan {
	struct work work;
	struct plan *plan;
	struct graph graph;
	struct program program;
	struct layout layout;
};

/* `set`: texts of -P, ends in NULL. Every pass is verified. NULL after the faults were printed. */
struct compiled_plan *compiled_open(const char *path, const char *const *set);
/* The same with `precision = fp32` in the place of `fp64`. */
struct compiled_plan *compiled_single(const char *path, const char *const *set);
/* The same for a text that stands nowhere. */
struct compiled_plan *compiled_text(const char *name, const char *text, const char *const *set);
void compiled_close(struct compiled_plan *compiled);

#endif
