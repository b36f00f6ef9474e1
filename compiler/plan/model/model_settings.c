/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and options: declared by the architecture, given by the model, evaluated here. */
#include "plan/model/model_build.h"

static const struct {
	const char *name;
	enum value_type type;
} option_types[] = {
	{"bool", TYPE_BOOL},
	{"count", TYPE_COUNT},
	{"factor", TYPE_FACTOR},
	{"share", TYPE_SHARE},
};

const struct name *path_single(const struct node *path)
{
	if (!path)
		return NULL;
	if (path->kind == NODE_NAME)
		return path->name;
	if (path->kind != NODE_PATH || node_children(path) != 1)
		return NULL;
	return path->first->name;
}

struct model_entry *settings_find(struct model_settings *settings, const struct name *name)
{
	for (uint32_t i = 0; i < settings->list.n; i++)
		if (settings->list.at[i].name == name)
			return &settings->list.at[i];
	return NULL;
}

static struct diag *fault(struct model_settings *settings, enum diag_code code, struct span span,
			  const char *title)
{
	settings->faulty = true;
	return diag_add(settings->work->diags, code, span, "%s", title);
}

static const char *architecture_text(struct model_settings *settings)
{
	struct node *name = node_child(settings->architecture, 1);

	return name && name->name ? name->name->text : "?";
}

/* A quotient of sizes that is no whole number, shown where the divisor was given. True if reported.
 */
static bool report_remainder(struct model_settings *settings, const struct model_entry *entry)
{
	struct work *work = settings->work;
	const struct node *left = node_child(entry->expr, 0);
	const struct node *right = node_child(entry->expr, 1);
	struct value a = value_of(left, &settings->scope, false, work);
	struct value b = value_of(right, &settings->scope, false, work);
	struct model_entry *top = settings_find(settings, path_single(left));
	struct model_entry *bottom = settings_find(settings, path_single(right));
	struct diag *diag;

	if (a.poisoned || b.poisoned || a.type != TYPE_COUNT || b.type != TYPE_COUNT || !b.i ||
	    a.i % b.i == 0)
		return false;
	diag = diag_add(work->diags, E0210, bottom ? bottom->value.span : entry->expr->span,
			"size `%s` is no whole number: %lld / %lld leaves %lld", entry->name->text,
			(long long)a.i, (long long)b.i, (long long)(a.i % b.i));
	if (bottom)
		diag_at(diag, "`%s` is %lld", bottom->name->text, (long long)b.i);
	if (top)
		diag_label(diag, top->value.span, "`%s` is %lld", top->name->text, (long long)a.i);
	diag_label(diag, entry->expr->span, "divided here");
	if (a.i > 0)
		diag_note(diag, "divisors of %lld: %s", (long long)a.i,
			  num_divisors(work->keep, (uint64_t)a.i, 256));
	settings->faulty = true;
	return true;
}

static void check_value(struct model_settings *settings, struct model_entry *entry)
{
	struct value *value = &entry->value;

	if (value->poisoned) {
		settings->faulty = true;
		return;
	}
	if (entry->type == TYPE_COUNT && value->i <= 0 && (entry->size || !entry->fallback)) {
		struct diag *diag = fault(settings, E0300, value->span,
					  arena_text(settings->work->keep, "size `%s` is %lld",
						     entry->name->text, (long long)value->i));

		diag_at(diag, "a size is at least 1");
		value->poisoned = true;
	}
}

static void evaluate(struct model_settings *settings, struct model_entry *entry)
{
	struct work *work = settings->work;
	bool closed = settings->closed;
	struct value value;

	entry->state = ENTRY_OPEN;
	settings->closed = entry->fallback;
	if (entry->expr->kind == NODE_BINARY && entry->expr->op == BINARY_DIV &&
	    report_remainder(settings, entry))
		value = value_poison(entry->expr->span);
	else
		value = value_of(entry->expr, &settings->scope, false, work);
	if (!value.poisoned)
		value = value_as(value, entry->type, entry->name->text, work);
	settings->closed = closed;
	value.span = entry->expr->span;
	if (entry->fallback && value.origin == ORIGIN_FILE)
		value.origin = ORIGIN_DEFAULT;
	entry->value = value;
	entry->state = ENTRY_DONE;
	check_value(settings, entry);
}

static void report_cycle(struct model_settings *settings, const struct model_entry *entry,
			 const struct node *path)
{
	struct diag *diag =
		fault(settings, E0205, path->span,
		      arena_text(settings->work->keep, "`%s` refers to itself", entry->name->text));

	diag_label(diag, entry->expr->span, "its value is worked out here");
}

