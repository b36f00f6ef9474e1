/* SPDX-License-Identifier: Apache-2.0 */
/* split: strategies, first what they need of the mesh, then what they need of the model. */
#include <string.h>

#include "base/bug.h"
#include "plan/resolve/resolve.h"

enum { AXES_MAX = 4 };

static const char *const kinds[STRATEGIES + 1] = {"data",     "zero",    "tensor", "sequence",
						  "pipeline", "context", "expert", NULL};

const char *strategy_name(enum strategy_kind kind)
{
	return kinds[kind];
}

static enum strategy_kind kind_find(const struct name *name)
{
	int k = 0;

	while (k < STRATEGIES && !name_is(name, kinds[k]))
		k++;
	return (enum strategy_kind)k;
}

const struct strategy *plan_strategy(const struct plan *plan, enum strategy_kind kind)
{
	for (uint32_t k = 0; k < plan->nstrategies; k++)
		if (plan->strategies[k].kind == kind)
			return &plan->strategies[k];
	return NULL;
}

int64_t plan_ranks(const struct plan *plan, const struct strategy *strategy)
{
	int64_t ranks = 1;

	for (uint32_t k = 0; strategy && k < strategy->naxes; k++)
		if (__builtin_mul_overflow(ranks, plan->axes[strategy->axes[k]].size, &ranks))
			return INT64_MAX;
	return ranks;
}

bool strategy_has_axis(const struct strategy *strategy, uint32_t axis)
{
	for (uint32_t i = 0; i < strategy->naxes; i++)
		if (strategy->axes[i] == axis)
			return true;
	return false;
}

int64_t plan_copies(const struct plan *plan, const struct strategy *tensor, uint32_t axis)
{
	int64_t left = tensor->replicate, here = 1;

	for (uint32_t i = plan->naxes; i-- > axis;) {
		int64_t size = plan->axes[i].size;

		if (!strategy_has_axis(tensor, i))
			continue;
		here = left < size ? left : size;
		if (here < 1 || left % here || size % here)
			return 0;
		left /= here;
	}
	return strategy_has_axis(tensor, axis) ? here : 1;
}

/* --- axes ------------------------------------------------------------------------------- */

static const char *const *axis_names(struct resolve *r)
{
	const struct plan *plan = r->plan;
	const char **names = ARENA_ARRAY(r->work->keep, const char *, plan->naxes + 1);

	for (uint32_t k = 0; k < plan->naxes; k++)
		names[k] = plan->axes[k].name->text;
	return names;
}

/* Said once, whatever number of axes is asked for. */
static void no_mesh(struct resolve *r, struct span at)
{
	if (!suggested(r, "mesh") && !name_unknown(r, name_of(r->work->names, "mesh")))
		missing(r, at, "the plan has no block `mesh`, so no axis can be named");
}

static void label_mesh(struct resolve *r, struct diag *diag)
{
	if (r->plan->naxes)
		diag_label(diag, r->plan->mesh_span, "declares %s",
			   name_list(r->work->keep, axis_names(r), r->plan->naxes));
}

static void size_as_axis(struct resolve *r, const struct node *number)
{
	struct diag *diag =
		diag_add(r->work->diags, E0305, number->span, "an axis is named here, not a size");

	diag_at(diag, "the axis has the size");
	label_mesh(r, diag);
	if (!r->plan->mesh_span.hi)
		diag_note(diag, "`mesh { tp = 2 }` declares an axis `tp`");
}

static void unknown_axis(struct resolve *r, const struct node *name)
{
	const struct plan *plan = r->plan;
	const char *near = name_nearest(name->name->text, axis_names(r), plan->naxes);
	struct diag *diag;

	if (!plan->mesh_span.hi) {
		no_mesh(r, name->span);
		return;
	}
	if (name_unknown(r, name->name) || r->broken)
		return;
	diag = diag_add(r->work->diags, E0203, name->span, "mesh has no axis `%s`",
			name->name->text);
	diag_at(diag, "no such axis");
	label_mesh(r, diag);
	if (near)
		diag_note(diag, "an axis with a similar name exists: `%s`", near);
}

