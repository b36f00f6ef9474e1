/* SPDX-License-Identifier: Apache-2.0 */
/* Rules over a verdict: limits and `require` lines. */
#ifndef JUDGE_RULES_H
#define JUDGE_RULES_H

#include "judge/verdict.h"

/* Runs judge/rules.def in its order. A rule whose prerequisite failed is left out, so that one
 * fault raises one message. */
void rules_run(const struct verdict *verdict, struct work *work);

/* True: it holds. */
#define RULE(name, code, needs) bool rule_##name(const struct verdict *verdict, struct work *work);
#include "judge/rules.def"
#undef RULE

/* What does not fit keeps whole gradients where slices would do: a note with the other figure. */
void rules_note_reduce(struct diag *diag, const struct verdict *verdict, struct work *work);

/* "on each GPU", "on the device": where the bytes of a rank lie. */
const char *rules_where(const struct plan *plan);
/* Ranks along the axis, with those of the axes after it, do not lie in one node. */
bool rules_crosses(const struct plan *plan, uint32_t axis);
/* Bytes a second that each device sends along the axis; a node's rails are shared by its devices.
 * 0: the cluster names no link. */
double rules_rate(const struct plan *plan, uint32_t axis);
/* "7.0 ms" */
const char *rules_time(double seconds, struct arena *arena);
/* "GPU" or "device". */
const char *rules_device(const struct plan *plan);
/* "a" or "an", as the word asks. */
const char *rules_article(const char *word);

#endif
