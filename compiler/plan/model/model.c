/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an architecture: bindings, groups, the repeated block, the loss; then dims and
 * padding. */
#include "plan/model/model_build.h"

/* Messages for one text: what follows from the first few is noise; one if it did not parse. */
enum { FAULTS = 3 };

static void block_build(struct builder *builder, const struct node *block);

struct diags *model_sink(struct builder *builder)
{
	builder->faulty = true;
	if (!builder->room)
		return builder->silent;
	builder->room--;
	return builder->work->diags;
}

static void statement_misplaced(struct builder *builder, const struct node *statement)
{
	if (statement->kind == NODE_WORD)
		model_fault(builder, E0105, statement->span,
			    "a tensor is bound by `name = expression`");
	else
		model_fault(builder, E0216, statement->span,
			    "an architecture holds bindings and blocks only");
}

/* `loss` is bound once, after the repeated block, to the cross entropy itself. */
static void loss_check(struct builder *builder, const struct name *name, uint32_t value,
		       struct span span)
{
	const struct model_call *last =
		builder->calls.n ? &builder->calls.at[builder->calls.n - 1] : NULL;
	bool loss = value != NO_ID && last && last->result == value &&
		    last->op == OPERATOR_cross_entropy;

	if (!name_is(name, "loss")) {
		if (loss)
			model_fault(builder, E0215, span,
				    "a cross entropy is bound to `loss` only");
	} else if (builder->loss_bound) {
		model_fault(builder, E0215, span, "`loss` is bound twice");
	} else if (builder->region == REGION_REPEAT) {
		model_fault(builder, E0215, span, "`loss` is bound in the repeated block");
	} else if (value != NO_ID && !loss) {
		model_fault(builder, E0215, span, "`loss` is not a cross entropy");
	} else if (loss) {
		builder->model->loss = builder->calls.n - 1;
	}
	builder->loss_bound |= name_is(name, "loss");
}

/* The loss is used by nothing: it may only be bound. */
static void loss_use_check(struct builder *builder, uint32_t first, struct span span)
{
	for (uint32_t i = first; i + 1 < builder->calls.n; i++)
		if (builder->calls.at[i].op == OPERATOR_cross_entropy)
			model_fault(builder, E0215, span,
				    "a cross entropy is bound to `loss` only");
}

static void binding_build(struct builder *builder, const struct node *setting)
{
	const struct node *expr = node_child(setting, 1);
	const struct node *tail = node_child(setting, 2);
	const struct name *name = path_single(setting->first);
	uint32_t first = builder->calls.n;
	bool known = true;
	uint32_t value;

	if (!name || setting->flags & NODE_FLAG_OVERRIDE || (tail && tail->kind != NODE_IF)) {
		model_fault(builder, E0216, setting->span,
			    "a tensor is bound by `name = expression`");
		return;
	}
	if (tail && !condition_holds(builder, tail->first, &known))
		expr = known ? tail->first->next : NULL;
	if (!known)
		expr = NULL;
	if (!expr && known)
		return;
	value = expr ? expression_build(builder, expr, name) : NO_ID;
	loss_check(builder, name, value, setting->span);
	loss_use_check(builder, first, setting->span);
	name_bind(builder, name, value, setting->first->span);
}

/* "h.{layer}" of `repeat layers as "h.{layer}"`. */
static const char *repeat_prefix(struct builder *builder, const struct node *block)
{
	const struct node *string = node_find(block, NODE_STRING);
	const char *text = string ? string->name->text : "";

	if (!string || !strstr(text, "{layer}") || strstr(strstr(text, "{layer}") + 1, "{layer}")) {
		model_fault(builder, E0214, string ? string->span : block->first->span,
			    "a repeated block needs `as` with one `{layer}` in its name");
		return "";
	}
	return arena_text(builder->work->keep, "%s.", text);
}

