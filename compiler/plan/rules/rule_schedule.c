/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on what happens in a step: chunks, layers, batches, lanes, lengths, recompute. */
#include <string.h>

#include "plan/combinations.h"
#include "plan/rules/plan_rules.h"

static bool positive(const struct value *value)
{
	return value_known(value) && value->i > 0;
}

bool rule_chunks(const struct plan *plan, struct work *work)
{
	const struct strategy *pipeline = plan_strategy(plan, STRATEGY_PIPELINE);
	const struct value *chunks = &plan->pipeline.chunks, *kind = &plan->pipeline.schedule;
	bool interleaved;
	struct diag *diag;

	if (!pipeline)
		return true;
	if (!positive(chunks) || !value_known(kind))
		return false;
	interleaved = name_is(kind->word, "interleaved_1f1b");
	if (interleaved && plan_ranks(plan, pipeline) < 2) {
		diag = diag_add(work->diags, E0323, kind->span,
				"interleaving needs two stages or more");
		label_axes(diag, plan, pipeline);
		return false;
	}
	if (interleaved && chunks->i == 1) {
		diag = diag_add(work->diags, E0323, kind->span,
				"`interleaved_1f1b` needs two chunks or more on each stage");
		diag_label(diag, chunks->span, "one chunk");
		return false;
	}
	if (feature_clash(plan, FEATURE_chunks) != FEATURES) {
		diag = diag_add(work->diags, E0323, chunks->span,
				"schedule `%s` has one chunk a stage", kind->word->text);
		diag_label(diag, kind->span, "`interleaved_1f1b` has several");
		return false;
	}
	return true;
}

/* "1, 2, 4": numbers of chunks (or stages) that divide `layers` beside `other`. False if there are
 * none. */
static bool note_divisors(struct diag *diag, const char *what, uint64_t layers, uint64_t other,
			  struct work *work)
{
	if (!other || layers % other != 0)
		return false;
	diag_note(diag, "%s that divide: %s", what,
		  num_divisors(work->keep, layers / other, layers / other));
	return true;
}

/* "[3, 3, 2]": what `spread` does; "" where that is long. */
static const char *spread_list(uint64_t layers, uint64_t parts, struct work *work)
{
	enum { LISTED = 16 };
	const char *list = "";

	for (uint64_t i = 0; parts <= LISTED && i < parts; i++)
		list = arena_text(work->keep, "%s%s%llu", i ? list : "[", i ? ", " : "",
				  (unsigned long long)(layers / parts + (i < layers % parts)));
	return *list ? arena_text(work->keep, "%s]", list) : "";
}

static void note_spread(struct diag *diag, uint64_t layers, uint64_t parts, struct work *work)
{
	const char *list = spread_list(layers, parts, work);
	uint64_t each = layers / parts;

	diag_note(diag, "`layers = spread` makes chunks of %llu and %llu layers%s%s%s",
		  (unsigned long long)(each + 1), (unsigned long long)each, *list ? ": `" : "",
		  list, *list ? "`" : "");
}

/* Chunks have a layer at least. */
static void note_most(struct diag *diag, uint64_t layers, uint64_t stages)
{
	if (layers < stages)
		diag_note(diag, "at most %llu stages have a layer", (unsigned long long)layers);
	else
		diag_note(diag, "at most %llu chunk%s a stage ha%s a layer",
			  (unsigned long long)(layers / stages), layers / stages == 1 ? "" : "s",
			  layers / stages == 1 ? "s" : "ve");
}

/* What would be valid: other chunks, other stages, other layers. */
static void note_even(struct diag *diag, uint64_t layers, uint64_t stages, uint64_t chunks,
		      struct work *work)
{
	struct num parts = num_times(num_from(stages), chunks);
	bool any = chunks > 1 && note_divisors(diag, "chunks a stage", layers, stages, work);

	any |= note_divisors(diag, "numbers of stages", layers, chunks, work);
	if (!any && !parts.overflow)
		diag_note(diag, "layers that divide: %llu, %llu and so on",
			  (unsigned long long)parts.value, 2 * (unsigned long long)parts.value);
	if (!parts.overflow && parts.value < layers)
		note_spread(diag, layers, parts.value, work);
	else if (chunks > 1)
		note_most(diag, layers, stages);
}

