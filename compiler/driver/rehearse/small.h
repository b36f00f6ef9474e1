/* SPDX-License-Identifier: Apache-2.0 */
/* A plan made small: the same mesh, split, schedule, precision and recompute on at most 16 ranks,
 * with a model and batches that train in a moment. What is chosen here are numbers alone; all else
 * is taken over from the plan. */
#ifndef REHEARSE_SMALL_H
#define REHEARSE_SMALL_H

#include "plan/plan.h"

enum { SMALL_RANKS = 16, SMALL_STAGES = SMALL_RANKS, SMALL_STEPS = 4 };
#define SMALL_DATA "data"

struct small {
	int64_t *axes;               /* sizes, by axis of the plan */
	int64_t ranks, nodes, devices; /* devices of a node */
	int64_t tensor, copies;      /* ranks of `tensor`; of key/value heads, copies of each */
	int64_t data;
	int64_t stages, chunks;
	int64_t stage_of[SMALL_STAGES]; /* the stage of the plan that each stands for */
	int64_t *list;               /* layers of each chunk, where the plan has a list; or NULL */
	int64_t layers, prefetch;
	uint64_t *dims;              /* sizes, by dim of the model; batch and tokens too */
	int64_t pad;                 /* vocab_pad_to */
	int64_t micro_batches, lanes; /* lanes 0: not set */
	int64_t global_batch;
};

/* Chooses. Assumes: a plan that passed the rules. False: E0340, an axis has no place among the
 * ranks. */
bool small_choose(const struct plan *plan, struct small *out, struct work *work);

/* The parts of small_choose, in their order. small_mesh: axes, stages, layers. */
bool small_mesh(const struct plan *plan, struct small *out, struct work *work);
/* Layers of chunk number `chunk` of the plan itself, in the order of the layers. */
uint64_t small_full_layers(const struct plan *plan, uint64_t chunk);
/* The recompute line that holds for a stage of the plan itself. */
const struct recompute *small_recompute(const struct plan *plan, int64_t stage);
void small_layers(const struct plan *plan, struct small *out, struct work *work);
void small_batches(const struct plan *plan, struct small *out);
void small_model(const struct plan *plan, struct small *out, struct work *work);

/* What a rehearsal runs: the small plan, or the same training on one rank. */
enum small_layout { SMALL_SPLIT, SMALL_ALONE };

/* The small plan as a file that needs nothing else; `wide`: in fp64, else in the plan's own
 * precision. Its data are SMALL_DATA, beside where the program is started. */
struct text small_text(const struct plan *plan, const struct small *small,
		       enum small_layout layout, bool wide, struct work *work);

#endif
