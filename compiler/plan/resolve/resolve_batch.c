/* SPDX-License-Identifier: Apache-2.0 */
/* global_batch = micro_batch * micro_batches * data ranks: two of the three are given. */
#include "base/num.h"
#include "plan/resolve/resolve.h"

struct batches {
	struct resolve *r;
	struct value *global, *micro, *count;
	int64_t ranks;
};

static bool given(const struct value *value)
{
	return value->origin != ORIGIN_UNSET;
}

static bool usable(const struct value *value)
{
	return given(value) && !value->poisoned && value->i > 0;
}

static struct value computed(enum value_type type, int64_t i, const char *from)
{
	struct value value = value_count(i, ORIGIN_COMPUTED);

	value.type = type;
	value.from = from;
	return value;
}

/* Axes of `data`, or of what stands for it in messages. */
static void label_ranks(const struct batches *b, struct diag *diag)
{
	const struct strategy *data = plan_strategy(b->r->plan, STRATEGY_DATA);

	if (data)
		diag_label(diag, data->axes_span, "%lld data rank%s", (long long)b->ranks,
			   b->ranks == 1 ? "" : "s");
}

/* Multiples of `step` on both sides of `value`. */
static void note_nearest(struct diag *diag, int64_t value, int64_t step)
{
	int64_t low = value / step * step;

	if (low && low < INT64_MAX - step)
		diag_note(diag, "the nearest batches that work are `%lld seq` and `%lld seq`",
			  (long long)low, (long long)(low + step));
	else
		diag_note(diag, "the smallest batch that works is `%lld seq`", (long long)step);
}

/* Behind "sequence". */
static const char *does(int64_t n)
{
	return n == 1 ? " does" : "s do";
}

static void refuse_global(const struct batches *b, int64_t step)
{
	struct diag *diag = diag_add(
		b->r->work->diags, E0322, b->global->span,
		"%lld sequence%s not divide into micro-batches of %lld on %lld data rank%s",
		(long long)b->global->i, does(b->global->i), (long long)b->micro->i,
		(long long)b->ranks, b->ranks == 1 ? "" : "s");

	diag_at(diag, "%lld / (%lld * %lld) leaves a remainder of %lld", (long long)b->global->i,
		(long long)b->micro->i, (long long)b->ranks, (long long)(b->global->i % step));
	diag_label(diag, b->micro->span, "each rank takes %lld at a time", (long long)b->micro->i);
	label_ranks(b, diag);
	diag_note(diag, "global_batch = micro_batch * micro_batches * data ranks");
	note_nearest(diag, b->global->i, step);
	b->global->poisoned = true;
}

/* *out = a * b * c; false with E0114 at `at`. */
static bool product(const struct batches *b, const struct value *at, int64_t x, int64_t y,
		    int64_t *out)
{
	if (!__builtin_mul_overflow(x, y, out) && *out > 0)
		return true;
	diag_add(b->r->work->diags, E0114, at->span, "the batch does not fit 64 bits");
	return false;
}

static void compute_count(const struct batches *b)
{
	struct arena *arena = b->r->work->keep;
	int64_t step;

	if (!product(b, b->micro, b->micro->i, b->ranks, &step))
		return;
	if (b->global->i % step) {
		refuse_global(b, step);
		return;
	}
	*b->count = computed(TYPE_COUNT, b->global->i / step,
			     arena_text(arena, "%lld / (%lld * %lld)", (long long)b->global->i,
					(long long)b->micro->i, (long long)b->ranks));
}

static void compute_global(const struct batches *b)
{
	struct arena *arena = b->r->work->keep;
	int64_t step, all;

	if (!product(b, b->micro, b->micro->i, b->ranks, &step) ||
	    !product(b, b->count, step, b->count->i, &all))
		return;
	*b->global = computed(TYPE_SEQS, all,
			      arena_text(arena, "%lld * %lld * %lld", (long long)b->micro->i,
					 (long long)b->count->i, (long long)b->ranks));
}

static void compute_micro(const struct batches *b)
{
	struct arena *arena = b->r->work->keep;
	int64_t step;
	struct diag *diag;

	if (!product(b, b->count, b->count->i, b->ranks, &step))
		return;
	if (b->global->i % step == 0) {
		*b->micro = computed(TYPE_SEQS, b->global->i / step,
				     arena_text(arena, "%lld / (%lld * %lld)",
						(long long)b->global->i, (long long)b->count->i,
						(long long)b->ranks));
		return;
	}
	diag = diag_add(b->r->work->diags, E0322, b->global->span,
			"%lld sequence%s not divide into %lld micro-batch%s on %lld data rank%s",
			(long long)b->global->i, does(b->global->i), (long long)b->count->i,
			b->count->i == 1 ? "" : "es", (long long)b->ranks,
			b->ranks == 1 ? "" : "s");
	diag_at(diag, "%lld / (%lld * %lld) leaves a remainder of %lld", (long long)b->global->i,
		(long long)b->count->i, (long long)b->ranks, (long long)(b->global->i % step));
	label_ranks(b, diag);
	note_nearest(diag, b->global->i, step);
	b->global->poisoned = true;
}

