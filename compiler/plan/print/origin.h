/* SPDX-License-Identifier: Apache-2.0 */
/* What plan_print and plan_expand share. */
#ifndef PLAN_ORIGIN_H
#define PLAN_ORIGIN_H

#include "base/text.h"
#include "plan/plan.h"

/* "a.plan:12", "param seq, a.plan:9", "-P micro=2", "default", "computed: 128 / (2 * 8)". */
char *origin_text(const struct value *value, const struct work *work);

/* "peak_memory <= 95 %" */
char *require_text(const struct plan *plan, const struct require *require, struct arena *arena);

/* "selective(mlp) on stage 0..3" */
void recompute_text(const struct recompute *recompute, struct text *out);

#endif
