/* SPDX-License-Identifier: Apache-2.0 */
/* Every resolved setting of a plan under the path at which a plan writes it. */
#include <string.h>

#include "plan/effect.h"
#include "plan/print/origin.h"

struct lister {
	const struct plan *plan;
	struct plan_settings *out;
	struct work *work;
};

static void add(struct lister *l, const char *path, const char *text)
{
	vec_push(l->work->keep, l->out, (struct plan_setting){path, text});
}

static void add_value(struct lister *l, const char *path, const struct value *value)
{
	if (value->origin != ORIGIN_UNSET && !value->poisoned)
		add(l, path, value_text(value, l->work->keep));
}

/* Rows of a block that are written in it; inner: those that another statement stands for. */
static void add_rows(struct lister *l, const char *title, enum block_id id, const void *from,
		     bool inner)
{
	const struct block_row *block = schema_block(id);

	for (uint32_t i = 0; i < block->nsettings; i++) {
		const struct setting_row *row = &block->settings[i];
		const struct value *value =
			(const struct value *)(const void *)((const char *)from + row->offset);

		if (schema_inner(row) == inner && row->type != TYPE_NONE)
			add_value(l, arena_text(l->work->keep, "%s.%s", title, row->name), value);
	}
}

static void add_block(struct lister *l, const char *title, enum block_id id, const void *from)
{
	add_rows(l, title, id, from, false);
}

static void add_cluster(struct lister *l)
{
	const struct plan *plan = l->plan;

	add_value(l, "cluster.nodes", &plan->cluster.nodes);
	add_value(l, "cluster.node.devices", &plan->cluster.devices);
	add(l, "device", plan->device_name ? plan->device_name : "?");
	add_block(l, "device", BLOCK_device, &plan->device);
	add_rows(l, "device.flops", BLOCK_device, &plan->device, true);
	if (plan->node_link_name)
		add_block(l, "cluster.node.fabric", BLOCK_link, &plan->node_link);
	if (plan->cluster_link_name)
		add_block(l, "cluster.fabric", BLOCK_link, &plan->cluster_link);
}

/* Ranks are numbered by the order of the axes. */
static void add_order(struct lister *l)
{
	const char *text = "";

	for (uint32_t i = 0; i < l->plan->naxes; i++)
		text = arena_text(l->work->keep, "%s%s%s", text, i ? ", " : "",
				  l->plan->axes[i].name->text);
	if (l->plan->naxes > 1)
		add(l, "mesh", text);
}

static void add_mesh(struct lister *l)
{
	add_order(l);
	for (uint32_t i = 0; i < l->plan->naxes; i++) {
		const struct axis *axis = &l->plan->axes[i];
		const char *promise = axis->within ? " within " : axis->across ? " across " : "";

		add(l, arena_text(l->work->keep, "mesh.%s", axis->name->text),
		    arena_text(l->work->keep, "%lld%s%s", (long long)axis->size, promise,
			       axis->place ? axis->place->text : ""));
	}
}

static void add_model(struct lister *l)
{
	const struct model *model = l->plan->model;

	if (!model)
		return;
	add(l, "model", model->architecture ? model->architecture->text : "?");
	for (uint32_t i = 0; i < model->nsettings; i++)
		add_value(l, arena_text(l->work->keep, "model.%s", model->settings[i].name->text),
			  &model->settings[i].value);
	add_block(l, "model", BLOCK_model, &l->plan->model_block);
}

static const char *strategy_text(struct lister *l, const struct strategy *strategy)
{
	const struct plan *plan = l->plan;
	struct arena *arena = l->work->keep;
	const char *text = strategy->kind == STRATEGY_ZERO
				   ? arena_text(arena, "%lld over", (long long)strategy->stage)
				   : "over";

	for (uint32_t i = 0; i < strategy->naxes; i++)
		text = arena_text(arena, "%s%s%s", text, i ? " * " : " ",
				  plan->axes[strategy->axes[i]].name->text);
	if (strategy->kind == STRATEGY_TENSOR && plan->model)
		text = arena_text(arena, "%s dims %s", text,
				  model_dims_text(plan->model, &strategy->dims, arena));
	if (strategy->replicate > 1)
		text = arena_text(arena, "%s { %s = replicate(%lld) }", text,
				  plan->model->dims[strategy->replicate_dim].name->text,
				  (long long)strategy->replicate);
	return text;
}

