/* SPDX-License-Identifier: Apache-2.0 */
/* Tree of an architecture and of a model block to struct model. */
#ifndef PLAN_MODEL_RESOLVE_H
#define PLAN_MODEL_RESOLVE_H

#include "plan/plan.h"

/* Fills plan->model and plan->model_block. `architecture` is its NODE_BLOCK; `model_block` the
 * NODE_BODY of the plan's model or NULL, `base_body` that of the library model it is based on or
 * NULL: settings of the former win. Expressions of both see sizes and options first, then `scope`
 * (may be NULL); those of the architecture see sizes and options only. False, with plan->poisoned
 * set and model->complete false, if a fault was reported. */
bool model_resolve(const struct node *architecture, const struct node *model_block,
		   const struct node *base_body, const struct scope *scope, struct plan *plan,
		   struct work *work);

/* Name and place of the model block; until then the architecture's. */
void model_named(struct plan *plan, const struct name *name, struct span span);

/* Sizes of the dims `batch` and `tokens` from plan->train.micro_batch and seq_len: call it once
 * both are known. Padding of the vocabulary is done by model_resolve. */
void model_set_batch(struct plan *plan);

#endif
