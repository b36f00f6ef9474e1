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

/* "on each GPU", "on the device": where the bytes of a rank lie. */
const char *rules_where(const struct plan *plan);
/* "GPU" or "device". */
const char *rules_device(const struct plan *plan);
/* "a" or "an", as the word asks. */
const char *rules_article(const char *word);

#endif