static bool find(void *self, const struct node *path, struct value *out)
{
	struct model_settings *settings = self;
	const struct name *name = path_single(path);
	struct model_entry *entry = name ? settings_find(settings, name) : NULL;

	if (!entry)
		return !settings->closed && settings->outer &&
		       settings->outer->find(settings->outer->self, path, out);
	if (entry->state == ENTRY_OPEN) {
		report_cycle(settings, entry, path);
		*out = (struct value){.poisoned = true};
		return true;
	}
	if (entry->state == ENTRY_NEW && entry->expr)
		evaluate(settings, entry);
	*out = entry->value;
	return true;
}

static const char *const *entry_names(void *self, size_t *count)
{
	struct model_settings *settings = self;
	const char **names = ARENA_ARRAY(settings->work->keep, const char *, settings->list.n + 1);

	for (uint32_t i = 0; i < settings->list.n; i++)
		names[i] = settings->list.at[i].name->text;
	*count = settings->list.n;
	return names;
}

/* Adds a size or option of the architecture. */
static void declare(struct model_settings *settings, const struct node *path, enum value_type type,
		    bool size, const struct node *expr)
{
	const struct name *name = path_single(path);
	const struct model_entry *first = name ? settings_find(settings, name) : NULL;
	struct model_entry entry = {
		.name = name,
		.type = type,
		.size = size,
		.fallback = expr != NULL,
		.expr = expr,
		.declared = path->span,
	};

	if (!name) {
		fault(settings, E0216, path->span, "a size or option has a single name");
	} else if (name_is(name, "batch") || name_is(name, "tokens")) {
		fault(settings, E0202, path->span,
		      arena_text(settings->work->keep, "dim `%s` is given by `train`", name->text));
	} else if (first) {
		struct diag *diag = fault(
			settings, E0202, path->span,
			arena_text(settings->work->keep, "`%s` is declared twice", name->text));

		diag_label(diag, first->declared, "declared here first");
	} else {
		vec_push(settings->work->keep, &settings->list, entry);
	}
}

static void declare_size(struct model_settings *settings, const struct node *statement)
{
	const struct node *path = statement->first;

	if (statement->kind == NODE_WORD)
		declare(settings, path, TYPE_COUNT, true, NULL);
	else if (statement->kind == NODE_SETTING && node_children(statement) == 2)
		declare(settings, path, TYPE_COUNT, true, path->next);
	else if (statement->kind == NODE_ERROR)
		settings->faulty = true;
	else
		fault(settings, E0216, statement->span, "`size` takes `name` and `name = value`");
}

static void declare_option(struct model_settings *settings, const struct node *statement)
{
	const struct node *path = statement->first;
	const struct node *type = path ? path->next : NULL;

	if (statement->kind == NODE_ERROR) {
		settings->faulty = true;
		return;
	}
	if (statement->kind != NODE_TYPED) {
		fault(settings, E0216, statement->span, "`option` takes `name : type`");
		return;
	}
	for (size_t i = 0; i < sizeof option_types / sizeof *option_types; i++)
		if (name_is(type->name, option_types[i].name)) {
			declare(settings, path, option_types[i].type, false, type->next);
			return;
		}
	diag_note(fault(settings, E0209, type->span,
			arena_text(settings->work->keep, "`%s` is not the type of an option",
				   type->name ? type->name->text : "?")),
		  "types: bool, count, factor, share");
}

static void declare_all(struct model_settings *settings)
{
	const struct node *body = node_find(settings->architecture, NODE_BODY);

	for (const struct node *block = body ? body->first : NULL; block; block = block->next) {
		const struct node *inner = node_find(block, NODE_BODY);
		bool size = block->kind == NODE_BLOCK && node_path_is(block->first, "size");
		bool option = block->kind == NODE_BLOCK && node_path_is(block->first, "option");

		if (!inner || (!size && !option))
			continue;
		for (const struct node *child = inner->first; child; child = child->next)
			(size ? declare_size : declare_option)(settings, child);
	}
}

/* What seems to be missing may stand in a text that did not parse: `within` it, or anywhere
 * (NULL). */
static bool spelling_faults(const struct work *work, const struct node *within)
{
	const struct diags *diags = work->diags;

	for (uint32_t i = work->diags_before; i < diags->all.n; i++) {
		const struct diag *diag = diags->all.at[i];

		if (diag->code < E0201 && (!within || (diag->span.lo >= within->span.lo &&
						       diag->span.lo < within->span.hi)))
			return true;
	}
	return false;
}

