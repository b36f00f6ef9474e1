/* SPDX-License-Identifier: Apache-2.0 */
/* Features of a plan, and which of them go together: combinations.def as data. */
#ifndef PLAN_COMBINATIONS_H
#define PLAN_COMBINATIONS_H

#include "plan/plan.h"

enum feature {
#define FEATURE(id, kind, how, written) FEATURE_##id,
#define NEEDS(feature, other, code)
#define REFUSED(feature, other, code, why)
#define LATER(feature, other, what)
#include "plan/combinations.def"
#undef FEATURE
#undef NEEDS
#undef REFUSED
#undef LATER
	FEATURES
};

const char *feature_name(enum feature feature);    /* "zero1" */
const char *feature_written(enum feature feature); /* "zero 1 over A" */

/* True if the plan has it; *where is then the place, for a message. Assumes: resolved. */
bool feature_in(const struct plan *plan, enum feature feature, struct span *where);

enum answer {
	ANSWER_WORKS,
	ANSWER_EITHER,  /* a plan has one of the two */
	ANSWER_REFUSED, /* with `code` */
	ANSWER_LATER    /* not in this version */
};

struct combination {
	enum answer answer;
	enum diag_code code;
	const char *why; /* REFUSED, LATER */
};

/* Of two features of a plan, in any order; of one with itself: alone. */
struct combination combination_of(enum feature a, enum feature b);

/* The feature that `feature` is refused without, or FEATURES; its code. */
enum feature feature_needs(enum feature feature, enum diag_code *code);

/* The first feature of the plan that `feature` is refused beside, or FEATURES. */
enum feature feature_clash(const struct plan *plan, enum feature feature);

#endif
