/* SPDX-License-Identifier: Apache-2.0 */
/* `planc expand`: the plan as a file that needs nothing else: no imports, params, defaults. */
#include <string.h>

#include "plan/print/origin.h"
#include "plan/schema.h"

enum { COMMENT_COLUMN = 44 };

struct expander {
	const struct plan *plan;
	const struct work *work;
	struct text *out;
	int depth;
};

/* --- lines ------------------------------------------------------------------------------ */

static void indent(struct expander *e)
{
	for (int k = 0; k < e->depth; k++)
		text_raw(e->out, "  ", 2);
}

static void open(struct expander *e, const char *head)
{
	indent(e);
	text_add(e->out, "%s {\n", head);
	e->depth++;
}

static void close(struct expander *e)
{
	e->depth--;
	indent(e);
	text_add(e->out, "}\n");
}

/* The origin of a value; places in the plan's own file as `:LINE`. */
static const char *origin_of(struct expander *e, const struct value *value)
{
	char *text = origin_text(value, e->work);
	const char *path = e->plan->source->path;
	char *at = strstr(text, path);

	if (at && at[strlen(path)] == ':')
		return arena_text(e->work->keep, "%.*s%s", (int)(at - text), text,
				  at + strlen(path));
	return text;
}

static const char *place(struct expander *e, struct span span)
{
	struct value value = {.origin = span.hi ? ORIGIN_FILE : ORIGIN_DEFAULT, .span = span};

	return origin_of(e, &value);
}

static void line(struct expander *e, const char *text, const char *origin)
{
	int width = COMMENT_COLUMN - 2 * e->depth;

	indent(e);
	if (*origin)
		text_add(e->out, "%-*s // %s\n", width, text, origin);
	else
		text_add(e->out, "%s\n", text);
}

static void setting(struct expander *e, const char *name, const struct value *value)
{
	struct arena *arena = e->work->keep;

	if (value->origin == ORIGIN_UNSET || value->poisoned)
		return;
	line(e, arena_text(arena, "%-13s = %s", name, value_text(value, arena)),
	     origin_of(e, value));
}

/* All settings of a block that can be written. */
static void settings(struct expander *e, enum block_id id, const void *from)
{
	const struct block_row *block = schema_block(id);

	for (uint32_t k = 0; k < block->nsettings; k++) {
		const struct setting_row *row = &block->settings[k];
		const void *at = (const char *)from + row->offset;

		if (!schema_inner(row) && row->type != TYPE_NONE)
			setting(e, row->name, at);
	}
}

/* --- what there is ---------------------------------------------------------------------- */

static void expand_device(struct expander *e)
{
	const struct plan_device *device = &e->plan->device;

	if (!e->plan->device_name)
		return;
	open(e, arena_text(e->work->keep, "device %s", e->plan->device_name));
	settings(e, BLOCK_device, device);
	open(e, "flops");
	setting(e, "fp64", &device->fp64);
	setting(e, "fp32", &device->fp32);
	setting(e, "tf32", &device->tf32);
	setting(e, "bf16", &device->bf16);
	close(e);
	close(e);
}

static void expand_link(struct expander *e, const char *name, const struct plan_link *link)
{
	open(e, arena_text(e->work->keep, "link %s", name));
	settings(e, BLOCK_link, link);
	close(e);
}

/* True if an earlier declaration has this name: the fabric's, or one of `before` requires. */
static bool link_declared(const struct plan *plan, const char *name, uint32_t before)
{
	if (plan->node_link_name && !strcmp(plan->node_link_name, name))
		return true;
	if (plan->cluster_link_name && !strcmp(plan->cluster_link_name, name))
		return true;
	for (uint32_t k = 0; k < before; k++)
		if (plan->requires[k].link && !strcmp(plan->requires[k].limit.word->text, name))
			return true;
	return false;
}

/* True if both fabrics come from one link, which then has the values of the node's. */
static bool same_link(const struct plan *plan)
{
	return plan->node_link_name && plan->cluster_link_name &&
	       !strcmp(plan->node_link_name, plan->cluster_link_name);
}

static void expand_links(struct expander *e)
{
	const struct plan *plan = e->plan;

	if (plan->node_link_name)
		expand_link(e, plan->node_link_name, &plan->node_link);
	if (plan->cluster_link_name && !same_link(plan))
		expand_link(e, plan->cluster_link_name, &plan->cluster_link);
	for (uint32_t k = 0; k < plan->nrequires; k++) {
		const struct require *require = &plan->requires[k];

		if (require->link && !link_declared(plan, require->limit.word->text, k))
			expand_link(e, require->limit.word->text, require->link);
	}
}

