/* SPDX-License-Identifier: Apache-2.0 */
/* What a rehearsal shows beside equality: bytes of each class of ranks, messages between stages. */
#include "driver/rehearse/rehearsal.h"

#include "part/turns.h"
#include "plan/rules/plan_rules.h"

/* The stage of a rank: its coordinates on the axes of the pipeline, the last axis fastest. */
static uint32_t stage_of(const struct plan *plan, uint32_t rank)
{
	const struct strategy *pipeline = plan_strategy(plan, STRATEGY_PIPELINE);
	int64_t stage = 0, weight = 1, left = rank;

	for (uint32_t i = plan->naxes; i-- > 0; left /= plan->axes[i].size) {
		if (!pipeline || !strategy_has_axis(pipeline, i))
			continue;
		stage += left % plan->axes[i].size * weight;
		weight *= plan->axes[i].size;
	}
	return (uint32_t)stage;
}

static void set_predicted(struct rehearsal *r, const struct layout *layout)
{
	r->nclasses = 0;
	for (; layout && r->nclasses < SMALL_STAGES; layout = layout->next)
		r->classes[r->nclasses++] =
			(struct rank_class){.predicted = layout->homes[0].arena, .allocated = -1};
}

static void add_rank(struct rank_class *class, const struct rank_bytes *rank)
{
	if (class->ranks++ == 0)
		class->allocated = rank->resident;
	if (class->allocated != rank->resident || rank->predicted != rank->resident)
		class->allocated = -1;
}

/* All pairs hold; the bytes shown are those of the plan's own precision, the last pair. */
void rehearsal_bytes(struct rehearsal *r, struct arena *arena)
{
	r->bytes_held = true;
	for (int i = 0; i < r->npairs; i++) {
		const struct trial *trial = &r->pairs[i].split;
		struct run_log log = {0};

		set_predicted(r, &trial->compiled.layout);
		if (!r->pairs[i].fault)
			r->bytes_held &= log_read(trial->log, &log, arena) == NULL;
		for (uint32_t rank = 0; rank < log.nranks; rank++)
			add_rank(&r->classes[stage_of(trial->compiled.plan, rank)],
				 &log.ranks[rank]);
		for (uint32_t k = 0; k < r->nclasses && log.nranks; k++)
			r->bytes_held &= r->classes[k].allocated ==
					 (int64_t)r->classes[k].predicted;
		r->bytes_held &= log.nranks == (uint32_t)r->small.ranks || r->pairs[i].fault;
	}
}

/* Messages of one pipeline in a step. */
static uint64_t sends_of(const struct rt_schedule *schedule, const char **fault,
			 struct arena *arena)
{
	struct rt_walk *walks;
	uint64_t sends = 0;

	*fault = NULL;
	if (schedule->stages <= 1)
		return 0;
	walks = turns_walks(schedule, arena);
	*fault = turns_fault(schedule, walks, arena);
	for (uint32_t stage = 0; stage < schedule->stages; stage++) {
		uint32_t all = walks[stage].first[rt_schedule_turns(schedule) + 1];

		for (uint32_t i = 0; i < all; i++)
			sends += !walks[stage].transfers[i].receive;
	}
	return sends;
}

const char *rehearsal_messages(struct rehearsal *r, struct arena *arena)
{
	const struct compiled *full = &r->outcome->compiled, *small = &r->pairs[0].split.compiled;
	const char *fault, *small_fault;
	uint64_t full_lines = (uint64_t)(full->plan->devices / full->plan->stages);
	uint64_t lines = (uint64_t)(r->small.ranks / r->small.stages);

	r->full_sends = full_lines * sends_of(&full->program.roles[0].schedule, &fault, arena);
	r->sends = lines * sends_of(&small->program.roles[0].schedule, &small_fault, arena);
	return fault ? fault : small_fault;
}