static void repeat_size(struct builder *builder, const struct node *count)
{
	struct model *model = builder->model;
	uint32_t dim = count && count->name ? model_dim(model, count->name) : NO_ID;

	if (dim == NO_ID || dim == model->batch || dim == model->tokens) {
		model_fault(builder, E0203, count ? count->span : model->span,
			    "the architecture has no size `%s`",
			    count && count->name ? count->name->text : "");
		return;
	}
	model->layers_dim = dim;
	model->layers = model->dims[dim].size;
	model->layers_span = model->dims[dim].span;
}

static void repeat_build(struct builder *builder, const struct node *block)
{
	const struct node *body = node_find(block, NODE_BODY);
	struct span span = block->first->span;

	if (builder->region != REGION_BEFORE || *builder->group) {
		model_fault(builder, E0214, span,
			    builder->repeated ? "an architecture has one repeated block"
					      : "the repeated block stands at the top level");
		return;
	}
	builder->repeated = true;
	repeat_size(builder, node_find(block, NODE_NAME));
	builder->stored_prefix = repeat_prefix(builder, block);
	builder->path_prefix = "layer.";
	repeat_enter(builder);
	if (body)
		block_build(builder, body);
	repeat_leave(builder, span);
	builder->stored_prefix = builder->path_prefix = "";
}

static void group_build(struct builder *builder, const struct node *block)
{
	const char *outer = builder->group;
	const char *text = node_path_text(block->first, builder->work->keep);
	const struct node *body = node_find(block, NODE_BODY);

	if (!body || node_children(block) != 2) {
		statement_misplaced(builder, block);
		return;
	}
	builder->group = arena_text(builder->work->keep, "%s%s%s", outer, *outer ? "." : "", text);
	block_build(builder, body);
	builder->group = outer;
}

/* `stored { linear = in_out }` */
static void stored_read(struct builder *builder, const struct node *block)
{
	const struct node *body = node_find(block, NODE_BODY);

	for (const struct node *child = body ? body->first : NULL; child; child = child->next) {
		const struct name *word = path_single(node_child(child, 1));

		if (child->kind == NODE_SETTING && node_path_is(child->first, "linear") &&
		    (name_is(word, "in_out") || name_is(word, "out_in")))
			builder->stored_in_out = name_is(word, "in_out");
		else
			diag_note(model_fault(builder, E0209, child->span,
					      "`stored` does not take this"),
				  "it takes `linear = in_out` or `linear = out_in`");
	}
}

static void inner_block_build(struct builder *builder, const struct node *block)
{
	static const char *const heads[] = {"size", "option", "stored"};
	bool top = builder->region != REGION_REPEAT && !*builder->group;

	if (node_path_is(block->first, "repeat")) {
		repeat_build(builder, block);
		return;
	}
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		if (node_path_is(block->first, heads[i])) {
			if (!top)
				model_fault(builder, E0216, block->first->span,
					    "`%s` stands at the top level of an architecture",
					    heads[i]);
			return;
		}
	group_build(builder, block);
}

static void block_build(struct builder *builder, const struct node *body)
{
	for (const struct node *child = body->first; child; child = child->next) {
		if (child->kind == NODE_SETTING)
			binding_build(builder, child);
		else if (child->kind == NODE_BLOCK)
			inner_block_build(builder, child);
		else if (child->kind == NODE_ERROR)
			builder->faulty = true;
		else if (child->kind != NODE_CUTS || builder->region == REGION_REPEAT ||
			 *builder->group)
			statement_misplaced(builder, child);
	}
}

/* Settings that hold for the whole text: layouts of the hub, dims that `tensor` cuts. */
static void heads_read(struct builder *builder, const struct node *body)
{
	const struct node *first = NULL;

	for (const struct node *child = body->first; child; child = child->next) {
		if (child->kind == NODE_BLOCK && node_path_is(child->first, "stored"))
			stored_read(builder, child);
		if (child->kind != NODE_CUTS)
			continue;
		if (first && node_path_is(child->first, "tensor"))
			diag_label(model_fault(builder, E0202, child->span,
					       "`tensor dims` is given twice"),
				   first->span, "given here first");
		else if (node_path_is(child->first, "tensor"))
			dims_read(builder, node_child((first = child), 1),
				  &builder->model->tensor_dims);
		else
			model_fault(builder, E0216, child->span,
				    "an architecture names `tensor dims` only");
	}
}

