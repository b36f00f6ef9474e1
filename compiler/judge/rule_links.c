/* SPDX-License-Identifier: Apache-2.0 */
/* W0502: the axis of `tensor` over the link between nodes. */
#include "judge/rules.h"

#include "base/num.h"
#include "judge/traffic.h"

/* One run of the forward pass of a layer on a rank, as far as the axis takes part. */
struct layer_traffic {
	uint64_t bytes, flops;
	uint32_t gathers, scatters, sums;
};

static void add_step(struct layer_traffic *traffic, const struct program *program,
		     const struct step *step, uint32_t mask)
{
	if (step->kind == STEP_KERNEL) {
		traffic->flops = num_plus(num_from(traffic->flops), num_from(step->flops)).value;
		return;
	}
	if (!(program->groups[step->group].factors & mask))
		return;
	traffic->bytes = num_plus(num_from(traffic->bytes),
				  num_from(traffic_step_bytes(program, step)))
				 .value;
	traffic->gathers += step->collective == COLLECTIVE_ALL_GATHER;
	traffic->scatters += step->collective == COLLECTIVE_REDUCE_SCATTER;
	traffic->sums += step->collective == COLLECTIVE_ALL_REDUCE;
}

static struct layer_traffic layer_traffic_of(const struct program *program, uint32_t axis)
{
	struct layer_traffic traffic = {0};
	uint32_t mask = 0;

	for (uint32_t f = 0; f < program->flow->factors.n; f++)
		if (program->flow->factors.at[f].axis == axis)
			mask |= 1u << f;
	for (uint32_t i = 0; i < program->nsegments; i++) {
		const struct segment *segment = &program->segments[i];

		if (segment->phase != PHASE_FORWARD || segment->region != REGION_REPEAT)
			continue;
		for (uint32_t k = 0; k < segment->nsteps; k++)
			add_step(&traffic, program, &segment->steps[k], mask);
	}
	return traffic;
}

static double peak_rate(const struct plan *plan)
{
	const struct name *type = plan->precision.compute.word;
	const struct value *rate = name_is(type, "bf16")   ? &plan->device.bf16
				   : name_is(type, "fp64") ? &plan->device.fp64
							   : &plan->device.fp32;

	return rate->origin == ORIGIN_UNSET || rate->poisoned ? 0 : rate->f;
}

/* "2 all-gathers, 2 reduce-scatters" */
static const char *counted(const struct layer_traffic *traffic, struct arena *arena)
{
	const struct {
		uint32_t n;
		const char *name;
	} kinds[] = {{traffic->gathers, "all-gather"},
		     {traffic->scatters, "reduce-scatter"},
		     {traffic->sums, "all-reduce"}};
	const char *text = "";

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].n)
			text = arena_text(arena, "%s%s%u %s%s", text, *text ? ", " : "",
					  kinds[i].n, kinds[i].name, kinds[i].n == 1 ? "" : "s");
	return text;
}

static void report(const struct verdict *verdict, uint32_t axis,
		   const struct layer_traffic *traffic, double link, double rate,
		   struct work *work)
{
	const struct plan *plan = verdict->plan;
	struct arena *arena = work->scratch;
	struct diag *diag = diag_add(
		work->diags, W0502, plan->axes[axis].size_span,
		"axis `%s` crosses nodes, and its traffic takes longer than the arithmetic",
		plan->axes[axis].name->text);

	diag_at(diag, "%s of traffic a layer, %s of arithmetic at the peak rate",
		rules_time((double)traffic->bytes / link, arena),
		rules_time((double)traffic->flops / rate, arena));
	diag_label(diag, plan->cluster_link.bandwidth.span, "%.3g GB/s for each %s", link / 1e9,
		   rules_device(plan));
	diag_note(diag, "forward, one layer, one micro-batch: %.0f MB a %s (%s)",
		  (double)traffic->bytes / 1e6, rules_device(plan), counted(traffic, arena));
	diag_note(diag, "the last axis of the mesh is numbered fastest; a node has %lld devices",
		  (long long)plan->cluster.devices.i);
}

bool rule_slow_axis(const struct verdict *verdict, struct work *work)
{
	const struct plan *plan = verdict->plan;
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	double rate = peak_rate(plan);
	bool good = true;

	for (uint32_t i = 0; tensor && rate > 0 && i < tensor->naxes; i++) {
		struct layer_traffic traffic =
			layer_traffic_of(verdict->layout->program, tensor->axes[i]);
		double link = rules_rate(plan, tensor->axes[i]);

		if (!rules_crosses(plan, tensor->axes[i]) || link <= 0 ||
		    (double)traffic.bytes / link <= (double)traffic.flops / rate)
			continue;
		good = false;
		report(verdict, tensor->axes[i], &traffic, link, rate, work);
	}
	return good;
}
