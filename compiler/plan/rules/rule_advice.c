/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that advise: a pipeline that mostly waits, a vocabulary that falls between tiles, settings
 * that change nothing. */
#include "plan/rules/plan_rules.h"

/* Turns of one direction on the busiest stage, and all of a step, waiting included. With fewer
 * micro-batches than stages a chunk waits until the one before it has come round. */
struct turns {
	uint64_t busy, all;
};

static struct turns turns_of(uint64_t stages, uint64_t chunks, uint64_t batches)
{
	struct turns turns = {chunks * batches, chunks * batches + stages - 1};

	if (batches < stages)
		turns.all = chunks * stages + batches - 1;
	return turns;
}

/* "48 %"; of a step in which something is done 99 at most. */
static char *idle_text(struct turns turns, struct arena *arena)
{
	unsigned __int128 share = (unsigned __int128)(turns.all - turns.busy) * 200 + turns.all;

	share = share / 2 / turns.all;
	return arena_text(arena, "%d %%", share > 99 ? 99 : (int)share);
}

/* The fewest micro-batches with which a quarter at most is spent waiting. */
static uint64_t enough(uint64_t stages, uint64_t chunks)
{
	uint64_t least = (3 * (stages - 1) + chunks - 1) / chunks;

	return least > stages ? least : stages;
}

static void report_idle(const struct plan *plan, struct turns turns, struct work *work)
{
	const struct strategy *pipeline = plan_strategy(plan, STRATEGY_PIPELINE);
	uint64_t stages = (uint64_t)plan_ranks(plan, pipeline);
	uint64_t chunks = (uint64_t)plan->pipeline.chunks.i;
	unsigned long long batches = (unsigned long long)plan->train.micro_batches.i;
	const char *idle = idle_text(turns, work->keep);
	const struct value *batch = &plan->train.global_batch;
	struct diag *diag;

	if (batches < stages)
		diag = diag_add(work->diags, W0503, pipeline->span,
				"%llu micro-batch%s for %llu stages: the pipeline is idle for %s "
				"of the step",
				batches, batches == 1 ? "" : "es", (unsigned long long)stages,
				idle);
	else
		diag = diag_add(work->diags, W0503, pipeline->span,
				"the pipeline is idle for %s of the step", idle);
	diag_at(diag, "%llu stages: %llu of %llu slots are fill and drain",
		(unsigned long long)stages, (unsigned long long)(turns.all - turns.busy),
		(unsigned long long)turns.all);
	label_axes(diag, plan, pipeline);
	diag_label(diag, plan->train.micro_batches.span.hi ? plan->train.micro_batches.span
							   : batch->span,
		   "%llu micro-batch%s a rank", batches, batches == 1 ? "" : "es");
	diag_note(diag, "%llu micro-batches or more are idle for a quarter at most",
		  (unsigned long long)enough(stages, chunks));
}

/* Fewer micro-batches than stages, or two fifths of the step spent waiting. */
bool rule_pipeline_idle(const struct plan *plan, struct work *work)
{
	const struct strategy *pipeline = plan_strategy(plan, STRATEGY_PIPELINE);
	uint64_t stages = (uint64_t)plan_ranks(plan, pipeline);
	uint64_t chunks = (uint64_t)plan->pipeline.chunks.i;
	uint64_t batches = (uint64_t)plan->train.micro_batches.i;
	struct turns turns;

	if (stages < 2)
		return true;
	turns = turns_of(stages, chunks, batches);
	if (batches >= stages && 5 * (turns.all - turns.busy) < 2 * turns.all)
		return true;
	report_idle(plan, turns, work);
	return false;
}

/* Matmuls of GPUs are made of tiles of 8 in the narrowest types. */
bool rule_vocab_grid(const struct plan *plan, struct work *work)
{
	enum { TILE = 8 };
	const struct model *model = rule_model(plan);
	const struct value *sm = &plan->device.sm;
	const struct dim *vocab;
	uint64_t ranks, rows;
	struct diag *diag;

	if (model->vocab == NO_ID || !value_known(sm) || !sm->i)
		return true;
	vocab = &model->dims[model->vocab];
	ranks = (uint64_t)tensor_cut(plan, model->vocab);
	if (vocab->padded % (ranks * TILE) == 0 || !num_align(vocab->size, ranks * TILE, &rows))
		return true;
	diag = diag_add(work->diags, W0514, vocab->span.hi ? vocab->span : model->span,
			"`%s` (%llu) is no multiple of %llu", vocab->name->text,
			(unsigned long long)vocab->padded, (unsigned long long)(ranks * TILE));
	diag_at(diag, "%llu %% %llu is %llu", (unsigned long long)vocab->padded,
		(unsigned long long)(ranks * TILE),
		(unsigned long long)(vocab->padded % (ranks * TILE)));
	diag_note(diag, "`vocab_pad_to = %llu` in the model pads it to %llu rows, %llu unused",
		  (unsigned long long)(ranks * TILE), (unsigned long long)rows,
		  (unsigned long long)(rows - vocab->size));
	return false;
}

static bool written(const struct value *value)
{
	return value_known(value) && value->origin != ORIGIN_DEFAULT;
}

static void no_effect(struct work *work, const struct value *value, const char *name,
		      struct span other, const char *why)
{
	diag_label(diag_add(work->diags, W0515, value->span, "`%s` has no effect here", name),
		   other, "%s", why);
}

/* Settings of how weights are gathered, where they are not in slices, or all at once. A value that
 * would be the default stands in an expanded plan. */
static bool zero_effect(const struct plan *plan, struct work *work)
{
	const struct strategy *zero = plan_strategy(plan, STRATEGY_ZERO);
	const struct value *gather = &plan->zero.gather, *prefetch = &plan->zero.prefetch;
	bool late, ahead;

	if (!zero || !value_known(gather) || !value_known(prefetch))
		return true;
	late = zero->stage < 3 && written(gather) &&
	       !name_is(gather->word, zero->stage == 1 ? "step" : "use");
	ahead = written(prefetch) && prefetch->i != 1;
	if (late)
		no_effect(work, gather, "gather", zero->span,
			  "stage 3 alone keeps slices of weights");
	if (ahead && zero->stage < 3)
		no_effect(work, prefetch, "prefetch", zero->span,
			  "stage 3 alone keeps slices of weights");
	else if (ahead && prefetch->i && name_is(gather->word, "step"))
		no_effect(work, prefetch, "prefetch", gather->span, "gathered once a step");
	return !late && !ahead;
}

/* What is to happen every so many steps, of which there are fewer. */
static bool every_effect(const struct plan *plan, const struct value *every, struct work *work)
{
	const struct value *steps = &plan->train.steps;

	if (!written(every) || !value_known(steps) || every->i <= steps->i)
		return true;
	no_effect(work, every, "every", steps->span,
		  arena_text(work->keep, "%lld steps in all", (long long)steps->i));
	return false;
}

bool rule_no_effect(const struct plan *plan, struct work *work)
{
	bool zero = zero_effect(plan, work);
	bool validate = every_effect(plan, &plan->validate.every, work);
	bool checkpoint = !plan->has_checkpoint ||
			  every_effect(plan, &plan->checkpoint.every, work);

	return zero && validate && checkpoint;
}
