/* SPDX-License-Identifier: Apache-2.0 */
/* Training of one rank, from the weights to the last line. */
#ifndef CORE_LOOP_H
#define CORE_LOOP_H

#include "core/rt_report.h"
#include "core/rt_core.h"
#include "core/weights.h"

struct loop {
	struct rt *rt;
	struct report report;
	int64_t steps, done; /* optimizer steps: asked for, taken */
	int64_t validated;   /* step after which validation ran last, -1: never */
	uint64_t rounds;     /* of world_post */
	unsigned char *text; /* of --sample: prompt and what follows */
	int64_t text_used, text_room;
};

/* Runs the rank: initial weights (drawn, or read from `init` unless NULL), steps, validation,
 * saving, sample. 0, or -1 after rt_fail. */
int loop_run(struct rt *rt, const struct weights_file *init);

/* One optimizer step; fills `out` but for the time. step.c */
int step_run(struct rt *rt, double lr, struct report_step *out);

/* Forward of all held-out windows; the mean loss. step.c */
int step_validate(struct rt *rt, double *loss);

/* Continues the text of --sample; rank 0 prints it. The ranks with the first share of the batch
 * compute, all the same. sample.c */
int sample_open(struct loop *loop);
int sample_run(struct loop *loop);

/* What several ranks hold of a parameter is compared: the first that differs fails the run.
 * replicas.c */
int replicas_check(struct loop *loop);

/* Posts `word`, waits for all ranks; afterwards world_read(.., round) has all words. -1: another
 * rank failed. */
int loop_gather(struct loop *loop, uint64_t word, uint64_t *round);

#endif