/* Index of an axis; NO_ID with a message. */
static uint32_t axis_find(struct resolve *r, const struct node *name)
{
	if (name->kind == NODE_ERROR)
		return NO_ID;
	for (uint32_t k = 0; k < r->plan->naxes && name->kind == NODE_NAME; k++)
		if (r->plan->axes[k].name == name->name)
			return k;
	r->plan->mesh_poisoned = true;
	if (name->kind == NODE_NUMBER)
		size_as_axis(r, name);
	else
		unknown_axis(r, name);
	return NO_ID;
}

static void add_axes(struct resolve *r, struct strategy *strategy, const struct node *axes)
{
	strategy->axes_span = axes->span;
	for (const struct node *name = axes->first; name; name = name->next) {
		uint32_t axis = axis_find(r, name);
		bool again = false;

		for (uint32_t k = 0; k < strategy->naxes; k++)
			again |= strategy->axes[k] == axis;
		if (again)
			set_twice(r, axes->first->span, name->span, "axis", name->name->text);
		else if (axis != NO_ID && strategy->naxes == AXES_MAX)
			diag_add(r->work->diags, E0216, name->span,
				 "a strategy takes at most %d axes", AXES_MAX);
		else if (axis != NO_ID)
			strategy->axes[strategy->naxes++] = axis;
	}
}

/* --- settings of a strategy ------------------------------------------------------------- */

/* `layers = even`, `spread` or a list of layers for each stage. */
static bool pipeline_special(struct frame *frame, const struct node *statement,
			     const struct setting_row *row, struct value *value)
{
	const struct node *expr = node_child(statement, 1);
	struct plan *plan = frame->r->plan;
	struct value *items;

	if (strcmp(row->name, "layers") != 0 || expr->kind != NODE_LIST)
		return false;
	no_tail(frame->r, statement);
	plan->nlayer_list = node_children(expr);
	items = ARENA_ARRAY(frame->r->work->keep, struct value, plan->nlayer_list);
	for (uint32_t k = 0; k < plan->nlayer_list; k++) {
		items[k] = frame_value(frame, node_child(expr, k), TYPE_COUNT, "layers");
		value_least(frame->r, &items[k], 0, "layers");
	}
	plan->layer_list = items;
	*value = (struct value){.type = TYPE_LIST, .origin = ORIGIN_FILE, .span = expr->span,
				.items = items, .nitems = plan->nlayer_list};
	return true;
}

/* `kv_heads = replicate(2)` is read once the dims are known. */
static bool tensor_take(struct frame *frame, const struct node *statement)
{
	(void)frame;
	return statement->kind == NODE_SETTING;
}

static void settings(struct resolve *r, enum strategy_kind kind, const struct node *body,
		     struct span span)
{
	struct plan *plan = r->plan;
	struct frame frame = {.r = r, .span = span};

	frame.title = arena_text(r->work->keep, "strategy `%s`", kinds[kind]);
	frame.id = kind == STRATEGY_DATA   ? BLOCK_data
		   : kind == STRATEGY_ZERO ? BLOCK_zero
		   : kind == STRATEGY_PIPELINE ? BLOCK_pipeline
					       : BLOCKS;
	if (kind == STRATEGY_DATA)
		frame.into = &plan->data;
	if (kind == STRATEGY_ZERO)
		frame.into = &plan->zero;
	if (kind == STRATEGY_PIPELINE) {
		frame.into = &plan->pipeline;
		frame.special = pipeline_special;
	}
	if (frame.id < BLOCKS) {
		frame_take(&frame, body);
		frame_close(&frame);
		return;
	}
	for (const struct node *node = body ? body->first : NULL; node; node = node->next)
		if (kind != STRATEGY_TENSOR || !tensor_take(&frame, node))
			misplaced(r, node, frame.title, NULL, 0);
}

/* --- statements ------------------------------------------------------------------------- */

static int64_t zero_stage(struct resolve *r, const struct node *statement,
			  enum strategy_kind kind)
{
	const struct node *number = node_find(statement, NODE_NUMBER);
	int64_t stage = 0;
	struct diag *diag;