static void compare(const struct batches *b)
{
	int64_t step, all;
	struct diag *diag;

	if (!product(b, b->micro, b->micro->i, b->ranks, &step) ||
	    !product(b, b->count, step, b->count->i, &all) || all == b->global->i)
		return;
	diag = diag_add(b->r->work->diags, E0322, b->global->span,
			"the three batches do not agree: %lld * %lld * %lld is %lld, not %lld",
			(long long)b->micro->i, (long long)b->count->i, (long long)b->ranks,
			(long long)all, (long long)b->global->i);
	diag_label(diag, b->micro->span, "micro_batch");
	diag_label(diag, b->count->span, "micro_batches");
	label_ranks(b, diag);
	diag_note(diag, "global_batch = micro_batch * micro_batches * data ranks; one of the three "
			"may be left out");
	b->count->poisoned = true;
}

static void complete(const struct batches *b)
{
	int known = usable(b->global) + usable(b->micro) + usable(b->count);
	int written = given(b->global) + given(b->micro) + given(b->count);

	bool meant = suggested(b->r, "global_batch") || suggested(b->r, "micro_batch") ||
		     suggested(b->r, "micro_batches");

	if (written < 2 && meant)
		return;
	if (written < 2)
		missing(b->r, b->r->plan->train_span,
			"block `train` needs two of `global_batch`, `micro_batch` and "
			"`micro_batches`");
	else if (known == 3)
		compare(b);
	else if (known < 2 || written == 3)
		return;
	else if (!given(b->count))
		compute_count(b);
	else if (!given(b->global))
		compute_global(b);
	else
		compute_micro(b);
}

/* --- what follows from the batches ------------------------------------------------------ */

static void refuse_warmup(struct resolve *r, const struct value *warmup, int64_t step)
{
	struct diag *diag =
		diag_add(r->work->diags, E0210, warmup->span,
			 "%lld tokens of warm-up are no whole number of steps",
			 (long long)warmup->i);
	int64_t low = warmup->i / step * step;

	diag_at(diag, "a step has %lld tokens, %lld are left over", (long long)step,
		(long long)(warmup->i % step));
	if (low < INT64_MAX - step)
		diag_note(diag, "the nearest are `%lld tokens` (%lld steps) and `%lld tokens`",
			  (long long)low, (long long)(low / step), (long long)(low + step));
}

static void warmup_steps(struct resolve *r)
{
	struct plan_train *train = &r->plan->train;
	struct value *warmup = &r->plan->schedule.warmup, steps;
	int64_t step;

	if (warmup->poisoned || warmup->type != TYPE_TOKENS)
		return;
	if (!usable(&train->global_batch) || !usable(&train->seq_len) ||
	    __builtin_mul_overflow(train->global_batch.i, train->seq_len.i, &step)) {
		*warmup = value_poison(warmup->span);
		return;
	}
	if (warmup->i % step) {
		refuse_warmup(r, warmup, step);
		*warmup = value_poison(warmup->span);
		return;
	}
	steps = value_count(warmup->i / step, warmup->origin);
	steps.span = warmup->span;
	steps.from = arena_text(r->work->keep, "%lld tokens / %lld", (long long)warmup->i,
				(long long)step);
	*warmup = steps;
}

static void poison(struct value *value)
{
	if (!usable(value))
		*value = value_poison(value->span);
}

void resolve_batches(struct resolve *r)
{
	struct plan *plan = r->plan;
	struct plan_train *train = &plan->train;
	struct batches b = {r, &train->global_batch, &train->micro_batch, &train->micro_batches,
			    plan->data_ranks};

	/* Without the number of data ranks no batch can be checked or worked out. */
	if (!plan->mesh_poisoned)
		complete(&b);
	poison(b.global);
	poison(b.micro);
	poison(b.count);
	plan->micro_batches = b.count->poisoned ? 1 : b.count->i;
	if (train->lanes.origin == ORIGIN_UNSET) {
		train->lanes = value_count(plan->data_ranks, ORIGIN_DEFAULT);
		train->lanes.from = "data ranks";
	}
	warmup_steps(r);
}
