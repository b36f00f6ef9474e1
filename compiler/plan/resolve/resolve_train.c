/* SPDX-License-Identifier: Apache-2.0 */
/* precision, train with what stands inside it, checkpoint. */
#include <string.h>

#include "plan/resolve/resolve.h"

/* --- precision -------------------------------------------------------------------------- */

struct preset {
	const char *name, *words[5];
	bool stochastic;
};

static const struct preset presets[] = {
#define PRESET(name, compute, params, gradients, optimizer, loss, stochastic)                      \
	{#name, {compute, params, gradients, optimizer, loss}, stochastic},
#include "plan/resolve/presets.def"
#undef PRESET
};

enum { PRESETS = sizeof presets / sizeof *presets };

const char *precision_words(struct arena *arena)
{
	const char *names[PRESETS];

	for (int k = 0; k < PRESETS; k++)
		names[k] = presets[k].name;
	return name_list(arena, names, PRESETS);
}

static const struct preset *preset_find(struct resolve *r, const struct node *expr)
{
	const struct name *word = path_word(expr);
	const char *names[PRESETS];

	for (int k = 0; k < PRESETS; k++) {
		names[k] = presets[k].name;
		if (name_is(word, presets[k].name))
			return &presets[k];
	}
	if (word)
		unknown_word(r, expr->span, "precision", word->text, names, PRESETS);
	else if (expr->kind != NODE_ERROR)
		diag_note(diag_add(r->work->diags, E0112, expr->span,
				   "`precision` is a preset or a block"),
			  "presets are %s", name_list(r->work->keep, names, PRESETS));
	return NULL;
}

static struct value preset_word(struct resolve *r, const char *word, struct span span)
{
	struct value value = value_word(name_of(r->work->names, word), ORIGIN_PRESET);

	value.span = span;
	return value;
}

static void apply_preset(struct resolve *r, const struct preset *preset, struct span span)
{
	struct plan_precision *precision = &r->plan->precision;
	struct value *const to[5] = {&precision->compute, &precision->params,
				     &precision->gradients, &precision->optimizer,
				     &precision->loss};

	for (int k = 0; k < 5; k++) {
		*to[k] = preset ? preset_word(r, preset->words[k], span) : value_poison(span);
		to[k]->from = preset ? arena_text(r->work->keep, "preset %s", preset->name) : NULL;
	}
	precision->stochastic_rounding = (struct value){
		.type = TYPE_BOOL, .origin = ORIGIN_PRESET, .span = span,
		.from = to[0]->from, .i = preset && preset->stochastic, .poisoned = !preset};
	if (preset)
		r->plan->preset = name_of(r->work->names, preset->name);
}

/* A wire that is not given follows another setting. */
static void follow(struct value *wire, const struct value *other, const char *name)
{
	if (wire->origin != ORIGIN_UNSET)
		return;
	*wire = *other;
	wire->origin = ORIGIN_DEFAULT;
	wire->from = name;
}

void resolve_precision(struct resolve *r, const struct node *statement)
{
	struct plan_precision *precision = &r->plan->precision;
	struct frame frame = {.r = r, .id = BLOCK_precision, .into = precision,
			      .title = "block `precision`", .span = head_span(statement)};

	r->plan->precision_span = statement->kind == NODE_SETTING ? statement->span : frame.span;
	if (statement->kind == NODE_SETTING) {
		const struct node *expr = node_child(statement, 1);

		no_tail(r, statement);
		apply_preset(r, preset_find(r, expr), expr->span);
	} else {
		frame_take(&frame, node_find(statement, NODE_BODY));
		frame_close(&frame);
	}
	follow(&precision->gradient_wire, &precision->gradients, "gradients");
	follow(&precision->partial_wire, &precision->compute, "compute");
}

/* --- optimizer -------------------------------------------------------------------------- */

/* `betas = [0.9, 0.95]` stands for two settings. */
static bool optimizer_take(struct frame *frame, const struct node *statement)
{
	struct plan_optimizer *optimizer = frame->into;
	struct value *const to[2] = {&optimizer->beta1, &optimizer->beta2};
	const struct node *list = node_child(statement, 1);
	struct value one = value_count(1, ORIGIN_DEFAULT);

	if (statement->kind != NODE_SETTING || !node_path_is(statement->first, "betas"))
		return false;
	if (optimizer->beta1.origin != ORIGIN_UNSET) {
		set_twice(frame->r, optimizer->beta1.span, list->span, "setting", "betas");
		return true;
	}
	no_tail(frame->r, statement);
	optimizer->beta1 = optimizer->beta2 = value_poison(list->span);
	if (list->kind != NODE_LIST || node_children(list) != 2) {
		if (list->kind != NODE_ERROR)
			diag_at(diag_add(frame->r->work->diags, E0112, list->span,
					 "`betas` is a list of two factors"),
				"expected `[0.9, 0.95]`");
		return true;
	}
	for (uint32_t k = 0; k < 2; k++) {
		*to[k] = frame_value(frame, node_child(list, k), TYPE_FACTOR, "betas");
		value_least(frame->r, to[k], 0, "betas");
		if (to[k]->poisoned || to[k]->f < 1)
			continue;
		diag_at(diag_add(frame->r->work->diags, E0115, to[k]->span,
				 "`betas` cannot hold `%s`",
				 value_text(to[k], frame->r->work->keep)),
			value_compare(to[k], &one) < 0 ? "is 1 as a double" : "has to be below 1");
	}
	return true;
}

static void default_betas(struct resolve *r, struct plan_optimizer *optimizer)
{
	struct value *const to[2] = {&optimizer->beta1, &optimizer->beta2};
	static const char *const names[2] = {"beta1", "beta2"};

	for (int k = 0; k < 2; k++)
		if (to[k]->origin == ORIGIN_UNSET)
			*to[k] = value_literal(schema_setting(BLOCK_optimizer, names[k])->fallback,
					       r->work->names);
}

/* `kind` and the body of `SETTING = WORD { }`. The word may stand without a body. */
static const struct node *kind_of(struct resolve *r, const struct node *statement,
				  enum block_id id, struct value *kind)
{
	const struct node *expr = node_child(statement, 1), *tail = node_child(statement, 2);
	const struct setting_row *row = schema_setting(id, "kind");
	const struct name *word = path_word(expr);
	size_t count;
	const char *const *words = schema_word_list(row, r->work->keep, &count);

	*kind = value_poison(expr->span);
	if (tail && tail->kind != NODE_BODY)
		no_tail(r, statement);
	if (word && schema_takes(row, word->text)) {
		*kind = value_word(word, ORIGIN_FILE);
		kind->span = expr->span;
	} else if (word) {
		unknown_word(r, expr->span, schema_block(id)->name, word->text, words, count);
	} else if (expr->kind != NODE_ERROR) {
		diag_note(diag_add(r->work->diags, E0112, expr->span, "`%s` is a word",
				   schema_block(id)->name),
			  "valid values: %s", name_list(r->work->keep, words, count));
	}
	return node_find(statement, NODE_BODY);
}

static struct value resolve_optimizer(struct resolve *r, const struct node *statement)
{
	static const char *const more[] = {"betas", NULL};
	struct plan_optimizer *optimizer = &r->plan->optimizer;
	struct frame frame = {.r = r, .id = BLOCK_optimizer, .into = optimizer,
			      .title = "block `optimizer`", .more = more,
			      .span = node_child(statement, 1)->span, .take = optimizer_take};

	frame_take(&frame, kind_of(r, statement, BLOCK_optimizer, &optimizer->kind));
	if (!optimizer->kind.poisoned)
		frame_close(&frame);
	default_betas(r, optimizer);
	return optimizer->kind;
}

/* --- schedule --------------------------------------------------------------------------- */

/* Warm-up may be given in tokens; resolve_batches makes steps of them. */
static bool schedule_special(struct frame *frame, const struct node *statement,
			     const struct setting_row *row, struct value *value)
{
	struct scope scope = frame_scope(frame);
	const struct node *expr = node_child(statement, 1);

	if (strcmp(row->name, "warmup") != 0)
		return false;
	no_tail(frame->r, statement);
	*value = value_of(expr, &scope, false, frame->r->work);
	if (!value->poisoned && value->type != TYPE_TOKENS)
		*value = value_as(*value, TYPE_COUNT, row->name, frame->r->work);
	value_least(frame->r, value, 0, row->name);
	return true;
}

static struct value resolve_schedule(struct resolve *r, const struct node *statement)
{
	struct plan_schedule *schedule = &r->plan->schedule;
	struct frame frame = {.r = r, .id = BLOCK_schedule, .into = schedule,
			      .title = "block `schedule`", .span = head_span(statement),
			      .special = schedule_special};

	frame_take(&frame, kind_of(r, statement, BLOCK_schedule, &schedule->kind));
	frame_close(&frame);
	return schedule->kind;
}

static void default_schedule(struct resolve *r)
{
	struct plan_schedule *schedule = &r->plan->schedule;
	struct frame frame = {.r = r, .id = BLOCK_schedule, .into = schedule,
			      .title = "block `schedule`"};

	frame_close(&frame);
	schedule->kind = r->plan->train.schedule;
}

/* --- data ------------------------------------------------------------------------------- */

/* `bytes("GLOB")` or `tokens("GLOB")`. */
static struct value resolve_data(struct resolve *r, const struct node *statement)
{
	struct plan_train *train = &r->plan->train;
	const struct node *call = node_child(statement, 1);
	const struct node *glob = call->kind == NODE_CALL ? node_child(call, 1) : NULL;
	const struct name *kind = glob ? path_word(call->first) : NULL;
	const struct setting_row *row = schema_setting(BLOCK_train, "data_kind");
	struct value value = value_poison(call->span);

	no_tail(r, statement);
	train->data_kind = train->data_glob = value;
	if (call->kind == NODE_ERROR || (glob && glob->kind == NODE_ERROR))
		return value;
	if (!kind || glob->kind != NODE_STRING || node_children(call) != 2) {
		diag_note(diag_add(r->work->diags, E0112, call->span, "`data` is a kind of file"),
			  "valid values: `bytes(\"GLOB\")` and `tokens(\"GLOB\")`");
		return value;
	}
	if (!schema_takes(row, kind->text)) {
		static const char *const words[] = {"bytes", "tokens"};

		unknown_word(r, call->first->span, "data", kind->text, words, 2);
		return value;
	}
	train->data_kind = value_word(kind, ORIGIN_FILE);
	train->data_kind.span = call->first->span;
	train->data_glob = (struct value){.type = TYPE_STRING, .origin = ORIGIN_FILE,
					  .span = glob->span, .word = glob->name};
	return train->data_glob;
}

/* --- train ------------------------------------------------------------------------------ */

static bool train_special(struct frame *frame, const struct node *statement,
			  const struct setting_row *row, struct value *value)
{
	if (!strcmp(row->name, "optimizer"))
		*value = resolve_optimizer(frame->r, statement);
	else if (!strcmp(row->name, "schedule"))
		*value = resolve_schedule(frame->r, statement);
	else if (!strcmp(row->name, "data"))
		*value = resolve_data(frame->r, statement);
	else
		return false;
	return true;
}

static void resolve_validate(struct resolve *r, const struct node *block)
{
	struct frame frame = {.r = r, .id = BLOCK_validate, .into = &r->plan->validate,
			      .title = "block `validate`", .span = head_span(block)};

	frame_take(&frame, node_find(block, NODE_BODY));
	frame_close(&frame);
	if (r->plan->validate.every.origin == ORIGIN_UNSET)
		missing(r, frame.span, "block `validate` needs a setting `every`");
}

static bool train_take(struct frame *frame, const struct node *statement)
{
	const struct node **validate = frame->self;

	if (statement->kind != NODE_BLOCK || !node_path_is(statement->first, "validate"))
		return false;
	if (*validate)
		set_twice(frame->r, head_span(*validate), head_span(statement), "block",
			  "validate");
	else
		*validate = statement;
	return true;
}

void resolve_train(struct resolve *r, const struct node *block)
{
	static const char *const more[] = {"validate", NULL};
	struct plan *plan = r->plan;
	const struct node *validate = NULL;
	struct frame frame = {.r = r, .id = BLOCK_train, .into = &plan->train,
			      .title = "block `train`", .more = more, .span = head_span(block),
			      .take = train_take, .special = train_special, .self = &validate};

	plan->train_span = frame.span;
	frame_take(&frame, node_find(block, NODE_BODY));
	frame_close(&frame);
	if (plan->schedule.kind.origin == ORIGIN_UNSET)
		default_schedule(r);
	if (validate)
		resolve_validate(r, validate);
}

void resolve_checkpoint(struct resolve *r, const struct node *block)
{
	struct frame frame = {.r = r, .id = BLOCK_checkpoint, .into = &r->plan->checkpoint,
			      .title = "block `checkpoint`", .span = head_span(block)};

	r->plan->has_checkpoint = true;
	frame_take(&frame, node_find(block, NODE_BODY));
	frame_close(&frame);
}
