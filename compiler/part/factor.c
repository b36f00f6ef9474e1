/* SPDX-License-Identifier: Apache-2.0 */
#include "part/factor.h"

#include "base/bug.h"

static bool uses(const struct strategy *s, uint32_t axis)
{
	for (uint32_t i = 0; s && i < s->naxes; i++)
		if (s->axes[i] == axis)
			return true;
	return false;
}

static void add(struct factors *factors, struct factor factor)
{
	BUG_IF(factors->n == FACTOR_MAX, "more than %d factors in a mesh", FACTOR_MAX);
	factors->at[factors->n++] = factor;
}

/* Copies are the inner part of the axis, so that ranks that share a key/value head are neighbours
 * and heads stay contiguous blocks. */
static void add_tensor(struct factors *factors, struct factor factor, const struct strategy *s,
		       int64_t ncopies, struct work *work)
{
	factor.tensor = s->dims;
	factor.strategy = s;
	if (ncopies <= 1) {
		add(factors, factor);
		return;
	}
	struct factor copies = factor;
	factor.size /= ncopies;
	copies.size = ncopies;
	copies.tensor = dims_without(s->dims, s->replicate_dim);
	copies.name = name_of(work->names,
			      arena_text(work->keep, "%s_copies", factor.name->text));
	add(factors, factor);
	add(factors, copies);
}

static bool idle(const struct plan *plan, uint32_t axis)
{
	for (uint32_t i = 0; i < plan->nstrategies; i++)
		if (uses(&plan->strategies[i], axis))
			return false;
	return plan->axes[axis].size == 1;
}

struct factors factors_of(const struct plan *plan, struct work *work)
{
	const struct strategy *data = plan_strategy(plan, STRATEGY_DATA);
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const struct strategy *sequence = plan_strategy(plan, STRATEGY_SEQUENCE);
	const struct strategy *pipeline = plan_strategy(plan, STRATEGY_PIPELINE);
	struct factors factors = {.n = 0};
	for (uint32_t i = 0; i < plan->naxes; i++) {
		struct factor factor = {.name = plan->axes[i].name, .axis = i,
					.size = plan->axes[i].size};

		if (idle(plan, i))
			continue;
		factor.data = uses(data, i);
		factor.sequence = uses(sequence, i);
		factor.pipeline = uses(pipeline, i);
		factor.strategy = factor.data ? data : factor.pipeline ? pipeline : NULL;
		if (uses(tensor, i))
			add_tensor(&factors, factor, tensor, plan_copies(plan, tensor, i), work);
		else
			add(&factors, factor);
	}
	return factors;
}

uint64_t factors_ranks(const struct factors *factors, uint32_t mask)
{
	uint64_t ranks = 1;
	for (uint32_t i = 0; i < factors->n; i++)
		if (mask >> i & 1)
			ranks *= (uint64_t)factors->at[i].size;
	return ranks;
}
