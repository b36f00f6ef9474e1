/* SPDX-License-Identifier: Apache-2.0 */
/* A rehearsal: a small plan and its twin on one rank, in fp64 and in the plan's own precision, and
 * what came of them. */
#ifndef REHEARSE_REHEARSAL_H
#define REHEARSE_REHEARSAL_H

#include "driver/rehearse/trial.h"

struct bound {
	const char *type;
	double loss, norm, gradient, weights, floor; /* bounds.def */
};

/* The bounds of a precision: those of its narrowest type. */
const struct bound *bound_of(const struct plan_precision *precision);

/* Both programs of one precision. */
struct pair {
	const char *precision; /* "fp64", "mixed_bf16", "own" */
	bool wide;             /* fp64 in place of the plan's own */
	const struct bound *bound;
	struct trial split, alone;
	struct log_difference log;
	struct tensor_difference gradient; /* the worst */
	double loss_most, norm_most, gradient_most; /* what they may be off */
	double weights;
	uint32_t steps;
	const char *fault; /* why there is nothing to compare, or NULL */
	bool equal;
};

enum { PAIRS = 2 };

/* Ranks of one stage hold the same. Bytes of each. */
struct rank_class {
	uint32_t ranks;
	uint64_t predicted;    /* by planc */
	int64_t allocated;     /* by the program, measured; -1: ranks of the class differ */
};

struct rehearsal {
	const struct outcome *outcome; /* of the plan itself */
	struct small small;
	struct pair pairs[PAIRS];
	int npairs;
	bool fits, limits_met; /* E0401, E0402 were not raised */
	struct rank_class classes[SMALL_STAGES];
	uint32_t nclasses;
	bool bytes_held;
	uint64_t sends, full_sends; /* messages of a step between stages */
};

/* Reads what both programs wrote. Sets differences, fault, equal. `wide`: the pair in fp64, for
 * what rounding alone does; NULL: none. */
void pair_compare(struct pair *pair, const struct pair *wide, struct arena *arena);
/* Compares bytes of every class of ranks. */
void rehearsal_bytes(struct rehearsal *rehearsal, struct arena *arena);
/* Counts messages, of the plan itself too. What is wrong with a schedule, or NULL. */
const char *rehearsal_messages(struct rehearsal *rehearsal, struct arena *arena);

/* What was found, for people and as a JSON object. */
void rehearsal_report(const struct rehearsal *rehearsal, struct text *out);
void rehearsal_json(const struct rehearsal *rehearsal, struct text *out);

#endif