static void dim_add(struct model *model, const struct name *name, const struct value *value)
{
	struct dim *dim = &model->dims[model->ndims++];

	dim->name = name;
	dim->size = dim->padded = value && !value->poisoned ? (uint64_t)value->i : 0;
	if (value)
		dim->span = value->span;
}

static void dims_declare(struct model *model, const struct model_settings *settings,
			 struct work *work)
{
	model->dims = ARENA_ARRAY(work->keep, struct dim, settings->list.n + 2);
	model->settings = ARENA_ARRAY(work->keep, struct model_setting, settings->list.n);
	for (uint32_t i = 0; i + 1 < settings->list.n; i++) {
		const struct model_entry *entry = &settings->list.at[i];

		model->settings[model->nsettings++] =
			(struct model_setting){entry->name, entry->value, entry->size};
		if (entry->size)
			dim_add(model, entry->name, &entry->value);
	}
	model->batch = model->ndims;
	dim_add(model, name_of(work->names, "batch"), NULL);
	model->tokens = model->ndims;
	dim_add(model, name_of(work->names, "tokens"), NULL);
}

/* Both values of a name that is bound twice have the same dims. */
static void rebound_check(struct builder *builder, const struct dims *dims)
{
	for (uint32_t i = 0; i < builder->rebound.n; i++) {
		const struct rebound *rebound = &builder->rebound.at[i];
		const struct dims *a = &dims[rebound->before], *b = &dims[rebound->after];

		if (a->n == b->n && !memcmp(a->at, b->at, a->n * sizeof *a->at))
			continue;
		diag_label(model_fault(builder, E0213, rebound->second,
				       "the second binding has dims %s, the first %s",
				       model_dims_text(builder->model, b, builder->work->keep),
				       model_dims_text(builder->model, a, builder->work->keep)),
			   rebound->first, "bound here first");
	}
}

/* Rows of the vocabulary in memory. */
static void pad_vocabulary(struct model *model, const struct value *pad, struct work *work)
{
	struct dim *dim;

	if (model->vocab == NO_ID || pad->poisoned || pad->i < 1)
		return;
	dim = &model->dims[model->vocab];
	if (!num_align(dim->size, (uint64_t)pad->i, &dim->padded)) {
		dim->padded = dim->size;
		diag_add(work->diags, E0114, pad->span, "the padded `%s` does not fit 64 bits",
			 dim->name->text);
		model->complete = false;
	}
}

static void infer(struct builder *builder)
{
	struct model *model = builder->model;
	struct dims *dims = ARENA_ARRAY(builder->work->keep, struct dims, model->nvalues);

	model->calls = builder->calls.at;
	model->ncalls = builder->calls.n;
	if (!model_infer(model, dims, builder->work)) {
		builder->faulty = true;
		return;
	}
	model->value_dims = dims;
	for (uint32_t i = 0; i < model->ncalls; i++) {
		struct model_call *call = &model->calls[i];
		const struct dims *x = &dims[call->operands[0]];
		bool norm = call->op == OPERATOR_layernorm || call->op == OPERATOR_rmsnorm;

		if (norm && !call->from.n)
			call->from = (struct dims){.n = 1, .at = {x->at[x->n - 1]}};
		if (call->op == OPERATOR_cross_entropy)
			model->vocab = x->at[x->n - 1];
	}
	rebound_check(builder, dims);
}

/* Dims that other strategies cut: samples, tokens, layers. */
static void tensor_dims_check(struct builder *builder, const struct node *cuts)
{
	const struct model *model = builder->model;
	const struct {
		uint32_t dim;
		const char *strategies;
	} others[] = {
		{model->batch, "`data` cuts it"},
		{model->tokens, "`sequence` cuts it"},
		{model->layers_dim, "`pipeline` cuts it"},
	};

	for (const struct node *at = node_child(cuts, 1)->first; at; at = at->next) {
		const struct name *name = path_single(at);
		uint32_t dim = name ? model_dim(model, name) : NO_ID;

		for (size_t i = 0; dim != NO_ID && i < sizeof others / sizeof *others; i++)
			if (others[i].dim == dim)
				diag_at(model_fault(builder, E0306, at->span,
						    "`tensor` cannot cut dim `%s`", name->text),
					"%s", others[i].strategies);
	}
}