static void add_rules(struct lister *l)
{
	const struct plan *plan = l->plan;

	for (uint32_t i = 0; i < plan->nrules; i++) {
		const struct split_rule *rule = &plan->rules[i];

		add(l,
		    arena_text(l->work->keep, "split.%s : %s", rule->param->path,
			       plan->model->dims[rule->dim].name->text),
		    rule->axis == NO_ID ? "whole" : plan->axes[rule->axis].name->text);
	}
}

static void add_split(struct lister *l)
{
	const struct plan *plan = l->plan;

	for (uint32_t i = 0; i < plan->nstrategies; i++)
		add(l,
		    arena_text(l->work->keep, "split.%s", strategy_name(plan->strategies[i].kind)),
		    strategy_text(l, &plan->strategies[i]));
	if (plan_strategy(plan, STRATEGY_DATA))
		add_block(l, "split.data", BLOCK_data, &plan->data);
	if (plan_strategy(plan, STRATEGY_ZERO))
		add_block(l, "split.zero", BLOCK_zero, &plan->zero);
	if (plan_strategy(plan, STRATEGY_PIPELINE))
		add_block(l, "split.pipeline", BLOCK_pipeline, &plan->pipeline);
	add_rules(l);
}

static void add_memory(struct lister *l)
{
	const char *text = "";

	add_block(l, "memory", BLOCK_memory, &l->plan->memory);
	for (uint32_t i = 0; i < l->plan->nrecompute; i++) {
		struct text one = text_new(l->work->keep);

		recompute_text(&l->plan->recompute[i], &one);
		text = arena_text(l->work->keep, "%s%s%s", text, i ? ", " : "", one.at);
	}
	add(l, "memory.recompute", text);
}

static void add_optimizer(struct lister *l)
{
	const struct plan_optimizer *optimizer = &l->plan->optimizer;
	struct arena *arena = l->work->keep;

	add_value(l, "train.optimizer", &optimizer->kind);
	add_block(l, "train.optimizer", BLOCK_optimizer, optimizer);
	if (!optimizer->beta1.poisoned && !optimizer->beta2.poisoned)
		add(l, "train.optimizer.betas",
		    arena_text(arena, "[%s, %s]", value_text(&optimizer->beta1, arena),
			       value_text(&optimizer->beta2, arena)));
}

static void add_train(struct lister *l)
{
	const struct plan *plan = l->plan;
	const struct plan_train *train = &plan->train;

	add_block(l, "train", BLOCK_train, train);
	if (train->data_kind.word && train->data_glob.word)
		add(l, "train.data",
		    arena_text(l->work->keep, "%s(\"%s\")", train->data_kind.word->text,
			       train->data_glob.word->text));
	add_optimizer(l);
	add_value(l, "train.schedule", &plan->schedule.kind);
	add_block(l, "train.schedule", BLOCK_schedule, &plan->schedule);
	if (plan->validate.every.origin != ORIGIN_UNSET)
		add_block(l, "train.validate", BLOCK_validate, &plan->validate);
	if (plan->has_checkpoint)
		add_block(l, "checkpoint", BLOCK_checkpoint, &plan->checkpoint);
}

/* `peak_memory` and `<= 95 %`; a second one of a quantity has a number. */
static void add_requires(struct lister *l)
{
	const struct plan *plan = l->plan;

	for (uint32_t i = 0; i < plan->nrequires; i++) {
		const char *text = require_text(plan, &plan->requires[i], l -> work -> keep);
		size_t name = strcspn(text, " ");
		uint32_t before = 0;
		const char *path;

		for (uint32_t k = 0; k < i; k++)
		before += plan->requires[k].quantity == plan->requires[i].quantity &&
			  plan->requires[k].axis == plan->requires[i].axis;
		path = arena_text(l->work->keep, "require %.*s", (int)name, text);
		if (before)
			path = arena_text(l->work->keep, "%s (%u)", path, before + 1);
		add(l, path, text[name] ? text + name + 1 : "");
	}
}

void plan_settings(const struct plan *plan, struct plan_settings *out, struct work *work)
{
	struct lister l = {plan, out, work};

	*out = (struct plan_settings){0};
	add_cluster(&l);
	add_mesh(&l);
	add_model(&l);
	add_block(&l, "precision", BLOCK_precision, &plan->precision);
	add_split(&l);
	add_memory(&l);
	add_train(&l);
	add_requires(&l);
}
