/* SPDX-License-Identifier: Apache-2.0 */
/* A small plan as text: the plan with other numbers, through the printer of `planc expand`. */
#include "driver/rehearse/small.h"

#include <string.h>

/* What is written into: a copy of the plan. */
struct writer {
	const struct plan *full;
	const struct small *small;
	struct plan *plan;
	struct work *work;
};

static struct value number(enum value_type type, int64_t count, const char *from, struct work *work)
{
	struct value value = value_as(value_count(count, ORIGIN_FILE), type, "", work);

	value.from = from;
	return value;
}

static struct value literal(const char *text, enum value_type type, struct work *work)
{
	struct value value = value_as(value_literal(text, work->names), type, "", work);

	value.origin = ORIGIN_FILE;
	value.from = "rehearsal";
	return value;
}

/* The number with what stands in the plan beside it: "12 288, gpt.plan:30". */
static void set(struct writer *w, struct value *value, int64_t count)
{
	struct arena *arena = w->work->keep;
	const char *where = "";

	if (value->origin != ORIGIN_UNSET && value->i == count)
		return;
	if (value->span.hi)
		where = arena_text(arena, ", %s",
				   sources_where(w->work->sources, arena, value->span));
	*value = number(value->type, count,
			arena_text(arena, "for %s%s", value_text(value, arena), where), w->work);
}

static struct value absent(void)
{
	return (struct value){.origin = ORIGIN_UNSET};
}

/* --- what there is ---------------------------------------------------------------------- */

static void write_cluster(struct writer *w, int64_t nodes, int64_t devices)
{
	struct plan *plan = w->plan;
	struct work *work = w->work;

	plan->cluster.nodes = number(TYPE_COUNT, nodes, "rehearsal", work);
	plan->cluster.devices = number(TYPE_COUNT, devices, "rehearsal", work);
	plan->device = (struct plan_device){
		.memory = literal("64 GiB", TYPE_BYTES, work),
		.reserved = literal("0 B", TYPE_BYTES, work),
		.outside = literal("64 MiB", TYPE_BYTES, work),
		.sustained = literal("70 %", TYPE_SHARE, work),
		.sm = literal("0", TYPE_COUNT, work),
		.cores = literal("1", TYPE_COUNT, work),
		.bandwidth = absent(), .bf16 = absent(), .tf32 = absent(), .fp32 = absent(),
		.fp64 = absent(),
	};
	plan->device_name = "core";
	plan->node_link_name = plan->cluster_link_name = NULL;
}

static void write_mesh(struct writer *w)
{
	struct plan *plan = w->plan;

	plan->axes = ARENA_ARRAY(w->work->keep, struct axis, plan->naxes + 1);
	for (uint32_t i = 0; i < plan->naxes; i++) {
		struct axis *axis = &plan->axes[i];

		*axis = w->full->axes[i];
		axis->from = axis->size == w->small->axes[i]
				     ? axis->from
				     : arena_text(w->work->keep, "for %lld",
						  (long long)axis->size);
		axis->size = w->small->axes[i];
	}
	write_cluster(w, w->small->nodes, w->small->devices);
}

/* --- model, precision ------------------------------------------------------------------- */

static void write_model(struct writer *w)
{
	struct model *model = ARENA_NEW(w->work->keep, struct model);
	uint32_t dim = 0;

	*model = *w->full->model;
	model->settings = ARENA_ARRAY(w->work->keep, struct model_setting, model->nsettings + 1);
	for (uint32_t i = 0; i < model->nsettings; i++) {
		model->settings[i] = w->full->model->settings[i];
		if (model->settings[i].size)
			set(w, &model->settings[i].value, (int64_t)w->small->dims[dim++]);
	}
	w->plan->model = model;
	set(w, &w->plan->model_block.vocab_pad_to, w->small->pad);
}

static void write_precision(struct writer *w)
{
	struct value word = literal("fp64", TYPE_WORD, w->work);

	w->plan->precision = (struct plan_precision){
		.compute = word, .params = word, .gradients = word, .optimizer = word,
		.loss = word, .gradient_wire = absent(), .partial_wire = absent(),
		.stochastic_rounding = literal("false", TYPE_BOOL, w->work),
	};
}

/* --- split ------------------------------------------------------------------------------ */

static void write_list(struct writer *w)
{
	struct plan *plan = w->plan;
	uint32_t n = (uint32_t)(w->small->stages * w->small->chunks);

	plan->layer_list = ARENA_ARRAY(w->work->keep, struct value, n);
	for (uint32_t i = 0; i < n; i++)
		plan->layer_list[i] = number(TYPE_COUNT, w->small->list[i], NULL, w->work);
	plan->nlayer_list = n;
	plan->pipeline.layers.items = plan->layer_list;
	plan->pipeline.layers.nitems = n;
}

