/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a block from the schema: each statement once, each setting with its type, unit, word and
 * range, defaults for the rest. */
#include "plan/resolve/resolve.h"

/* --- look-up ---------------------------------------------------------------------------- */

static struct value slot_value(struct frame *frame, uint32_t k);

static uint32_t slot_of(const struct frame *frame, const struct setting_row *row)
{
	for (uint32_t k = 0; k < frame->slots.n; k++)
		if (frame->slots.at[k].row == row)
			return k;
	return NO_ID;
}

/* A setting of the same block, or its default. */
static bool find_setting(struct frame *frame, const struct node *name, struct value *out)
{
	const struct setting_row *row =
		frame->id < BLOCKS ? schema_setting(frame->id, name->name->text) : NULL;
	uint32_t k = row ? slot_of(frame, row) : NO_ID;

	if (k == NO_ID)
		return false;
	if (frame->slots.at[k].state == STATE_OPEN) {
		diag_at(diag_add(frame->r->work->diags, E0205, name->span,
				 "`%s` is made from itself", row->name),
			"a setting of this block has this name");
		*out = value_poison(name->span);
		return true;
	}
	*out = value_poison(name->span);
	if (!chain_enter(frame->r, name->span))
		return true;
	*out = slot_value(frame, k);
	chain_leave(frame->r);
	return true;
}

/* `lib.name` of a `let` in a library. */
static bool find_member(struct resolve *r, struct binding *import, const struct node *name,
			struct value *out)
{
	struct binding *member;

	import->used = true;
	if (!import->unit) {
		*out = value_poison(name->span);
		return true;
	}
	member = bind_find(import->unit, name->name);
	if (!member || member->kind != BINDING_LET || name->next) {
		if (!r->broken)
			diag_at(diag_add(r->work->diags, E0204, name->span,
					 "library `%s` has no value `%s`", import->name->text,
					 name->name->text),
				"not a `let` of the library");
		*out = value_poison(name->span);
		return true;
	}
	*out = bind_value(r, member, name->span);
	return true;
}

/* While a file is broken, the declaration of an unknown name may be what did not parse. */
static bool find_nothing(struct resolve *r, const struct node *path, struct value *out)
{
	if (!r->broken)
		return false;
	*out = value_poison(path->span);
	return true;
}

static bool frame_find(void *self, const struct node *path, struct value *out)
{
	struct frame *frame = self;
	struct resolve *r = frame->r;
	const struct node *first = path->first;
	struct unit *unit = unit_at(r, path->span);
	struct binding *binding;

	if (!first || first->kind != NODE_NAME)
		return false;
	if (!first->next && find_setting(frame, first, out))
		return true;
	binding = unit ? bind_find(unit, first->name) : NULL;
	if (binding && first->next && binding->kind == BINDING_IMPORT)
		return find_member(r, binding, first->next, out);
	if (binding && !first->next) {
		*out = bind_value(r, binding, path->span);
		return true;
	}
	return find_nothing(r, path, out);
}

static const char *const *frame_names(void *self, size_t *count)
{
	struct frame *frame = self;
	struct arena *arena = frame->r->work->keep;
	const struct unit *unit = frame->r->main;
	VEC(const char *) names = {0};

	if (frame->id < BLOCKS) {
		const char *const *own = schema_names(frame->id, arena, count);

		for (size_t k = 0; k < *count; k++)
			vec_push(arena, &names, own[k]);
	}
	for (uint32_t k = 0; k < unit->bindings.n; k++)
		vec_push(arena, &names, unit->bindings.at[k]->name->text);
	for (uint32_t k = 0; k < unit->bindings.n; k++) {
		const struct binding *import = unit->bindings.at[k];

		for (uint32_t i = 0; import->unit && i < import->unit->bindings.n; i++)
			if (import->unit->bindings.at[i]->kind == BINDING_LET)
				vec_push(arena, &names,
					 arena_text(arena, "%s.%s", import->name->text,
						    import->unit->bindings.at[i]->name->text));
	}
	*count = names.n;
	return names.at;
}

struct scope frame_scope(struct frame *frame)
{
	return (struct scope){frame, frame_find, frame_names};
}

/* --- values ----------------------------------------------------------------------------- */

struct value frame_value(struct frame *frame, const struct node *expr, enum value_type type,
			 const char *setting)
{
	struct scope scope = frame_scope(frame);
	struct value value = value_of(expr, &scope, type == TYPE_WORD, frame->r->work);
	struct span given = value.span;

	/* A wrong type is a fault of the place that uses a value. */
	value.span = expr->span;
	value = value_as(value, type, setting, frame->r->work);
	value.span = given;
	return value;
}

void value_least(struct resolve *r, struct value *value, int64_t least, const char *setting)
{
	struct value limit = value_count(least, ORIGIN_DEFAULT);
	struct diag *diag;

	if (value->poisoned || !value->exact.bottom || value_compare(value, &limit) >= 0)
		return;
	limit.type = value->type;
	diag = diag_add(r->work->diags, E0115, value->span, "`%s` cannot be `%s`", setting,
			value_text(value, r->work->keep));
	diag_at(diag, "the smallest value is `%s`", value_text(&limit, r->work->keep));
	value->poisoned = true;
}