	if (!number && kind != STRATEGY_ZERO)
		return 0;
	if (number && kind != STRATEGY_ZERO) {
		diag_at(diag_add(r->work->diags, E0305, number->span,
				 "`%s` takes no number", kinds[kind]),
			"a strategy names an axis; the axis has the size");
		return 0;
	}
	if (number && !number->name && number->number &&
	    decimal_to_int(*number->number, 1, &stage) && stage >= 1 && stage <= 3)
		return stage;
	diag = diag_add(r->work->diags, E0313, number ? number->span : head_span(statement),
			number ? "`zero` has no such stage" : "`zero` needs a stage");
	diag_note(diag, "valid values: 1 (optimizer), 2 (and gradients), 3 (and parameters)");
	return 1;
}

static struct span strategy_span(const struct node *statement)
{
	struct span span = statement->first->span;

	for (const struct node *part = statement->first; part; part = part->next)
		if (part->kind != NODE_BODY)
			span = span_join(span, part->span);
	return span;
}

static void add_strategy(struct resolve *r, const struct node *statement)
{
	struct plan *plan = r->plan;
	enum strategy_kind kind = kind_find(path_word(statement->first));
	const struct strategy *first = plan_strategy(plan, kind);
	struct strategy *strategy = &plan->strategies[plan->nstrategies];

	if (kind == STRATEGIES) {
		misplaced(r, statement, "block `split`", kinds, STRATEGIES);
		return;
	}
	if (first) {
		set_twice(r, first->span, strategy_span(statement), "strategy", kinds[kind]);
		return;
	}
	*strategy = (struct strategy){.kind = kind, .replicate_dim = NO_ID, .replicate = 1};
	strategy->span = strategy_span(statement);
	strategy->stage = zero_stage(r, statement, kind);
	add_axes(r, strategy, node_find(statement, NODE_AXES));
	settings(r, kind, node_find(statement, NODE_BODY), strategy->span);
	plan->nstrategies++;
	vec_push(r->work->keep, &r->strategies, statement);
}

/* `tensor = 8`: the old habit. */
static bool strategy_as_setting(struct resolve *r, const struct node *statement)
{
	enum strategy_kind kind = kind_find(path_word(statement->first));
	const struct node *expr = node_child(statement, 1);
	struct diag *diag;

	if (statement->kind != NODE_SETTING || kind == STRATEGIES)
		return false;
	diag = diag_add(r->work->diags, E0305, statement->span,
			"`%s = %s`: a strategy names an axis; the axis has the size", kinds[kind],
			sources_text(r->work->sources, r->work->keep, expr->span));
	diag_at(diag, "written `%s over AXIS`", kinds[kind]);
	if (r->main->base)
		diag_note(diag, "in a plan that extends another, strategies are changed by "
				"`override split { ... }`, which replaces all of them");
	return true;
}

static void take_statement(struct resolve *r, const struct node *node)
{
	if (node->kind == NODE_STRATEGY)
		add_strategy(r, node);
	else if (node->kind == NODE_ALLOW)
		allow(r, node);
	else if (node->kind != NODE_RULE && !strategy_as_setting(r, node))
		misplaced(r, node, "block `split`", kinds, STRATEGIES);
}

/* Settings of strategies that are not there get their defaults, so that readers need not ask. */
static void defaults(struct resolve *r)
{
	struct plan *plan = r->plan;
	static const enum strategy_kind with[] = {STRATEGY_DATA, STRATEGY_ZERO, STRATEGY_PIPELINE};
	const struct strategy *zero = plan_strategy(plan, STRATEGY_ZERO);
	bool cut = zero && zero->stage >= 2;

	for (size_t k = 0; k < sizeof with / sizeof *with; k++)
		if (!plan_strategy(plan, with[k]))
			settings(r, with[k], NULL, (struct span){0});
	if (plan->data.reduce.origin == ORIGIN_UNSET)
		plan->data.reduce = value_word(
			name_of(r->work->names, cut ? "micro_batch" : "step"), ORIGIN_DEFAULT);
	if (plan->zero.gather.origin == ORIGIN_UNSET)
		plan->zero.gather = value_word(name_of(r->work->names, cut ? "use" : "step"),
					       ORIGIN_DEFAULT);
}

