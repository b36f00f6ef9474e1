/* SPDX-License-Identifier: Apache-2.0 */
/* Program and layout to C text. Only prints: no order, offset or algorithm is chosen here. */
#ifndef EMIT_EMIT_H
#define EMIT_EMIT_H

#include "judge/verdict.h"

struct artifact {
	const char *path; /* "model.c": within the output folder */
	struct text text;
};

struct artifacts {
	VEC(struct artifact) all;
};

/* plan.h, model.c, schedule.c, Makefile, manifest.json, NAME.expanded.plan. False with E0901 at the
 * span of what this version cannot emit; nothing is made then. A pure function of the plan. */
bool emit_build(const struct plan *plan, const struct layout *layout,
		const struct verdict *verdict, struct work *work, struct artifacts *out);

#endif