static void check_share(struct resolve *r, struct value *value, const char *setting)
{
	if (value->poisoned || value->type != TYPE_SHARE || value->f <= 1)
		return;
	diag_at(diag_add(r->work->diags, E0115, value->span, "`%s` cannot be `%s`", setting,
			 value_text(value, r->work->keep)),
		"the largest value is `100 %%`");
	value->poisoned = true;
}

static bool is_word(const struct setting_row *row, const struct node *expr)
{
	const struct name *word = path_word(expr);

	return row->type == TYPE_WORD && word && schema_takes(row, word->text);
}

static void check_word(struct frame *frame, struct value *value, const struct node *expr,
		       const struct setting_row *row)
{
	size_t count;
	const char *const *words;

	if (value->poisoned || value->type != TYPE_WORD || schema_takes(row, value->word->text))
		return;
	words = schema_word_list(row, frame->r->work->keep, &count);
	unknown_word(frame->r, expr->span, row->name, value->word->text, words, count);
	value->poisoned = true;
}

static struct value evaluate(struct frame *frame, const struct node *statement,
			     const struct setting_row *row)
{
	const struct node *expr = node_child(statement, 1);
	struct value value;

	if (frame->special && frame->special(frame, statement, row, &value))
		return value;
	no_tail(frame->r, statement);
	if (is_word(row, expr)) {
		value = value_word(path_word(expr), ORIGIN_FILE);
		value.span = expr->span;
		return value;
	}
	value = frame_value(frame, expr, row->type, row->name);
	check_word(frame, &value, expr, row);
	value_least(frame->r, &value, schema_least(row), row->name);
	check_share(frame->r, &value, row->name);
	return value;
}

static struct value *value_at(const struct frame *frame, const struct setting_row *row)
{
	return (struct value *)((char *)frame->into + row->offset);
}

static struct value slot_value(struct frame *frame, uint32_t k)
{
	struct slot slot = frame->slots.at[k];

	if (slot.state == STATE_DONE)
		return *value_at(frame, slot.row);
	frame->slots.at[k].state = STATE_OPEN;
	*value_at(frame, slot.row) = evaluate(frame, slot.node, slot.row);
	frame->slots.at[k].state = STATE_DONE;
	return *value_at(frame, slot.row);
}

static void missing_setting(struct frame *frame, const struct setting_row *row)
{
	struct arena *arena = frame->r->work->keep;
	struct diag *diag;
	size_t count;
	const char *const *words = schema_word_list(row, arena, &count);

	if (suggested(frame->r, row->name))
		return;
	diag = missing(frame->r, frame->span, "%s needs a setting `%s`", frame->title, row->name);
	if (diag && count)
		diag_note(diag, "valid values: %s", name_list(arena, words, count));
}

static void set_default(struct frame *frame, const struct setting_row *row)
{
	if (schema_inner(row))
		return;
	if (!row->fallback) {
		missing_setting(frame, row);
		*value_at(frame, row) = value_poison(frame->span);
	} else if (*row->fallback) {
		struct value value = value_literal(row->fallback, frame->r->work->names);

		if (row->type != TYPE_NONE)
			value = value_as(value, row->type, row->name, frame->r->work);
		*value_at(frame, row) = value;
	}
}

void frame_close(struct frame *frame)
{
	const struct block_row *block = schema_block(frame->id);

	for (uint32_t k = 0; k < frame->slots.n; k++)
		slot_value(frame, k);
	for (uint32_t k = 0; k < block->nsettings; k++)
		if (slot_of(frame, &block->settings[k]) == NO_ID)
			set_default(frame, &block->settings[k]);
}

/* --- statements ------------------------------------------------------------------------- */

void frame_slot(struct frame *frame, const struct setting_row *row, const struct node *statement)
{
	uint32_t k = slot_of(frame, row);
	struct slot slot = {row, statement, frame->round, STATE_FRESH};

	if (k == NO_ID)
		vec_push(frame->r->work->keep, &frame->slots, slot);
	else if (frame->slots.at[k].round == frame->round)
		set_twice(frame->r, head_span(frame->slots.at[k].node), head_span(statement),
			  "setting", row->name);
	else
		frame->slots.at[k] = slot;
}

static void refuse(struct frame *frame, const struct node *statement)
{
	struct arena *arena = frame->r->work->keep;
	size_t count;
	const char *const *own = schema_names(frame->id, arena, &count);
	VEC(const char *) names = {0};

	for (size_t k = 0; k < count; k++)
		vec_push(arena, &names, own[k]);
	for (const char *const *more = frame->more; more && *more; more++)
		vec_push(arena, &names, *more);
	misplaced(frame->r, statement, frame->title, names.at, names.n);
}

static void take_one(struct frame *frame, const struct node *statement)
{
	const struct setting_row *row = NULL;
	const struct name *word = statement->kind == NODE_SETTING ? path_word(statement->first)
								  : NULL;

	if (statement->kind == NODE_ERROR)
		return;
	if (statement->kind == NODE_ALLOW) {
		allow(frame->r, statement);
		return;
	}
	if (frame->take && frame->take(frame, statement))
		return;
	if (word)
		row = schema_setting(frame->id, word->text);
	if (row && !schema_inner(row))
		frame_slot(frame, row, statement);
	else
		refuse(frame, statement);
}

void frame_take(struct frame *frame, const struct node *body)
{
	frame->round++;
	for (const struct node *node = body ? body->first : NULL; node; node = node->next)
		take_one(frame, node);
}
