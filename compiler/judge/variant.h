/* SPDX-License-Identifier: Apache-2.0 */
/* What another choice of the plan would cost, worked out by the same passes. */
#ifndef JUDGE_VARIANT_H
#define JUDGE_VARIANT_H

#include "place/layout.h"

/* Bytes that a rank sends to other data ranks in a step, by the algorithms of the runtime: of
 * n ranks (n - 1) / n of a tensor that is gathered or scattered, twice that for a sum. */
struct sent {
	uint64_t weights, gradients;
};

/* A copy of a plan in which settings may be changed before variant_judge. */
struct variant {
	struct plan plan;
	struct strategy *strategies; /* plan.strategies, to be written to */
	uint64_t peak;               /* bytes of the heaviest rank, as in struct verdict */
	struct sent sent;            /* of the stage that sends most */
	const struct program *program;
	struct arena *keep, *scratch;
};

/* The caller ends it with variant_close, whatever variant_judge said. */
void variant_open(struct variant *variant, const struct plan *plan);
/* False: the changed plan cannot be made into a program, or its sizes leave 64 bits. */
bool variant_judge(struct variant *variant, struct work *work);
void variant_close(struct variant *variant);

/* The strategy of this kind, to be changed; NULL: the plan has none. */
struct strategy *variant_strategy(struct variant *variant, enum strategy_kind kind);

/* Of the stages in the list, the one that sends most. */
struct sent variant_sent(const struct program *program);
uint64_t sent_all(struct sent sent);

#endif