void resolve_split(struct resolve *r, const struct node *block)
{
	const struct node *body = block ? node_find(block, NODE_BODY) : NULL;
	struct plan *plan = r->plan;

	plan->strategies =
		ARENA_ARRAY(r->work->keep, struct strategy, body ? node_children(body) + 1 : 1);
	for (const struct node *node = body ? body->first : NULL; node; node = node->next)
		take_statement(r, node);
	defaults(r);
	plan->data_ranks = plan_ranks(plan, plan_strategy(plan, STRATEGY_DATA));
	plan->stages = plan_ranks(plan, plan_strategy(plan, STRATEGY_PIPELINE));
}

/* --- with the model --------------------------------------------------------------------- */

static const char *const *dim_names(struct resolve *r)
{
	const struct model *model = r->plan->model;
	const char **names = ARENA_ARRAY(r->work->keep, const char *, model->ndims + 1);

	for (uint32_t k = 0; k < model->ndims; k++)
		names[k] = model->dims[k].name->text;
	return names;
}

static uint32_t dim_find(struct resolve *r, const struct node *name)
{
	const struct model *model = r->plan->model;
	uint32_t dim = name->name ? model_dim(model, name->name) : NO_ID;
	const char *near;
	struct diag *diag;

	if (dim != NO_ID || !name->name)
		return dim;
	diag = diag_add(r->work->diags, E0203, name->span, "the model has no dim `%s`",
			name->name->text);
	diag_at(diag, "no such dim");
	near = name_nearest(name->name->text, dim_names(r), model->ndims);
	if (near)
		diag_note(diag, "a dim with a similar name exists: `%s`", near);
	else
		diag_note(diag, "its dims are %s",
			  name_list(r->work->keep, dim_names(r), model->ndims));
	return NO_ID;
}

static void given_dims(struct resolve *r, struct strategy *strategy, const struct node *dims)
{
	strategy->dims_given = true;
	strategy->dims_span = dims->span;
	for (const struct node *name = dims->first; name; name = name->next) {
		uint32_t dim = dim_find(r, name);

		for (uint32_t k = 0; k < strategy->dims.n; k++)
			if (dim != NO_ID && strategy->dims.at[k] == dim) {
				set_twice(r, dims->span, name->span, "dim", name->name->text);
				dim = NO_ID;
			}
		if (dim != NO_ID && strategy->dims.n < DIM_MAX)
			strategy->dims.at[strategy->dims.n++] = dim;
	}
}

static void default_dims(const struct model *model, const struct name *layers,
			 struct strategy *strategy)
{
	uint32_t dim = strategy->kind == STRATEGY_DATA	       ? model->batch
		       : strategy->kind == STRATEGY_SEQUENCE ? model->tokens
		       : strategy->kind == STRATEGY_PIPELINE ? model_dim(model, layers)
							     : NO_ID;

	if (strategy->kind == STRATEGY_TENSOR)
		strategy->dims = model->tensor_dims;
	else if (dim != NO_ID)
		strategy->dims = (struct dims){.n = 1, .at = {dim}};
}

static void read_replicate(struct resolve *r, struct strategy *strategy,
			   const struct node *statement)
{
	struct frame frame = {.r = r, .id = BLOCKS};
	const struct node *name = statement->first->first, *call = node_child(statement, 1);
	struct value copies;
	uint32_t dim;

	no_tail(r, statement);
	if (call->kind == NODE_ERROR)
		return;
	if (call->kind != NODE_CALL || !node_path_is(call->first, "replicate") ||
	    node_children(call) != 2) {
		diag_note(diag_add(r->work->diags, E0112, call->span,
				   "a dim of `tensor` takes a number of copies"),
			  "for example `kv_heads = replicate(2)`");
		return;
	}
	dim = name->next ? NO_ID : dim_find(r, name);
	copies = frame_value(&frame, node_child(call, 1), TYPE_COUNT, "replicate");
	value_least(r, &copies, 1, "replicate");
	if (dim == NO_ID || copies.poisoned)
		return;
	if (strategy->replicate_dim != NO_ID) {
		set_twice(r, strategy->span, statement->span, "the setting", "replicate");
		return;
	}
	strategy->replicate_dim = dim;
	strategy->replicate = copies.i;
}

