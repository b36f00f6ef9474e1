/* SPDX-License-Identifier: Apache-2.0 */
/* What one stage does in a training step: the turns of its schedule, each step as often as they
 * call it. Nothing is counted by a formula of its own. */
#ifndef JUDGE_WALK_H
#define JUDGE_WALK_H

#include "part/program.h"

typedef void walk_visit(void *self, const struct segment *segment, const struct step *step,
			uint64_t times);

/* Every step of the bodies that run in a step of training (not start), with the number of times a
 * rank takes it, in the order begin, forward, backward, merge, update. */
void walk_steps(const struct program *program, walk_visit *visit, void *self);

/* Messages that a rank of the stage sends in a step to another stage, or receives, as often as the
 * walk of the schedule has them. */
struct walk_messages {
	uint32_t peer;
	bool receive, backward;
	bool past;             /* what passes by the layers: `parts` messages at once */
	uint64_t count, parts, bytes; /* bytes of all parts of one */
};
/* By peer, direction and kind; *n of them, in `arena`. */
struct walk_messages *walk_messages(const struct program *program, uint32_t *n,
				    struct arena *arena);

/* Arithmetic of a rank in a step; in floating-point operations, saturating. */
uint64_t walk_flops(const struct program *program);

#endif
