/* SPDX-License-Identifier: Apache-2.0 */
/* A small plan against its twin on one rank: the bounds. */
#include "driver/rehearse/rehearsal.h"

#include <math.h>
#include <string.h>

static const struct bound bounds[] = {
#define BOUND(type, loss, norm, gradient, weights, floor) \
	{#type, loss, norm, gradient, weights, floor},
#include "driver/rehearse/bounds.def"
#undef BOUND
};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

const struct bound *bound_of(const struct plan_precision *precision)
{
	const struct value *const types[] = {&precision->compute, &precision->params,
					     &precision->gradients, &precision->optimizer,
					     &precision->loss, &precision->gradient_wire,
					     &precision->partial_wire};
	int narrowest = 0;

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		for (int k = narrowest + 1; k < BOUNDS; k++)
			if (types[i]->origin != ORIGIN_UNSET && types[i]->word &&
			    !strcmp(types[i]->word->text, bounds[k].type))
				narrowest = k;
	return &bounds[narrowest];
}

/* What may be off: the bound, or more where rounding on one rank does a share of that. */
static double most_of(const struct pair *pair, double bound, double own)
{
	return fmax(bound, pair->bound->floor * own);
}

/* `wide`: the pair in fp64, or NULL. */
static const char *read_logs(struct pair *pair, const struct pair *wide, struct arena *arena)
{
	struct run_log alone, split, exact;
	struct log_difference own = {0};
	const char *fault = log_read(pair->alone.log, &alone, arena);

	if (!fault)
		fault = log_read(pair->split.log, &split, arena);
	if (!fault && wide)
		fault = log_read(wide->alone.log, &exact, arena);
	if (fault)
		return fault;
	if (!split.nsteps || split.nsteps != alone.nsteps)
		return arena_text(arena, "%u steps against %u", split.nsteps, alone.nsteps);
	if (wide)
		own = log_compare(&exact, &alone);
	pair->steps = split.nsteps;
	pair->log = log_compare(&alone, &split);
	pair->loss_most = most_of(pair, pair->bound->loss, own.loss);
	pair->norm_most = most_of(pair, pair->bound->norm, own.norm);
	return NULL;
}

/* The worst gradient, by the share that it takes of what it may be off. */
static const char *read_gradients(struct pair *pair, const struct pair *wide, struct arena *arena)
{
	struct tensors_difference split, own = {0};
	const char *fault = tensors_compare(pair->alone.gradients, pair->split.gradients, &split,
					    arena);
	double worst = -1;

	if (!fault && wide)
		fault = tensors_compare(wide->alone.gradients, pair->alone.gradients, &own, arena);
	for (uint32_t i = 0; !fault && i < split.n; i++) {
		double most = most_of(pair, pair->bound->gradient, own.n ? own.all[i].off : 0);

		if (split.all[i].off / most <= worst || isnan(worst))
			continue;
		worst = split.all[i].off / most;
		pair->gradient = split.all[i];
		pair->gradient_most = most;
	}
	return fault;
}

static const char *read_weights(struct pair *pair, struct arena *arena)
{
	struct tensors_difference difference;
	const char *fault = tensors_compare(pair->alone.weights, pair->split.weights, &difference,
					    arena);

	if (!fault)
		pair->weights = difference.whole;
	return fault;
}

void pair_compare(struct pair *pair, const struct pair *wide, struct arena *arena)
{
	const struct bound *bound = pair->bound;
	const struct trial *trials[] = {&pair->split, &pair->alone};

	for (int i = 0; i < 2 && !pair->fault; i++)
		if (trials[i]->fault)
			pair->fault = arena_text(arena, "%s %s", trials[i]->name, trials[i]->fault);
	if (!pair->fault)
		pair->fault = read_logs(pair, wide, arena);
	if (!pair->fault)
		pair->fault = read_gradients(pair, wide, arena);
	if (!pair->fault)
		pair->fault = read_weights(pair, arena);
	pair->equal = !pair->fault && compare_within(pair->log.loss, pair->loss_most) &&
		      compare_within(pair->log.norm, pair->norm_most) &&
		      compare_within(pair->gradient.off, pair->gradient_most) &&
		      (bound->weights == 0 || compare_within(pair->weights, bound->weights));
}