static void tensor_settings(struct resolve *r, struct strategy *strategy, const struct node *body)
{
	for (const struct node *node = body ? body->first : NULL; node; node = node->next)
		if (node->kind == NODE_SETTING)
			read_replicate(r, strategy, node);
}

/* --- rules ------------------------------------------------------------------------------ */

/* True if the path names a parameter, or all pieces of a stored one. */
static bool names_param(const char *path, const struct model_name *param)
{
	size_t length = strlen(path);

	return !strncmp(param->path, path, length) &&
	       (!param->path[length] || param->path[length] == '[');
}

static void unknown_param(struct resolve *r, const struct node *path, const char *text)
{
	const struct model *model = r->plan->model;
	const char **names = ARENA_ARRAY(r->work->keep, const char *, model->ncalls + 1);
	struct diag *diag = diag_add(r->work->diags, E0306, path->span,
				     "the model has no parameter `%s`", text);
	uint32_t count = 0;
	const char *near;

	for (uint32_t k = 0; k < model->ncalls; k++)
		if (model->calls[k].as)
			names[count++] = model->calls[k].as->path;
	near = name_nearest(text, names, count);
	diag_at(diag, "no such parameter");
	if (near)
		diag_note(diag, "a parameter with a similar name exists: `%s`", near);
	else
		diag_note(diag, "a parameter is called by its `as` text, with the prefix of the "
				"repeat written `layer`");
}

static void add_rule(struct resolve *r, const struct node *statement)
{
	const struct model *model = r->plan->model;
	struct plan *plan = r->plan;
	const struct node *path = statement->first, *dim = path->next, *axes = dim->next;
	const struct node *axis = axes ? axes->first : NULL;
	char *text = node_path_text(path, r->work->keep);
	struct split_rule rule = {.axis = NO_ID, .span = statement->span};
	uint32_t before = plan->nrules;

	if (!axis)
		return;
	rule.dim = dim_find(r, dim);
	if (axis->kind != NODE_NAME || !name_is(axis->name, "whole")) {
		rule.axis = axis_find(r, axis);
		if (rule.axis == NO_ID)
			return;
	}
	if (axis->next)
		diag_add(r->work->diags, E0306, axes->span, "a rule names one axis or `whole`");
	for (uint32_t k = 0; k < model->ncalls && rule.dim != NO_ID; k++) {
		rule.param = model->calls[k].as;
		if (rule.param && names_param(text, rule.param))
			plan->rules[plan->nrules++] = rule;
	}
	if (plan->nrules == before && rule.dim != NO_ID)
		unknown_param(r, path, text);
}

static void add_rules(struct resolve *r, const struct node *body)
{
	size_t count = 0;

	for (const struct node *node = body ? body->first : NULL; node; node = node->next)
		count += node->kind == NODE_RULE;
	r->plan->rules = ARENA_ARRAY(r->work->keep, struct split_rule,
				     count * r->plan->model->ncalls + 1);
	for (const struct node *node = body ? body->first : NULL; node; node = node->next)
		if (node->kind == NODE_RULE)
			add_rule(r, node);
}

void resolve_split_dims(struct resolve *r, const struct node *block)
{
	struct plan *plan = r->plan;
	const struct name *layers = name_of(r->work->names, "layers");

	for (uint32_t k = 0; k < plan->nstrategies; k++) {
		struct strategy *strategy = &plan->strategies[k];
		const struct node *statement = r->strategies.at[k];
		const struct node *dims = node_find(statement, NODE_DIMS);

		if (dims)
			given_dims(r, strategy, dims);
		else
			default_dims(plan->model, layers, strategy);
		if (strategy->kind == STRATEGY_TENSOR)
			tensor_settings(r, strategy, node_find(statement, NODE_BODY));
	}
	add_rules(r, block ? node_find(block, NODE_BODY) : NULL);
}
