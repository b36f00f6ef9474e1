/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/variant.h"

#include "base/num.h"

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

static uint64_t type_bytes(enum rt_type type)
{
	static const uint8_t bytes[] = {
#define RT_TYPE(name, size, text) size,
#include "rt/types.def"
#undef RT_TYPE
	};

	return bytes[type];
}

uint64_t variant_step_bytes(const struct program *program, const struct step *step)
{
	uint64_t ranks, elements = (uint64_t)step->rows.value;
	struct num sent;

	if (step->kind != STEP_COLLECTIVE || step->collective == COLLECTIVE_SLICE ||
	    step->collective == COLLECTIVE_HAND)
		return 0;
	ranks = program->groups[step->group].ranks;
	if (step->collective == COLLECTIVE_ALL_GATHER)
		elements = (uint64_t)step->sizes[0].value * (uint64_t)step->sizes[1].value;
	sent = num_times(num_times(num_from(elements), type_bytes(step->type)), ranks - 1);
	if (step->collective == COLLECTIVE_ALL_GATHER ||
	    step->collective == COLLECTIVE_REDUCE_SCATTER)
		return sent.value;
	/* a reduce-scatter and an all-gather of blocks */
	return num_times(num_from(sent.value / ranks), 2).value;
}

/* Factors of the data ranks: ZeRO slices over some, and replicates its slices over the others. */
static uint32_t data_factors(const struct program *program)
{
	uint32_t mask = 0;

	for (uint32_t f = 0; f < program->flow->factors.n; f++)
		if (program->flow->factors.at[f].data)
			mask |= 1u << f;
	return mask;
}

/* Times that a segment runs for one micro-batch, or once a step. */
static uint64_t layers_of(const struct program *program, const struct segment *segment)
{
	return segment->by_layer ? program->roles[0].layers : 1;
}

uint64_t sent_all(struct sent sent)
{
	return num_plus(num_from(sent.weights), num_from(sent.gradients)).value;
}

static void add_segment(struct sent *sent, const struct program *program,
			const struct segment *segment)
{
	uint32_t data = data_factors(program);
	bool turns = segment->phase == PHASE_FORWARD || segment->phase == PHASE_BACKWARD;
	uint64_t often = turns ? (uint64_t)program->plan->micro_batches : 1;

	for (uint32_t i = 0; segment->phase != PHASE_INIT && i < segment->nsteps; i++) {
		const struct step *step = &segment->steps[i];
		bool gathers = step->collective == COLLECTIVE_ALL_GATHER;
		uint64_t *sum = gathers ? &sent->weights : &sent->gradients;
		struct num bytes = num_from(variant_step_bytes(program, step));

		if (!bytes.value || !(program->groups[step->group].factors & data))
			continue;
		bytes = num_times(bytes, layers_of(program, segment));
		bytes = num_times(bytes, step->first_only ? 1 : often);
		*sum = num_plus(num_from(*sum), bytes).value;
	}
}

struct sent variant_sent(const struct program *program)
{
	struct sent most = {0, 0};

	for (; program; program = program->next) {
		struct sent sent = {0, 0};

		for (uint32_t i = 0; i < program->nsegments; i++)
			add_segment(&sent, program, &program->segments[i]);
		if (sent_all(sent) > sent_all(most))
			most = sent;
	}
	return most;
}
