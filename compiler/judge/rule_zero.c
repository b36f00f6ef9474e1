/* SPDX-License-Identifier: Apache-2.0 */
/* What `zero` costs and saves: W0504 sends again for every micro-batch, W0512 a lower stage needs
 * no more memory, W0513 most of the memory does not shrink. Figures of other choices come from
 * the same passes. */
#include "judge/rules.h"

#include <string.h>

#include "base/num.h"
#include "judge/variant.h"

/* Ranks over which `zero` slices; 1: it does nothing. */
static int64_t slices(const struct plan *plan)
{
	return plan_ranks(plan, plan_strategy(plan, STRATEGY_ZERO));
}

static bool unsaid(const struct value *value, const char *word)
{
	return value->origin == ORIGIN_DEFAULT && name_is(value->word, word);
}

/* "27.3 of 80.0 GiB" */
static const char *of_limit(const struct verdict *verdict, uint64_t peak, struct arena *arena)
{
	const char *fits = peak <= verdict->limit ? "" : ", which does not fit";

	return arena_text(arena, "%s of %s%s", num_bytes(arena, peak, 2),
			  num_bytes(arena, verdict->limit, 2), fits);
}

/* "9.6 GB": what is sent is counted in powers of 1000, as links are. */
static const char *sent_text(uint64_t bytes, struct arena *arena)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
		value /= 1000;
	return arena_text(arena, value < 100 && unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* ---- W0504 --------------------------------------------------------------------------------- */

/* What the defaults of the stage do again for every micro-batch. */
struct again {
	bool gathers, reduces;
};

static struct again again_of(const struct plan *plan)
{
	int64_t stage = plan_strategy(plan, STRATEGY_ZERO)->stage;

	return (struct again){stage == 3 && unsaid(&plan->zero.gather, "use"),
			      stage >= 2 && unsaid(&plan->data.reduce, "micro_batch")};
}

static void once(struct variant *variant, struct again again, struct work *work)
{
	const struct name *step = name_of(work->names, "step");

	if (again.gathers)
		variant->plan.zero.gather.word = step;
	if (again.reduces)
		variant->plan.data.reduce.word = step;
}

/* Stage 1 with what its defaults are. */
static void first_stage(struct variant *variant, struct again again, struct work *work)
{
	once(variant, again, work);
	variant_strategy(variant, STRATEGY_ZERO)->stage = 1;
}

static const char *settings_text(struct again again)
{
	if (again.gathers && again.reduces)
		return "`gather = step` and `reduce = step` send";
	return again.gathers ? "`gather = step` sends" : "`reduce = step` sends";
}

static void note_choice(struct diag *diag, const struct verdict *verdict, struct variant *variant,
			const char *what, struct work *work)
{
	if (variant_judge(variant, work))
		diag_note(diag, "%s %s and %s %s (checked)", what,
			  sent_text(sent_all(variant->sent), work->scratch),
			  strstr(what, " and ") ? "need" : "needs",
			  of_limit(verdict, variant->peak, work->scratch));
	variant_close(variant);
}

static void note_choices(struct diag *diag, const struct verdict *verdict, struct again again,
			 struct work *work)
{
	struct variant variant;

	variant_open(&variant, verdict->plan);
	once(&variant, again, work);
	note_choice(diag, verdict, &variant, settings_text(again), work);
	variant_open(&variant, verdict->plan);
	first_stage(&variant, again, work);
	note_choice(diag, verdict, &variant, "`zero 1` sends", work);
	diag_note(diag, "a plan that says %s%s%s means it, and is not warned",
		  again.gathers ? "`gather = use`" : "",
		  again.gathers && again.reduces ? " and " : "",
		  again.reduces ? "`reduce = micro_batch`" : "");
}

static const struct program *first_program(const struct verdict *verdict)
{
	return verdict->stages ? verdict->stages[0].layout->program : verdict->layout->program;
}

/* "a step sends 917 GB of weights, 917 GB of gradients: 73 s at 25 GB/s", from each device */
static void label_sent(struct diag *diag, const struct verdict *verdict, struct again again,
		       struct arena *arena)
{
	const struct plan *plan = verdict->plan;
	struct sent sent = variant_sent(first_program(verdict));
	double rate = rules_rate(plan, plan_strategy(plan, STRATEGY_ZERO)->axes[0]);
	uint64_t bytes = (again.gathers ? sent.weights : 0) + (again.reduces ? sent.gradients : 0);
	const char *time = "";

	if (rate > 0)
		time = arena_text(arena, ": %s at %.3g GB/s",
				  rules_time((double)bytes / rate, arena), rate / 1e9);
	diag_at(diag, "a step sends %s%s%s%s%s%s",
		again.gathers ? sent_text(sent.weights, arena) : "",
		again.gathers ? " of weights" : "",
		again.gathers && again.reduces ? ", " : "",
		again.reduces ? sent_text(sent.gradients, arena) : "",
		again.reduces ? " of gradients" : "", time);
}

bool rule_again(const struct verdict *verdict, struct work *work)
{
	const struct plan *plan = verdict->plan;
	const struct strategy *zero = plan_strategy(plan, STRATEGY_ZERO);
	struct again again;
	struct diag *diag;

	if (slices(plan) < 2 || zero->stage < 2 || plan->micro_batches < 2)
		return true;
	again = again_of(plan);
	if (!again.gathers && !again.reduces)
		return true;
	diag = diag_add(work->diags, W0504, zero->span,
			"`zero %lld`%s %s again for each of %lld micro-batches",
			(long long)zero->stage, plan->stages > 1 ? " with `pipeline`" : "",
			again.gathers ? "gathers every weight" : "reduces every gradient",
			(long long)plan->micro_batches);
	label_sent(diag, verdict, again, work->scratch);
	if (plan->stages > 1)
		diag_label(diag, plan_strategy(plan, STRATEGY_PIPELINE)->span,
			   "%lld stages, %lld micro-batches", (long long)plan->stages,
			   (long long)plan->micro_batches);
	note_choices(diag, verdict, again, work);
	return false;
}

/* ---- E0401 --------------------------------------------------------------------------------- */

void rules_note_reduce(struct diag *diag, const struct verdict *verdict, struct work *work)
{
	const struct plan *plan = verdict->plan;
	const struct strategy *zero = plan_strategy(plan, STRATEGY_ZERO);
	struct variant variant;

	if (slices(plan) < 2 || zero->stage < 2 || !name_is(plan->data.reduce.word, "step"))
		return;
	variant_open(&variant, plan);
	variant.plan.data.reduce.word = name_of(work->names, "micro_batch");
	if (variant_judge(&variant, work))
		diag_note(diag,
			  "with `reduce = micro_batch`, and gradients in slices, it needs %s "
			  "(checked)",
			  of_limit(verdict, variant.peak, work->scratch));
	variant_close(&variant);
}

/* ---- W0512 --------------------------------------------------------------------------------- */

/* A lower stage as its line alone would be changed: settings that were not written follow. */
static void lower_stage(struct variant *variant, int64_t stage, struct work *work)
{
	struct again again = again_of(&variant->plan);

	again.reduces &= stage < 2;
	once(variant, again, work);
	variant_strategy(variant, STRATEGY_ZERO)->stage = stage;
}

bool rule_no_gain(const struct verdict *verdict, struct work *work)
{
	const struct plan *plan = verdict->plan;
	const struct strategy *zero = plan_strategy(plan, STRATEGY_ZERO);
	uint64_t best = verdict->peak;
	int64_t stage = 0;
	struct diag *diag;

	if (slices(plan) < 2)
		return true;
	for (int64_t lower = zero->stage - 1; lower >= 1; lower--) {
		struct variant variant;

		variant_open(&variant, plan);
		lower_stage(&variant, lower, work);
		if (variant_judge(&variant, work) && variant.peak <= best) {
			best = variant.peak;
			stage = lower;
		}
		variant_close(&variant);
	}
	if (!stage)
		return true;
	diag = diag_add(work->diags, W0512, zero->span,
			"`zero %lld` needs no less memory than `zero %lld`", (long long)zero->stage,
			(long long)stage);
	diag_at(diag, "%s, with `zero %lld` %s", num_bytes(work->scratch, verdict->peak, 2),
		(long long)stage, num_bytes(work->scratch, best, 2));
	if (zero->stage == 2 && name_is(plan->data.reduce.word, "step"))
		diag_note(diag, "with `reduce = step` whole gradients are kept");
	else
		diag_note(diag, "the buffers that gather and reduce a layer or a table at once "
				"outweigh what %lld ranks save",
			  (long long)slices(plan));
	return false;
}

/* ---- W0513 --------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct buffer *buffer)
{
	return buffer->bytes * buffer->layers * buffer->slots * buffer->levels;
}

/* Bytes of the heaviest rank that ZeRO slices. */
static uint64_t sliced(const struct program *program)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < program->nbuffers; i++)
		if (program->buffers[i].flat && program->buffers[i].life != LIFE_SEGMENT)
			sum += bytes_of(&program->buffers[i]);
	return sum;
}