/* One message for all of a model: what the architecture lacks is often one fault there. */
static void report_unknown(struct model_settings *settings, const struct node *path)
{
	size_t count;
	const char *const *names = entry_names(settings, &count);
	const char *text = node_path_text(path, settings->work->keep);
	const char *near = name_nearest(text, names, count);
	struct diag *diag = settings->unknown;

	if (diag) {
		diag_label(diag, path->span, "nor this");
		return;
	}
	if (spelling_faults(settings->work, settings->architecture)) {
		settings->faulty = true;
		return;
	}
	diag = fault(settings, E0201, path->span,
		     arena_text(settings->work->keep,
				"architecture `%s` has no size or option `%s`",
				architecture_text(settings), text));
	settings->unknown = diag;
	diag_at(diag, "not known here");
	if (near)
		diag_note(diag, "a setting with a similar name exists: `%s`", near);
}

static void give(struct model_settings *settings, const struct node *statement)
{
	const struct node *path = statement->first;
	const struct name *name = path_single(path);
	struct model_entry *entry = name ? settings_find(settings, name) : NULL;

	if (!entry) {
		report_unknown(settings, path);
	} else {
		entry->expr = path->next;
		entry->fallback = false;
		if (path->next->next)
			fault(settings, E0216, path->next->next->span,
			      "a size or option takes a value only");
	}
}

/* Values of one body; names set twice in it are reported. */
static void take(struct model_settings *settings, const struct node *body)
{
	for (const struct node *child = body ? body->first : NULL; child; child = child->next) {
		if (child->kind == NODE_ERROR)
			settings->faulty = true;
		else if (child->kind == NODE_WORD)
			fault(settings, E0105, child->span, "a setting is written `name = value`");
		else if (child->kind == NODE_ALLOW)
			continue;
		else if (child->kind != NODE_SETTING)
			fault(settings, E0216, child->span, "a model takes sizes and options only");
		else
			give(settings, child);
		for (const struct node *first = body->first; first != child; first = first->next)
			if (first->kind == NODE_SETTING && child->kind == NODE_SETTING &&
			    path_single(first->first) &&
			    path_single(first->first) == path_single(child->first) &&
			    !(child->flags & NODE_FLAG_OVERRIDE)) {
				diag_label(
					fault(settings, E0202, child->first->span,
					      arena_text(settings->work->keep, "`%s` is set twice",
							 path_single(child->first)->text)),
					first->first->span, "set here first");
				break;
			}
	}
}

/* All that is missing, in one message at the start of the model's body. */
static void report_missing(struct model_settings *settings, const struct node *body)
{
	struct arena *keep = settings->work->keep;
	struct span span = body ? body->span : settings->architecture->first->span;
	const char *list = "";
	struct diag *diag;

	for (uint32_t i = 0; i + 1 < settings->list.n; i++) {
		struct model_entry *entry = &settings->list.at[i];

		if (!entry->expr)
			list = arena_text(keep, "%s%s`%s`", list, *list ? ", " : "",
					  entry->name->text);
	}
	if (!*list)
		return;
	settings->faulty = true;
	if (spelling_faults(settings->work, NULL))
		return;
	if (body)
		span.hi = span.lo + 1;
	diag = fault(settings, E0206, span, arena_text(keep, "the model does not set %s", list));
	diag_at(diag, "architecture `%s` has no default for it", architecture_text(settings));
	for (uint32_t i = 0; i + 1 < settings->list.n; i++)
		if (!settings->list.at[i].expr)
			diag_label(diag, settings->list.at[i].declared, "declared here");
}

void settings_read(struct model_settings *settings, const struct node *architecture,
		   const struct node *model_block, const struct node *base_body)
{
	struct model_entry pad = {.type = TYPE_COUNT};

	settings->architecture = architecture;
	settings->scope = (struct scope){.self = settings, .find = find, .names = entry_names};
	declare_all(settings);
	pad.name = name_of(settings->work->names, "vocab_pad_to");
	pad.value = value_count(1, ORIGIN_DEFAULT);
	vec_push(settings->work->keep, &settings->list, pad);
	take(settings, base_body);
	take(settings, model_block);
	for (uint32_t i = 0; i + 1 < settings->list.n; i++)
		settings->list.at[i].value.poisoned = !settings->list.at[i].expr;
	for (uint32_t i = 0; i < settings->list.n; i++) {
		struct model_entry *entry = &settings->list.at[i];

		if (entry->expr && entry->state == ENTRY_NEW)
			evaluate(settings, entry);
	}
	report_missing(settings, model_block ? model_block : base_body);
}
