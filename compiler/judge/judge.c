/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/verdict.h"

#include "base/bug.h"
#include "base/num.h"
#include "judge/table_lines.h"
#include "judge/rules.h"

static uint32_t heaviest(const struct layout *layout)
{
	uint32_t best = 0;

	BUG_IF(!layout->nhomes, "a layout without roles");
	for (uint32_t i = 1; i < layout->nhomes; i++)
		if (layout->homes[i].arena > layout->homes[best].arena)
			best = i;
	return best;
}

/* The first of the fullest phases. */
static enum phase fullest(const struct home *home)
{
	enum phase best = PHASE_INIT;

	for (enum phase phase = PHASE_INIT; phase < PHASES; phase++)
		if (home->peak[phase].total > home->peak[best].total)
			best = phase;
	return best;
}

/* (stages - 1) / (chunks * micro-batches) */
static double bubble_of(const struct plan *plan)
{
	int64_t chunks = plan->pipeline.chunks.i > 0 ? plan->pipeline.chunks.i : 1;

	if (plan->stages < 2 || plan->micro_batches < 1)
		return 0;
	return (double)(plan->stages - 1) / ((double)chunks * (double)plan->micro_batches);
}

/* Sums that leave 64 bits stay at the largest number: larger than any device. */
static void add_bytes(struct verdict *out, const struct plan *plan)
{
	struct num peak = num_from(out->arena);

	out->outside = (uint64_t)plan->device.outside.i;
	out->reserve = (uint64_t)plan->memory.reserve.i;
	out->peak = num_plus(num_plus(peak, num_from(out->outside)), num_from(out->reserve)).value;
	out->capacity = (uint64_t)plan->device.memory.i;
	out->limit = (uint64_t)plan->device.reserved.i < out->capacity
			     ? out->capacity - (uint64_t)plan->device.reserved.i
			     : 0;
}

/* Sequences of a step, where the plan gives micro-batches instead. */
static struct num batch_of(const struct plan *plan)
{
	if (plan->train.global_batch.i > 0)
		return num_from((uint64_t)plan->train.global_batch.i);
	return num_times(num_times(num_from((uint64_t)plan->train.micro_batch.i),
				   (uint64_t)plan->micro_batches),
			 (uint64_t)plan->data_ranks);
}

static void add_quantities(struct verdict *out, const struct program *program)
{
	const struct plan *plan = program->plan;

	if (!graph_params(program->graph, &out->params))
		out->params = UINT64_MAX;
	out->tokens_per_step = num_times(batch_of(plan), (uint64_t)plan->train.seq_len.i).value;
	out->bubble = bubble_of(plan);
}

/* On one stage. */
static void judge_layout(const struct layout *layout, struct verdict *out, struct work *work)
{
	const struct home *home;

	*out = (struct verdict){.plan = layout->program->plan, .layout = layout};
	out->role = heaviest(layout);
	home = &layout->homes[out->role];
	out->phase = fullest(home);
	out->at = home->peak[out->phase];
	out->arena = home->arena;
	add_quantities(out, layout->program);
	add_bytes(out, out->plan);
	lines_build(out, work);
}

void judge(const struct layout *layout, struct verdict *out, struct work *work)
{
	uint32_t n = layout->program->stages, best = 0, i = 0;
	struct verdict *all = ARENA_ARRAY(work->keep, struct verdict, n ? n : 1);

	for (; layout; layout = layout->next, i++) {
		judge_layout(layout, &all[i], work);
		if (all[i].arena > all[best].arena)
			best = i;
	}
	*out = all[best];
	out->stages = i > 1 ? all : NULL;
	rules_run(out, work);
}
