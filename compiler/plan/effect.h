/* SPDX-License-Identifier: Apache-2.0 */
/* Two plans compared: what they set, and what follows for the trained result. */
#ifndef PLAN_EFFECT_H
#define PLAN_EFFECT_H

#include "base/vec.h"
#include "plan/schema.h"

/* A resolved value under the path at which a plan writes it: "train.micro_batch", "2 seq". */
struct plan_setting {
	const char *path, *text;
};
struct plan_settings {
	struct plan_setting *at;
	uint32_t n, room;
};

/* Every resolved setting of a plan, in the order of the blocks; what a plan has no block for is
 * left out. Paths are unique. */
void plan_settings(const struct plan *plan, struct plan_settings *out, struct work *work);

/* What tells two plans apart, by effects.def and the effect column of the schema. */
struct plan_cause {
	const char *what;   /* "train.seed", "tensor" */
	enum effect effect;
	const char *why;    /* the row's sentence; of a setting: what it is */
};
struct plan_effect {
	enum effect effect; /* the strongest */
	const struct plan_cause *causes;
	uint32_t ncauses;
};

/* Assumes: both resolved. Compares what is trained, never where it runs: names of axes, nodes and
 * links have no effect. */
void plan_compare(const struct plan *a, const struct plan *b, struct plan_effect *out,
		  struct work *work);

#endif