static bool check_even(const struct plan *plan, uint64_t stages, uint64_t chunks, struct work *work)
{
	const struct model *model = rule_model(plan);
	const struct strategy *pipeline = plan_strategy(plan, STRATEGY_PIPELINE);
	struct num parts = num_times(num_from(stages), chunks);
	struct diag *diag;

	if (!parts.overflow && model->layers % parts.value == 0)
		return true;
	diag = diag_add(work->diags, E0320,
			plan->pipeline.layers.span.hi ? plan->pipeline.layers.span : pipeline->span,
			chunks > 1 ? "%llu layers do not divide into %llu stages of %llu chunks"
				   : "%llu layers do not divide into %llu stages",
			(unsigned long long)model->layers, (unsigned long long)stages,
			(unsigned long long)chunks);
	diag_at(diag, "`even` never rounds");
	diag_label(diag, model->layers_span, "%llu layers", (unsigned long long)model->layers);
	label_axes(diag, plan, pipeline);
	note_even(diag, model->layers, stages, chunks, work);
	return false;
}

static bool check_spread(const struct plan *plan, uint64_t stages, uint64_t chunks,
			 struct work *work)
{
	const struct model *model = rule_model(plan);
	struct num parts = num_times(num_from(stages), chunks);
	struct diag *diag;

	if (!parts.overflow && model->layers >= parts.value)
		return true;
	diag = diag_add(work->diags, E0320, plan->pipeline.layers.span,
			"%llu layers are fewer than %llu chunks", (unsigned long long)model->layers,
			(unsigned long long)parts.value);
	diag_label(diag, model->layers_span, "%llu layers", (unsigned long long)model->layers);
	label_axes(diag, plan, plan_strategy(plan, STRATEGY_PIPELINE));
	note_most(diag, model->layers, stages);
	return false;
}

static void note_list(struct diag *diag, uint64_t layers, struct num parts, struct work *work)
{
	const char *list = parts.overflow || parts.value > layers
				   ? ""
				   : spread_list(layers, parts.value, work);

	if (*list)
		diag_note(diag, "a list that fits: `%s`", list);
}

static bool check_list(const struct plan *plan, uint64_t stages, uint64_t chunks, struct work *work)
{
	const struct model *model = rule_model(plan);
	struct num parts = num_times(num_from(stages), chunks), sum = num_from(0);
	struct diag *diag;

	for (uint32_t i = 0; i < plan->nlayer_list; i++) {
		const struct value *value = &plan->layer_list[i];

		if (value->poisoned)
			return false;
		if (value->i <= 0) {
			diag_add(work->diags, E0320, value->span, "a chunk has at least one layer");
			return false;
		}
		sum = num_plus(sum, num_from((uint64_t)value->i));
	}
	if (!sum.overflow && sum.value == model->layers && plan->nlayer_list == parts.value)
		return true;
	if (plan->nlayer_list != parts.value)
		diag = diag_add(work->diags, E0320, plan->pipeline.layers.span,
				"the list has %u entries for %llu chunks", plan->nlayer_list,
				(unsigned long long)parts.value);
	else
		diag = diag_add(work->diags, E0320, plan->pipeline.layers.span,
				"the list has %llu layer%s, the model %llu",
				(unsigned long long)sum.value, sum.value == 1 ? "" : "s",
				(unsigned long long)model->layers);
	diag_label(diag, model->layers_span, "%llu layers", (unsigned long long)model->layers);
	label_axes(diag, plan, plan_strategy(plan, STRATEGY_PIPELINE));
	note_list(diag, model->layers, parts, work);
	return false;
}

