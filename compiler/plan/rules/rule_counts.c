/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on what the program counts: tokens, samples, threads. Later products of these fit their
 * words. */
#include "plan/rules/plan_rules.h"

#include "rt/workspace.h"

static bool fits(const struct value *a, const struct value *b)
{
	struct num product;

	if (!value_known(a) || !value_known(b) || a->i <= 0 || b->i <= 0)
		return true;
	product = num_times(num_from((uint64_t)a->i), (uint64_t)b->i);
	return !product.overflow && product.value <= INT64_MAX;
}

/* A value that was worked out has no place of its own. */
static void refuse(const struct plan *plan, struct work *work, const struct value *value,
		   const char *what, const struct value *other, const char *times)
{
	struct span span = value->span.hi ? value->span : plan->train_span;
	struct diag *diag = diag_add(work->diags, E0114, span, "the %s do not fit 64 bits", what);

	diag_at(diag, "times %lld %s", (long long)other->i, times);
	diag_label(diag, other->span, "%s", times);
}

/* Samples are numbered through all steps, tokens through one. */
bool rule_counts(const struct plan *plan, struct work *work)
{
	const struct plan_train *train = &plan->train;

	if (!fits(&train->global_batch, &train->seq_len)) {
		refuse(plan, work, &train->global_batch, "tokens of a step", &train->seq_len,
		       "tokens");
		return false;
	}
	if (fits(&train->steps, &train->global_batch))
		return true;
	refuse(plan, work, &train->steps, "samples of the training", &train->global_batch,
	       "samples a step");
	return false;
}

bool rule_threads(const struct plan *plan, struct work *work)
{
	const struct value *cores = &plan->device.cores;

	if (!value_known(cores) || cores->i <= RT_THREADS_MAX)
		return true;
	diag_at(diag_add(work->diags, E0115, cores->span, "a rank cannot have %lld threads",
			 (long long)cores->i),
		"at most %d", RT_THREADS_MAX);
	return false;
}