/* The largest line of the table. */
static const struct verdict_line *largest(const struct verdict *verdict)
{
	const struct verdict_line *best = NULL;

	for (uint32_t i = 0; i < verdict->nlines; i++) {
		const struct verdict_line *line = &verdict->lines[i];

		if (!line->depth && (!best || line->bytes > best->bytes))
			best = line;
	}
	return best;
}

/* Where memory is scarce, and nine tenths of it stay whatever the number of ranks. */
bool rule_does_not_shrink(const struct verdict *verdict, struct work *work)
{
	const struct plan *plan = verdict->plan;
	const struct strategy *zero = plan_strategy(plan, STRATEGY_ZERO);
	const struct verdict_line *line = largest(verdict);
	uint64_t part = sliced(verdict->layout->program);
	struct diag *diag;

	if (slices(plan) < 2 || !line || verdict->peak < verdict->limit / 2 ||
	    part >= verdict->peak / 10)
		return true;
	diag = diag_add(work->diags, W0513, zero->span,
			"most of the memory does not shrink with more ranks of `%s`",
			plan->axes[zero->axes[0]].name->text);
	diag_at(diag, "it slices %s of %s", num_bytes(work->scratch, part, 2),
		num_bytes(work->scratch, verdict->peak, 2));
	diag_label(diag, plan->axes[zero->axes[0]].size_span, "%lld ranks",
		   (long long)plan->axes[zero->axes[0]].size);
	diag_note(diag, "the largest item is `%s`, %s", line->name,
		  num_bytes(work->scratch, line->bytes, 2));
	return false;
}