bool rule_layers_divide(const struct plan *plan, struct work *work)
{
	const struct strategy *pipeline = plan_strategy(plan, STRATEGY_PIPELINE);
	const struct model *model = rule_model(plan);
	const struct value *layers = &plan->pipeline.layers;
	uint64_t stages = (uint64_t)plan_ranks(plan, pipeline), chunks;

	if (!pipeline)
		return true;
	if (!model || !positive(&plan->pipeline.chunks) || layers->poisoned)
		return false;
	chunks = (uint64_t)plan->pipeline.chunks.i;
	if (plan->nlayer_list)
		return check_list(plan, stages, chunks, work);
	if (name_is(layers->word, "spread"))
		return check_spread(plan, stages, chunks, work);
	return check_even(plan, stages, chunks, work);
}

/* The resolver reports E0322 where it works out the third batch; later rules need all three. */
bool rule_batch_divides(const struct plan *plan, struct work *work)
{
	(void)work;
	return positive(&plan->train.global_batch) && positive(&plan->train.micro_batch) &&
	       positive(&plan->train.micro_batches);
}

/* planc proves a schedule turn by turn, and each rank holds its own: some 2 million turns take half
 * a second and 100 bytes each. Each stage has a program. */
enum { TURNS_MAX = 1 << 21, STAGES_MAX = 1024 };

bool rule_schedule_length(const struct plan *plan, struct work *work)
{
	const struct strategy *pipeline = plan_strategy(plan, STRATEGY_PIPELINE);
	uint64_t batches = (uint64_t)plan->train.micro_batches.i;
	uint64_t stages = (uint64_t)plan_ranks(plan, pipeline);
	uint64_t chunks = stages > 1 ? (uint64_t)plan->pipeline.chunks.i : 1;
	uint64_t most = TURNS_MAX / 2 / stages / chunks;
	struct diag *diag;

	if (stages <= STAGES_MAX && batches <= most)
		return true;
	if (stages > STAGES_MAX || !most)
		diag = diag_add(work->diags, E0327, pipeline->span,
				"a pipeline of %llu stages of %llu chunk%s is too long",
				(unsigned long long)stages, (unsigned long long)chunks,
				chunks == 1 ? "" : "s");
	else
		diag = diag_add(work->diags, E0327, stages > 1 ? pipeline->span : plan->train_span,
				"%llu micro-batches a step are more than %llu stage%s take%s",
				(unsigned long long)batches, (unsigned long long)stages,
				stages == 1 ? "" : "s", stages == 1 ? "s" : "");
	label_axes(diag, plan, pipeline);
	if (stages <= STAGES_MAX && most)
		diag_label(diag, plan->train.micro_batch.span, "a larger one leaves fewer");
	if (stages > STAGES_MAX)
		diag_note(diag, "at most %d stages", STAGES_MAX);
	else
		diag_note(diag, "at most %llu %s",
			  (unsigned long long)(most ? most : TURNS_MAX / 2 / stages),
			  most ? "micro-batches" : "chunks");
	return false;
}

/* Lanes of a rank are a subtree of the tree that adds all lanes, and each has whole micro-batches.
 */
bool rule_lanes(const struct plan *plan, struct work *work)
{
	const struct value *lanes = &plan->train.lanes;
	uint64_t ranks = (uint64_t)plan_ranks(plan, plan_strategy(plan, STRATEGY_DATA)), own;
	uint64_t batches = (uint64_t)plan->train.micro_batches.i;
	const char *valid = "";
	struct diag *diag;

	if (lanes->poisoned)
		return false;
	if (!positive(lanes))
		return true;
	own = (uint64_t)lanes->i / ranks;
	if ((uint64_t)lanes->i % ranks == 0 && (own & (own - 1)) == 0 &&
	    batches % own == 0)
		return true;
	diag = diag_add(work->diags, E0324, lanes->span,
			"%lld lanes do not go with %llu data rank%s of %llu micro-batches",
			(long long)lanes->i, (unsigned long long)ranks,
			ranks == 1 ? "" : "s", (unsigned long long)batches);
	label_axes(diag, plan, plan_strategy(plan, STRATEGY_DATA));
	for (uint64_t k = 1; k <= batches && batches % k == 0; k *= 2)
		valid = arena_text(work->keep, "%s%s%llu", valid, *valid ? ", " : "",
				   (unsigned long long)(k * ranks));
	diag_note(diag, "a rank holds a power of two of lanes, each of whole micro-batches: %s",
		  valid);
	return false;
}