static void expand_cluster(struct expander *e)
{
	const struct plan *plan = e->plan;
	struct arena *arena = e->work->keep;
	const struct value *devices = &plan->cluster.devices;

	open(e, plan->cluster_name ? arena_text(arena, "cluster %s", plan->cluster_name->text)
				   : "cluster");
	setting(e, "nodes", &plan->cluster.nodes);
	if (same_link(plan)) {
		open(e, arena_text(arena, "fabric = %s", plan->cluster_link_name));
		settings(e, BLOCK_link, &plan->cluster_link);
		close(e);
	} else if (plan->cluster_link_name) {
		line(e, arena_text(arena, "fabric = %s", plan->cluster_link_name), "");
	}
	open(e, "node");
	if (plan->device_name)
		line(e, arena_text(arena, "devices = %lld of %s", (long long)devices->i,
				   plan->device_name),
		     origin_of(e, devices));
	if (plan->node_link_name)
		line(e, arena_text(arena, "fabric = %s", plan->node_link_name), "");
	close(e);
	close(e);
}

static void expand_mesh(struct expander *e)
{
	struct arena *arena = e->work->keep;

	if (!e->plan->naxes)
		return;
	open(e, "mesh");
	for (uint32_t k = 0; k < e->plan->naxes; k++) {
		const struct axis *axis = &e->plan->axes[k];
		struct value size = {.origin = axis->origin, .span = axis->size_span,
				     .from = axis->from};

		line(e, arena_text(arena, "%s = %lld%s%s", axis->name->text,
				   (long long)axis->size,
				   axis->within	  ? " within "
				   : axis->across ? " across "
						  : "",
				   axis->place ? axis->place->text : ""),
		     origin_of(e, &size));
	}
	close(e);
}

/* --- model, precision ------------------------------------------------------------------- */

static void expand_architecture(struct expander *e)
{
	const struct model *model = e->plan->model;
	char *text;

	if (!model)
		return;
	text = sources_text(e->work->sources, e->work->keep, model->architecture_span);
	text_raw(e->out, text, strlen(text));
	text_add(e->out, "\n\n");
}

static void expand_model(struct expander *e)
{
	const struct model *model = e->plan->model;

	if (!model || !model->name || !model->architecture)
		return;
	open(e, arena_text(e->work->keep, "model %s : %s", model->name->text,
			   model->architecture->text));
	for (uint32_t k = 0; k < model->nsettings; k++)
		setting(e, model->settings[k].name->text, &model->settings[k].value);
	settings(e, BLOCK_model, &e->plan->model_block);
	close(e);
}

static void expand_block(struct expander *e, const char *name, enum block_id id, const void *from)
{
	open(e, name);
	settings(e, id, from);
	close(e);
}

/* --- split ------------------------------------------------------------------------------ */

static void add_names(struct expander *e, struct text *out, const struct strategy *strategy)
{
	const struct plan *plan = e->plan;

	for (uint32_t k = 0; k < strategy->naxes; k++)
		text_add(out, "%s%s", k ? " * " : " over ",
			 plan->axes[strategy->axes[k]].name->text);
	for (uint32_t k = 0; k < strategy->dims.n; k++)
		text_add(out, "%s%s", k ? ", " : " dims [",
			 plan->model->dims[strategy->dims.at[k]].name->text);
	if (strategy->dims.n)
		text_add(out, "]");
}

static void expand_strategy(struct expander *e, const struct strategy *strategy)
{
	const struct plan *plan = e->plan;
	struct text head = text_new(e->work->keep);

	text_add(&head, "%s", strategy_name(strategy->kind));
	if (strategy->kind == STRATEGY_ZERO)
		text_add(&head, " %lld", (long long)strategy->stage);
	add_names(e, &head, strategy);
	if (strategy->kind == STRATEGY_DATA)
		expand_block(e, head.at, BLOCK_data, &plan->data);
	else if (strategy->kind == STRATEGY_ZERO)
		expand_block(e, head.at, BLOCK_zero, &plan->zero);
	else if (strategy->kind == STRATEGY_PIPELINE)
		expand_block(e, head.at, BLOCK_pipeline, &plan->pipeline);
	else if (strategy->replicate > 1 && strategy->replicate_dim != NO_ID)
		line(e, arena_text(e->work->keep, "%s { %s = replicate(%lld) }", head.at,
				   plan->model->dims[strategy->replicate_dim].name->text,
				   (long long)strategy->replicate),
		     place(e, strategy->span));
	else
		line(e, head.at, place(e, strategy->span));
}

/* A rule for each stored tensor; its pieces were told apart by `[k]`. */
static void expand_rules(struct expander *e)
{
	const struct plan *plan = e->plan;
	struct arena *arena = e->work->keep;
	const char *last = "";

	for (uint32_t k = 0; k < plan->nrules; k++) {
		const struct split_rule *rule = &plan->rules[k];
		const char *path = rule->param->path;
		char *text = arena_text(arena, "%.*s : %s -> %s", (int)strcspn(path, "["), path,
					plan->model->dims[rule->dim].name->text,
					rule->axis == NO_ID
						? "whole"
						: plan->axes[rule->axis].name->text);

		if (strcmp(text, last) != 0)
			line(e, text, place(e, rule->span));
		last = text;
	}
}