static void write_split(struct writer *w)
{
	struct plan *plan = w->plan;
	const struct small *small = w->small;

	plan->strategies = ARENA_ARRAY(w->work->keep, struct strategy, plan->nstrategies + 1);
	for (uint32_t i = 0; i < plan->nstrategies; i++) {
		plan->strategies[i] = w->full->strategies[i];
		if (plan->strategies[i].replicate > 1)
			plan->strategies[i].replicate = small->copies;
	}
	set(w, &plan->pipeline.chunks, small->chunks);
	set(w, &plan->zero.prefetch, small->prefetch);
	if (small->list)
		write_list(w);
}

static bool by_stage(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->nrecompute; i++)
		if (plan->recompute[i].first_stage >= 0)
			return true;
	return false;
}

/* Each stage has the line of the stage that it stands for. */
static void write_recompute(struct writer *w)
{
	struct plan *plan = w->plan;

	if (!by_stage(w->full))
		return;
	plan->recompute =
		ARENA_ARRAY(w->work->keep, struct recompute, (size_t)w->small->stages);
	plan->nrecompute = 0;
	for (int64_t i = 0; i < w->small->stages; i++) {
		const struct recompute *line = small_recompute(w->full, w->small->stage_of[i]);
		struct recompute *mine = &plan->recompute[plan->nrecompute];

		if (!line)
			continue;
		*mine = *line;
		mine->first_stage = mine->last_stage = i;
		plan->nrecompute++;
	}
}

/* The same training on one rank: no axes, no strategies, nothing computed again. */
static void write_alone(struct writer *w)
{
	struct plan *plan = w->plan;

	write_cluster(w, 1, 1);
	plan->naxes = plan->nstrategies = plan->nrules = 0;
	plan->recompute = ARENA_NEW(w->work->keep, struct recompute);
	plan->recompute[0] = (struct recompute){.first_stage = -1, .last_stage = -1};
	plan->nrecompute = 1;
	plan->train.lanes = absent();
	set(w, &plan->train.micro_batches,
	    w->small->global_batch / (int64_t)w->small->dims[w->full->model->batch]);
}

/* --- train ------------------------------------------------------------------------------ */

static void write_data(struct writer *w)
{
	struct plan_train *train = &w->plan->train;

	train->data_glob = number(TYPE_COUNT, 0, "rehearsal", w->work);
	train->data_glob.type = TYPE_STRING;
	train->data_glob.word = name_of(w->work->names, SMALL_DATA);
}

/* The bounds hold for a learning rate of at most 1e-3, and where eps hides the noise of gradients
 * that are zero in exact arithmetic. */
static void write_optimizer(struct writer *w)
{
	struct plan_optimizer *optimizer = &w->plan->optimizer;
	struct value lr = literal("1e-3", TYPE_FACTOR, w->work);
	struct value eps = literal("1e-6", TYPE_FACTOR, w->work);

	if (value_compare(&optimizer->lr, &lr) > 0)
		optimizer->lr = lr;
	if (value_compare(&optimizer->eps, &eps) < 0)
		optimizer->eps = eps;
}

static void write_train(struct writer *w)
{
	const struct small *small = w->small;
	const struct model *model = w->full->model;
	struct plan_train *train = &w->plan->train;

	set(w, &train->seq_len, (int64_t)small->dims[model->tokens]);
	set(w, &train->micro_batch, (int64_t)small->dims[model->batch]);
	set(w, &train->micro_batches, small->micro_batches);
	set(w, &train->global_batch, small->global_batch);
	if (small->lanes)
		set(w, &train->lanes, small->lanes);
	set(w, &train->steps, SMALL_STEPS);
	if (w->plan->schedule.warmup.i > 1)
		set(w, &w->plan->schedule.warmup, 1);
	write_optimizer(w);
	write_data(w);
}

struct text small_text(const struct plan *plan, const struct small *small,
		       enum small_layout layout, bool wide, struct work *work)
{
	struct plan *copy = ARENA_NEW(work->keep, struct plan);
	struct writer w = {plan, small, copy, work};
	struct text text = text_new(work->keep);

	*copy = *plan;
	copy->has_checkpoint = false;
	copy->nrequires = copy->noutside = 0;
	copy->validate.every = absent();
	write_model(&w);
	write_mesh(&w);
	write_split(&w);
	write_recompute(&w);
	write_train(&w);
	if (wide)
		write_precision(&w);
	if (layout == SMALL_ALONE)
		write_alone(&w);
	plan_expand(copy, work, &text);
	return text;
}