bool rule_context(const struct plan *plan, struct work *work)
{
	const struct model *model = rule_model(plan);
	const struct value *length = &plan->train.seq_len;

	if (!model || !positive(length))
		return false;
	for (uint32_t i = 0; i < model->ncalls; i++) {
		const struct model_call *call = &model->calls[i];
		const struct dim *dim = call->from.n ? &model->dims[call->from.at[0]] : NULL;
		struct diag *diag;

		if (call->op != OPERATOR_lookup || call->operands[0] != GIVEN_POSITION ||
		    (uint64_t)length->i <= dim->size)
			continue;
		diag = diag_add(work->diags, E0325, length->span,
				"sequences of %lld tokens are longer than `%s` (%llu)",
				(long long)length->i, dim->name->text,
				(unsigned long long)dim->size);
		diag_label(diag, dim->span, "positions that have a weight");
		return false;
	}
	return true;
}

bool rule_warmup(const struct plan *plan, struct work *work)
{
	const struct value *warmup = &plan->schedule.warmup, *steps = &plan->train.steps;

	if (!value_known(warmup) || !value_known(steps) || warmup->i <= steps->i)
		return true;
	diag_label(diag_add(work->diags, E0115, warmup->span,
			    "a warm-up of %lld steps is longer than the training",
			    (long long)warmup->i),
		   steps->span, "%lld steps", (long long)steps->i);
	return false;
}

/* Measured: the relative error of a bf16 sum is 3.5e-3 after 8 terms, 2.3e-2 after 512; a constant
 * stops growing at 256. */
bool rule_bf16_accumulation(const struct plan *plan, struct work *work)
{
	enum { TERMS = 16 };
	const struct value *type = &plan->precision.gradients, *lanes = &plan->train.lanes;
	int64_t ranks = plan_ranks(plan, plan_strategy(plan, STRATEGY_DATA)), terms;
	struct diag *diag;

	if (!value_known(type) || !name_is(type->word, "bf16"))
		return true;
	terms = plan->train.micro_batches.i;
	if (positive(lanes))
		terms /= lanes->i / ranks;
	if (terms <= TERMS)
		return true;
	diag = diag_add(work->diags, W0507, plan->precision_span,
			"%lld micro-batches are added up in bf16", (long long)terms);
	diag_label(diag, plan->train.micro_batch.span, "%lld at once",
		   (long long)plan->train.micro_batch.i);
	diag_note(diag, "a bf16 sum stops growing at 256 equal terms; `gradients = fp32` keeps the "
			"sum in fp32");
	return false;
}

/* True if every operator of a group, and of groups in it, is attention. */
static bool only_attention(const struct model *model, const char *group)
{
	size_t length = strlen(group);
	bool any = false;

	for (uint32_t i = 0; i < model->ncalls; i++) {
		const char *at = model->calls[i].group;

		if (strncmp(at, group, length) || (at[length] && at[length] != '.'))
			continue;
		if (model->calls[i].op != OPERATOR_attend)
			return false;
		any = true;
	}
	return any;
}

bool rule_tiled_recompute(const struct plan *plan, struct work *work)
{
	const struct model *model = rule_model(plan);
	const struct value *attention = &plan->memory.attention;
	bool good = true;

	if (!model || !value_known(attention) || !name_is(attention->word, "tiled"))
		return true;
	for (uint32_t i = 0; i < plan->nrecompute; i++)
		for (uint32_t k = 0; k < plan->recompute[i].ngroups; k++) {
			const char *group = plan->recompute[i].groups[k];

			if (plan->recompute[i].kind != RECOMPUTE_SELECTIVE || !group ||
			    !only_attention(model, group))
				continue;
			good = false;
			diag_note(diag_add(work->diags, W0510, plan->recompute[i].span,
					   "recomputing `%s` saves little: tiled attention keeps "
					   "no scores",
					   group),
				  "it saves the output and one row statistic a head");
		}
	return good;
}