static void expand_split(struct expander *e)
{
	const struct plan *plan = e->plan;

	if (!plan->nstrategies && !plan->nrules)
		return;
	open(e, "split");
	for (uint32_t k = 0; k < plan->nstrategies; k++)
		expand_strategy(e, &plan->strategies[k]);
	expand_rules(e);
	close(e);
}

/* --- memory, train ---------------------------------------------------------------------- */

static void expand_memory(struct expander *e)
{
	const struct plan *plan = e->plan;

	open(e, "memory");
	settings(e, BLOCK_memory, &plan->memory);
	for (uint32_t k = 0; k < plan->nrecompute; k++) {
		struct text text = text_new(e->work->keep);
		struct span span = plan->recompute[k].span;

		text_add(&text, "recompute     = ");
		recompute_text(&plan->recompute[k], &text);
		line(e, text.at, place(e, span));
	}
	close(e);
}

static void expand_optimizer(struct expander *e)
{
	const struct plan_optimizer *optimizer = &e->plan->optimizer;
	struct arena *arena = e->work->keep;

	if (optimizer->kind.poisoned || !optimizer->kind.word)
		return;
	open(e, arena_text(arena, "optimizer = %s", optimizer->kind.word->text));
	settings(e, BLOCK_optimizer, optimizer);
	line(e, arena_text(arena, "%-13s = [%s, %s]", "betas",
			   value_text(&optimizer->beta1, arena),
			   value_text(&optimizer->beta2, arena)),
	     origin_of(e, &optimizer->beta1));
	close(e);
}

static void expand_schedule(struct expander *e)
{
	const struct plan_schedule *schedule = &e->plan->schedule;

	if (schedule->kind.poisoned || !schedule->kind.word)
		return;
	open(e, arena_text(e->work->keep, "schedule = %s", schedule->kind.word->text));
	settings(e, BLOCK_schedule, schedule);
	close(e);
}

static void expand_train(struct expander *e)
{
	const struct plan *plan = e->plan;
	const struct plan_train *train = &plan->train;
	struct arena *arena = e->work->keep;

	open(e, "train");
	settings(e, BLOCK_train, train);
	expand_optimizer(e);
	expand_schedule(e);
	if (train->data_kind.word && train->data_glob.word)
		line(e, arena_text(arena, "%-13s = %s(%s)", "data", train->data_kind.word->text,
				   value_text(&train->data_glob, arena)),
		     origin_of(e, &train->data_glob));
	if (plan->validate.every.origin != ORIGIN_UNSET)
		expand_block(e, "validate", BLOCK_validate, &plan->validate);
	close(e);
}

/* --- the file --------------------------------------------------------------------------- */

static void expand_requires(struct expander *e)
{
	const struct plan *plan = e->plan;
	struct arena *arena = e->work->keep;

	for (uint32_t k = 0; k < plan->nrequires; k++) {
		const struct require *require = &plan->requires[k];
		struct value reason = {.type = TYPE_STRING};

		if (require->reason)
			reason.word = name_of(e->work->names, require->reason);
		line(e, arena_text(arena, "require %s%s%s", require_text(plan, require, arena),
				   reason.word ? " " : "",
				   reason.word ? value_text(&reason, arena) : ""),
		     place(e, require->span));
	}
	for (int code = 0; code < DIAG_CODES; code++)
		if (e->work->diags->silent[code])
			text_add(e->out, "allow %s\n", diag_row((enum diag_code)code)->code);
}

static void expand_head(struct expander *e)
{
	const struct plan *plan = e->plan;

	text_add(e->out, "// expanded from %s\n", plan->source->path);
	for (uint32_t k = 0; k < plan->noutside; k++)
		text_add(e->out, "// with -P %s\n", plan->outside[k].text);
	text_add(e->out, "plan %s\nedition 1\n\n", plan->name->text);
}

void plan_expand(const struct plan *plan, const struct work *work, struct text *out)
{
	struct expander e = {plan, work, out, 0};

	expand_head(&e);
	expand_device(&e);
	expand_links(&e);
	expand_architecture(&e);
	expand_cluster(&e);
	expand_mesh(&e);
	expand_model(&e);
	expand_block(&e, "precision", BLOCK_precision, &plan->precision);
	expand_split(&e);
	expand_memory(&e);
	expand_train(&e);
	if (plan->has_checkpoint)
		expand_block(&e, "checkpoint", BLOCK_checkpoint, &plan->checkpoint);
	expand_requires(&e);
}