static void text_build(struct builder *builder, const struct node *architecture)
{
	const struct node *body = node_find(architecture, NODE_BODY);

	if (!body)
		return;
	heads_read(builder, body);
	block_build(builder, body);
	for (const struct node *child = body->first; child; child = child->next)
		if (child->kind == NODE_CUTS && node_path_is(child->first, "tensor"))
			tensor_dims_check(builder, child);
	if (!builder->loss_bound)
		model_fault(builder, E0215, architecture->first->span,
			    "the architecture binds no `loss`");
}

/* Messages worth giving for a text: some may be owed to faults of spelling in it. */
static uint32_t room_for(const struct node *architecture, const struct diags *diags)
{
	for (uint32_t i = 0; i < diags->all.n; i++) {
		const struct diag *diag = diags->all.at[i];

		if (diag->code < E0201 && diag->span.lo >= architecture->span.lo &&
		    diag->span.lo < architecture->span.hi)
			return 1;
	}
	return FAULTS;
}

static struct model *model_new(const struct node *architecture, struct work *work)
{
	struct model *model = ARENA_NEW(work->keep, struct model);
	const struct node *name = node_child(architecture, 1);

	model->name = model->architecture = name ? name->name : NULL;
	model->span = architecture->first->span;
	model->architecture_span = architecture->span;
	model->layers = 1;
	model->vocab = model->layers_dim = model->carried_in = model->carried_out = NO_ID;
	model->nvalues = GIVENS;
	return model;
}

bool model_resolve(const struct node *architecture, const struct node *model_block,
		   const struct node *base_body, const struct scope *scope, struct plan *plan,
		   struct work *work)
{
	struct model *model = model_new(architecture, work);
	struct model_settings settings = {.outer = scope, .work = work};
	struct builder builder = {
		.work = work,
		.model = model,
		.settings = &settings,
		.group = "",
		.stored_prefix = "",
		.path_prefix = "",
		.room = room_for(architecture, work->diags),
		.silent = diags_new(work->keep, work->sources),
	};

	if (model_block)
		model->span = (struct span){model_block->span.lo, model_block->span.lo + 1};
	settings_read(&settings, architecture, model_block, base_body);
	if (settings.faulty)
		builder.room = 1;
	dims_declare(model, &settings, work);
	text_build(&builder, architecture);
	/* inference needs no sizes, but one fault is not to be reported by every later check */
	if (!builder.faulty)
		infer(&builder);
	model->complete = !builder.faulty && !settings.faulty;
	plan->model_block.vocab_pad_to = settings.list.at[settings.list.n - 1].value;
	pad_vocabulary(model, &plan->model_block.vocab_pad_to, work);
	plan->model = model;
	if (!model->complete)
		plan->poisoned = true;
	return model->complete;
}

void model_named(struct plan *plan, const struct name *name, struct span span)
{
	struct model *model = (struct model *)plan->model;

	if (!model)
		return;
	model->name = name;
	model->span = span;
}

void model_set_batch(struct plan *plan)
{
	struct model *model = (struct model *)plan->model;
	const struct value *batch = &plan->train.micro_batch, *tokens = &plan->train.seq_len;

	if (!model)
		return;
	if (!batch->poisoned && batch->i > 0) {
		model->dims[model->batch].size = model->dims[model->batch].padded =
			(uint64_t)batch->i;
		model->dims[model->batch].span = batch->span;
	}
	if (!tokens->poisoned && tokens->i > 0) {
		model->dims[model->tokens].size = model->dims[model->tokens].padded =
			(uint64_t)tokens->i;
		model->dims[model->tokens].span = tokens->span;
	}
}
