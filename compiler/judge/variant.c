/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/variant.h"

#include "base/num.h"
#include "judge/traffic.h"
#include "judge/walk.h"

/* ---- the passes, on a changed plan --------------------------------------------------------- */

void variant_open(struct variant *variant, const struct plan *plan)
{
	*variant = (struct variant){.plan = *plan, .keep = arena_new(), .scratch = arena_new()};
	variant->strategies =
		ARENA_ARRAY(variant->keep, struct strategy, plan->nstrategies + 1);
	for (uint32_t i = 0; i < plan->nstrategies; i++)
		variant->strategies[i] = plan->strategies[i];
	variant->plan.strategies = variant->strategies;
}

void variant_close(struct variant *variant)
{
	arena_delete(variant->keep);
	arena_delete(variant->scratch);
}

struct strategy *variant_strategy(struct variant *variant, enum strategy_kind kind)
{
	for (uint32_t i = 0; i < variant->plan.nstrategies; i++)
		if (variant->strategies[i].kind == kind)
			return &variant->strategies[i];
	return NULL;
}

static uint64_t heaviest(const struct layout *layout)
{
	uint64_t most = 0;

	for (; layout; layout = layout->next)
		for (uint32_t i = 0; i < layout->nhomes; i++)
			if (layout->homes[i].arena > most)
				most = layout->homes[i].arena;
	return most;
}

bool variant_judge(struct variant *variant, struct work *work)
{
	struct work own = *work;
	struct graph *graph = ARENA_NEW(variant->keep, struct graph);
	struct program *program = ARENA_NEW(variant->keep, struct program);
	struct layout *layout = ARENA_NEW(variant->keep, struct layout);
	struct num peak;

	own.keep = variant->keep;
	own.scratch = variant->scratch;
	own.check_only = true;
	own.diags = diags_new(variant->keep, work->sources);
	if (!graph_build(&variant->plan, graph, &own) || !part_build(graph, program, &own) ||
	    !place_build(program, layout, &own) || own.diags->errors)
		return false;
	peak = num_plus(num_from(heaviest(layout)),
			num_from((uint64_t)variant->plan.device.outside.i));
	peak = num_plus(peak, num_from((uint64_t)variant->plan.memory.reserve.i));
	variant->peak = peak.value;
	variant->program = program;
	variant->sent = variant_sent(program);
	return !peak.overflow;
}

/* ---- bytes sent ---------------------------------------------------------------------------- */

/* Factors of the data ranks: ZeRO slices over some, and replicates its slices over the others. */
static uint32_t data_factors(const struct program *program)
{
	uint32_t mask = 0;

	for (uint32_t f = 0; f < program->flow->factors.n; f++)
		if (program->flow->factors.at[f].data)
			mask |= 1u << f;
	return mask;
}

uint64_t sent_all(struct sent sent)
{
	return num_plus(num_from(sent.weights), num_from(sent.gradients)).value;
}

struct counter {
	const struct program *program;
	uint32_t data;
	struct sent sent;
};

static void count_step(void *self, const struct segment *segment, const struct step *step,
		       uint64_t times)
{
	struct counter *c = self;
	uint64_t *sum, bytes = traffic_step_bytes(c->program, step);

	(void)segment;
	if (!bytes || !(c->program->groups[step->group].factors & c->data))
		return;
	sum = step->collective == COLLECTIVE_ALL_GATHER ? &c->sent.weights : &c->sent.gradients;
	*sum = num_plus(num_from(*sum), num_times(num_from(bytes), times)).value;
}

struct sent variant_sent(const struct program *program)
{
	struct sent most = {0, 0};

	for (; program; program = program->next) {
		struct counter c = {.program = program, .data = data_factors(program)};

		walk_steps(program, count_step, &c);
		if (sent_all(c.sent) > sent_all(most))
			most = c.sent;
	}
	return most;
}
