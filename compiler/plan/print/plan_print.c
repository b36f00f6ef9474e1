/* SPDX-License-Identifier: Apache-2.0 */
/* --dump=plan: every value of a resolved plan, one a line. */
#include "plan/print/origin.h"
#include "plan/schema.h"

struct printer {
	const struct plan *plan;
	const struct work *work;
	struct text *out;
};

char *origin_text(const struct value *value, const struct work *work)
{
	struct arena *arena = work->keep;
	const char *where = value->span.hi ? sources_where(work->sources, arena, value->span) : "";
	const char *from = value->from;

	switch (value->origin) {
	case ORIGIN_UNSET:
		return arena_text(arena, "not given");
	case ORIGIN_DEFAULT:
		return from ? arena_text(arena, "default: %s", from)
			    : arena_text(arena, "default");
	case ORIGIN_COMPUTED:
		return arena_text(arena, "computed: %s", from ? from : "");
	case ORIGIN_COMMAND:
		return arena_text(arena, "%s", from ? from : "command line");
	default:
		break;
	}
	if (from && *where)
		return arena_text(arena, "%s, %s", from, where);
	return arena_text(arena, "%s", from ? from : where);
}

static void line(struct printer *p, const char *block, const char *name, const struct value *value)
{
	text_add(p->out, "%s.%s = %s", block, name,
		 value->poisoned		   ? "?"
		 : value->origin == ORIGIN_UNSET ? "-"
						 : value_text(value, p->work->keep));
	text_add(p->out, "  // %s\n", origin_text(value, p->work));
}

static void block(struct printer *p, const char *title, enum block_id id, const void *from)
{
	const struct block_row *row = schema_block(id);

	for (uint32_t k = 0; k < row->nsettings; k++)
		line(p, title, row->settings[k].name,
		     (const struct value *)((const char *)from + row->settings[k].offset));
}

static void print_mesh(struct printer *p)
{
	for (uint32_t k = 0; k < p->plan->naxes; k++) {
		const struct axis *axis = &p->plan->axes[k];

		text_add(p->out, "mesh.%s = %lld%s%s", axis->name->text, (long long)axis->size,
			 axis->within ? " within " : axis->across ? " across " : "",
			 axis->place ? axis->place->text : "");
		if (axis->from)
			text_add(p->out, "  // %s", axis->from);
		text_add(p->out, "\n");
	}
}

static void print_names(struct printer *p, const struct strategy *strategy)
{
	const struct plan *plan = p->plan;

	for (uint32_t k = 0; k < strategy->naxes; k++)
		text_add(p->out, "%s%s", k ? " * " : " over ",
			 plan->axes[strategy->axes[k]].name->text);
	for (uint32_t k = 0; k < strategy->dims.n; k++)
		text_add(p->out, "%s%s", k ? ", " : " dims [",
			 plan->model->dims[strategy->dims.at[k]].name->text);
	if (strategy->dims.n)
		text_add(p->out, "]");
}

static void print_split(struct printer *p)
{
	const struct plan *plan = p->plan;

	for (uint32_t k = 0; k < plan->nstrategies; k++) {
		const struct strategy *strategy = &plan->strategies[k];

		text_add(p->out, "split.%s", strategy_name(strategy->kind));
		if (strategy->kind == STRATEGY_ZERO)
			text_add(p->out, " %lld", (long long)strategy->stage);
		print_names(p, strategy);
		if (strategy->replicate > 1)
			text_add(p->out, " { %s = replicate(%lld) }",
				 plan->model->dims[strategy->replicate_dim].name->text,
				 (long long)strategy->replicate);
		text_add(p->out, "\n");
	}
	for (uint32_t k = 0; k < plan->nrules; k++)
		text_add(p->out, "split.rule %s : %s -> %s\n", plan->rules[k].param->path,
			 plan->model->dims[plan->rules[k].dim].name->text,
			 plan->rules[k].axis == NO_ID ? "whole"
						      : plan->axes[plan->rules[k].axis].name->text);
}

static void print_model(struct printer *p)
{
	const struct model *model = p->plan->model;

	if (!model)
		return;
	text_add(p->out, "model = %s : %s\n", model->name ? model->name->text : "?",
		 model->architecture ? model->architecture->text : "?");
	for (uint32_t k = 0; k < model->nsettings; k++)
		line(p, "model", model->settings[k].name->text, &model->settings[k].value);
	block(p, "model", BLOCK_model, &p->plan->model_block);
}

static void print_recompute(struct printer *p)
{
	for (uint32_t k = 0; k < p->plan->nrecompute; k++) {
		text_add(p->out, "memory.recompute = ");
		recompute_text(&p->plan->recompute[k], p->out);
		text_add(p->out, "\n");
	}
}

void recompute_text(const struct recompute *recompute, struct text *out)
{
	static const char *const forms[] = {"none", "block", "selective("};

	text_add(out, "%s", forms[recompute->kind]);
	for (uint32_t k = 0; k < recompute->ngroups; k++)
		text_add(out, "%s%s", k ? ", " : "", recompute->groups[k]);
	if (recompute->kind == RECOMPUTE_SELECTIVE)
		text_add(out, ")");
	if (recompute->first_stage >= 0)
		text_add(out, " on stage %lld..%lld", (long long)recompute->first_stage,
			 (long long)recompute->last_stage);
}

static void print_links(struct printer *p)
{
	const struct plan *plan = p->plan;

	if (plan->node_link_name)
		block(p, "node.fabric", BLOCK_link, &plan->node_link);
	if (plan->cluster_link_name)
		block(p, "cluster.fabric", BLOCK_link, &plan->cluster_link);
}

static void print_rest(struct printer *p)
{
	const struct plan *plan = p->plan;

	if (plan->has_checkpoint)
		block(p, "checkpoint", BLOCK_checkpoint, &plan->checkpoint);
	for (uint32_t k = 0; k < plan->nrequires; k++)
		text_add(p->out, "require %s\n",
			 require_text(plan, &plan->requires[k], p->work->keep));
	for (uint32_t k = 0; k < plan->noutside; k++)
		text_add(p->out, "outside %s\n", plan->outside[k].text);
	text_add(p->out, "devices = %lld\ndata_ranks = %lld\nstages = %lld\n",
		 (long long)plan->devices, (long long)plan->data_ranks, (long long)plan->stages);
	text_add(p->out, "micro_batches = %lld\n", (long long)plan->micro_batches);
}

void plan_print(const struct plan *plan, const struct work *work, struct text *out)
{
	struct printer p = {plan, work, out};

	text_add(out, "plan = %s\n", plan->name->text);
	block(&p, "cluster", BLOCK_cluster, &plan->cluster);
	text_add(out, "device = %s\n", plan->device_name ? plan->device_name : "?");
	block(&p, "device", BLOCK_device, &plan->device);
	print_links(&p);
	print_mesh(&p);
	print_model(&p);
	block(&p, "precision", BLOCK_precision, &plan->precision);
	print_split(&p);
	block(&p, "data", BLOCK_data, &plan->data);
	block(&p, "zero", BLOCK_zero, &plan->zero);
	block(&p, "pipeline", BLOCK_pipeline, &plan->pipeline);
	block(&p, "memory", BLOCK_memory, &plan->memory);
	print_recompute(&p);
	block(&p, "train", BLOCK_train, &plan->train);
	block(&p, "optimizer", BLOCK_optimizer, &plan->optimizer);
	block(&p, "schedule", BLOCK_schedule, &plan->schedule);
	block(&p, "validate", BLOCK_validate, &plan->validate);
	print_rest(&p);
}
