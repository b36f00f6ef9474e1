/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a file: `let`, `param`, `import`, and what -P sets. */
#include <string.h>

#include "base/bug.h"
#include "plan/resolve/resolve.h"
#include "syntax/parse.h"

/* --- names of a unit -------------------------------------------------------------------- */

/* The place of a name in the index: where it is, or where it may go. Equal texts are one pointer,
 * and nothing depends on the order of places. */
static uint32_t place_of(const struct unit *unit, const struct name *name)
{
	uint32_t at = (uint32_t)(((uintptr_t)name >> 4) * 2654435761u) & (unit->room - 1);

	while (unit->index[at] && unit->bindings.at[unit->index[at] - 1]->name != name)
		at = (at + 1) & (unit->room - 1);
	return at;
}

struct binding *bind_find(const struct unit *unit, const struct name *name)
{
	uint32_t at = unit->room ? unit->index[place_of(unit, name)] : 0;

	return at ? unit->bindings.at[at - 1] : NULL;
}

void bind_add(struct resolve *r, struct unit *unit, struct binding *binding)
{
	vec_push(r->work->keep, &unit->bindings, binding);
	if (2 * unit->bindings.n <= unit->room) {
		unit->index[place_of(unit, binding->name)] = unit->bindings.n;
		return;
	}
	unit->room = unit->room ? 2 * unit->room : 16;
	unit->index = ARENA_ARRAY(r->work->keep, uint32_t, unit->room);
	for (uint32_t k = 0; k < unit->bindings.n; k++)
		unit->index[place_of(unit, unit->bindings.at[k]->name)] = k + 1;
}

static void reserved_import(struct resolve *r, const struct node *node)
{
	diag_note(diag_add(r->work->diags, E0208, node->span,
			   "an import cannot be called `%s`", node->name->text),
		  "a setting or a block has this name; on the right of `=` it would be meant");
}

static void bind(struct resolve *r, struct unit *unit, const struct node *node,
		 enum binding_kind kind)
{
	struct binding *binding = bind_find(unit, node->name);

	if (binding) {
		set_twice(r, binding->node->span, node->span, "the name", node->name->text);
		return;
	}
	binding = ARENA_NEW(r->work->keep, struct binding);
	binding->kind = kind;
	binding->name = node->name;
	binding->node = node;
	bind_add(r, unit, binding);
	if (kind == BINDING_PARAM && unit->library)
		diag_add(r->work->diags, E0216, node->span,
			 "a library has no parameters: `param` belongs into a plan");
	if (kind == BINDING_IMPORT && schema_uses(node->name->text))
		reserved_import(r, node);
}

void bind_unit(struct resolve *r, struct unit *unit)
{
	for (const struct node *node = unit->tree->first; node; node = node->next) {
		if (node->kind == NODE_LET)
			bind(r, unit, node, BINDING_LET);
		else if (node->kind == NODE_PARAM)
			bind(r, unit, node, BINDING_PARAM);
		else if (node->kind == NODE_IMPORT)
			bind(r, unit, node, BINDING_IMPORT);
	}
	for (uint32_t k = 0; k < unit->bindings.n; k++) {
		struct binding *binding = unit->bindings.at[k];
		const struct node *from = node_find(binding->node, NODE_STRING);

		if (binding->kind == BINDING_IMPORT && from)
			binding->unit = unit_import(r, unit->source, from, true);
	}
}

/* --- values ----------------------------------------------------------------------------- */

static const struct node *default_of(const struct node *param)
{
	const struct node *last = param->first;

	if (!(param->flags & NODE_FLAG_VALUE))
		return NULL;
	while (last && last->next)
		last = last->next;
	return last;
}

static enum value_type param_type(struct resolve *r, const struct node *param)
{
	static const char *const types[] = {"bytes",  "rate",  "flops",  "time", "seqs",
					    "tokens", "share", "factor", "count", "bool"};
	const struct node *word = node_child(param, 0);
	enum value_type type = word && word->name ? value_type_of(word->name->text) : TYPE_NONE;

	if (type == TYPE_NONE && word && word->name)
		unknown_word(r, word->span, "param", word->name->text, types,
			     sizeof types / sizeof *types);
	return type;
}

/* True if two values of one type are equal. */
static bool equal(const struct value *a, const struct value *b)
{
	return a->type == TYPE_BOOL ? a->i == b->i : value_compare(a, b) == 0;
}

static bool in_list(struct frame *frame, const struct value *value, const struct node *list,
		    const char *name)
{
	bool found = false;

	for (const struct node *item = list->first; item; item = item->next) {
		struct value one = frame_value(frame, item, value->type, name);

		found |= one.poisoned || equal(value, &one);
	}
	return found;
}

static bool in_range(struct frame *frame, const struct value *value, const struct node *range,
		     const char *name)
{
	struct value low = frame_value(frame, range->first, value->type, name);
	struct value high = frame_value(frame, range->first->next, value->type, name);

	if (low.poisoned || high.poisoned || value->type == TYPE_BOOL)
		return true;
	return value_compare(&low, value) <= 0 && value_compare(value, &high) <= 0;
}

static void check_domain(struct frame *frame, struct value *value, const struct node *param)
{
	struct work *work = frame->r->work;
	const struct node *range = node_find(param, NODE_RANGE);
	const struct node *list = range ? NULL : node_child(param, 1);
	const struct node *domain = range ? range : list;
	const char *name = param->name->text;
	struct diag *diag;

	if (value->poisoned || !domain || (!range && domain->kind != NODE_LIST))
		return;
	if (domain == default_of(param))
		return;
	if (range ? in_range(frame, value, range, name) : in_list(frame, value, list, name))
		return;
	diag = diag_add(work->diags, E0115, value->span, "`%s` cannot be `%s`", name,
			value_text(value, work->keep));
	diag_at(diag, "outside what the parameter allows");
	diag_label(diag, domain->span, "allowed");
	value->poisoned = true;
}

static struct value param_value(struct resolve *r, struct binding *binding)
{
	struct frame frame = {.r = r, .id = BLOCKS};
	const struct node *param = binding->node;
	enum value_type type = param_type(r, param);
	const struct node *expr = binding->outside ? binding->outside : default_of(param);
	struct value value;

	if (type == TYPE_NONE)
		return value_poison(param->span);
	if (!expr) {
		missing(r, param->span, "parameter `%s` has no value: give one with `-P %s=VALUE`",
			binding->name->text, binding->name->text);
		return value_poison(param->span);
	}
	value = frame_value(&frame, expr, type, binding->name->text);
	check_domain(&frame, &value, param);
	value.span = expr->span;
	value.origin = binding->outside ? ORIGIN_COMMAND : ORIGIN_FILE;
	value.from = binding->outside
			     ? arena_text(r->work->keep, "-P %s", binding->outside_text)
			     : arena_text(r->work->keep, "param %s", binding->name->text);
	return value;
}

static struct value let_value(struct resolve *r, struct binding *binding)
{
	struct frame frame = {.r = r, .id = BLOCKS};
	struct scope scope = frame_scope(&frame);
	struct value value = value_of(binding->node->first, &scope, false, r->work);

	if (!value.from)
		value.from = arena_text(r->work->keep, "let %s", binding->name->text);
	return value;
}

static struct value cycle(struct resolve *r, const struct binding *binding, struct span use)
{
	struct diag *diag = diag_add(r->work->diags, E0205, use, "`%s` is made from itself",
				     binding->name->text);

	diag_label(diag, binding->node->span, "declared here");
	return value_poison(use);
}

bool chain_enter(struct resolve *r, struct span use)
{
	if (r->depth >= CHAIN_LIMIT) {
		if (!r->too_long)
			diag_note(diag_add(r->work->diags, E0108, use,
					   "too many values wait for each other"),
				  "at most %d may; a value may use those above it without limit",
				  CHAIN_LIMIT);
		r->too_long = true;
		return false;
	}
	r->depth++;
	return true;
}

void chain_leave(struct resolve *r)
{
	r->depth--;
}

struct value bind_value(struct resolve *r, struct binding *binding, struct span use)
{
	binding->used = true;
	if (binding->state == STATE_OPEN)
		return cycle(r, binding, use);
	if (binding->state == STATE_DONE)
		return binding->value;
	if (binding->kind == BINDING_IMPORT) {
		diag_at(diag_add(r->work->diags, E0112, use, "`%s` is an import, not a value",
				 binding->name->text),
			"a member of it is written `%s.NAME`", binding->name->text);
		return value_poison(use);
	}
	if (!chain_enter(r, use))
		return value_poison(use);
	binding->state = STATE_OPEN;
	binding->value = binding->kind == BINDING_PARAM ? param_value(r, binding)
							: let_value(r, binding);
	chain_leave(r);
	binding->state = STATE_DONE;
	return binding->value;
}

void bind_all(struct resolve *r)
{
	for (uint32_t k = 0; k < r->main->bindings.n; k++) {
		struct binding *binding = r->main->bindings.at[k];
		bool used = binding->used;

		if (binding->kind != BINDING_IMPORT)
			bind_value(r, binding, binding->node->span);
		binding->used = used;
	}
}

void bind_unused(struct resolve *r)
{
	static const char *const words[] = {"`let`", "parameter", "import"};

	/* What a faulty statement was meant to use is not known. */
	if (r->broken || r->work->diags->errors > r->work->errors_before)
		return;
	for (uint32_t k = 0; k < r->main->bindings.n; k++) {
		const struct binding *binding = r->main->bindings.at[k];

		if (!binding->used && !binding->outside)
			diag_at(diag_add(r->work->diags, W0506, binding->node->span,
					 "%s `%s` is never used", words[binding->kind],
					 binding->name->text),
				"nothing refers to it");
	}
}

/* --- -P --------------------------------------------------------------------------------- */

/* A source that shows the whole command, and a view of it that holds `set` alone. */
static struct source command_line(struct resolve *r, const char *set)
{
	struct work *work = r->work;
	const char *command = r->options->command ? r->options->command : "check";
	char *text = arena_text(work->keep, "planc %s %s -P %s", command, r->main->source->path,
				set);
	const struct source *shown =
		sources_add(work->sources, "<command line>", text, strlen(text), false);
	struct source view;
	uint32_t length = (uint32_t)strlen(set);

	if (!shown)
		die("the inputs are larger than 4 GiB together");
	view = *shown;
	view.text += shown->length - length;
	view.start += shown->length - length;
	view.length = length;
	return view;
}

static void note_params(struct resolve *r, struct diag *diag)
{
	VEC(const char *) names = {0};

	for (uint32_t k = 0; k < r->main->bindings.n; k++)
		if (r->main->bindings.at[k]->kind == BINDING_PARAM)
			vec_push(r->work->keep, &names, r->main->bindings.at[k]->name->text);
	if (names.n)
		diag_note(diag,
			  "only names declared with `param` can be set from outside; this plan "
			  "has %s",
			  name_list(r->work->keep, names.at, names.n));
	else
		diag_note(diag, "only names declared with `param` can be set from outside; this "
				"plan has none");
}

static void unknown_param(struct resolve *r, struct span at, const char *name)
{
	struct diag *diag;

	if (r->broken)
		return;
	diag = diag_add(r->work->diags, E0601, at, "plan `%s` has no parameter `%s`",
			r->main->name->text, name);
	diag_at(diag, "no such parameter");
	note_params(r, diag);
}

/* The setting `NAME = VALUE` of a -P, or NULL with a message. */
static const struct node *parse_set(struct resolve *r, const struct source *view)
{
	struct span all = {view->start, view->start + view->length};
	uint32_t errors = r->work->diags->errors;
	const struct node *tree, *setting;

	if (!memchr(view->text, '=', view->length)) {
		diag_at(diag_add(r->work->diags, E0602, all, "`-P` takes `NAME=VALUE`"),
			"there is no `=`");
		return NULL;
	}
	/* The view lives as long as the parse: trees hold spans only. */
	tree = parse(view, r->work);
	if (r->work->diags->errors > errors)
		return NULL;
	setting = tree->first;
	if (!setting || setting->next || setting->kind != NODE_SETTING ||
	    node_children(setting) != 2 || !path_word(setting->first)) {
		diag_at(diag_add(r->work->diags, E0602, all, "`-P` takes `NAME=VALUE`"),
			"one name and one value");
		return NULL;
	}
	return setting;
}

static void set_outside(struct resolve *r, const char *set)
{
	struct source *view = ARENA_NEW(r->work->keep, struct source);
	const struct node *setting;
	const struct name *name;
	struct binding *binding;

	*view = command_line(r, set);
	setting = parse_set(r, view);
	if (!setting)
		return;
	name = path_word(setting->first);
	binding = bind_find(r->main, name);
	if (!binding || binding->kind != BINDING_PARAM) {
		unknown_param(r, setting->first->span, name->text);
		return;
	}
	if (binding->outside)
		set_twice(r, binding->outside->span, setting->span, "parameter", name->text);
	binding->outside = node_child(setting, 1);
	binding->outside_text = set;
}

void bind_outside(struct resolve *r)
{
	const struct plan_options *options = r->options;
	struct plan *plan = r->plan;

	if (!options || !options->nset)
		return;
	plan->outside = ARENA_ARRAY(r->work->keep, struct set_outside, options->nset);
	for (uint32_t k = 0; k < options->nset; k++) {
		const char *equals = strchr(options->set[k], '=');
		size_t length = equals ? (size_t)(equals - options->set[k]) : 0;

		set_outside(r, options->set[k]);
		if (!equals)
			continue;
		plan->outside[plan->noutside].name =
			name_get(r->work->names, options->set[k], length);
		plan->outside[plan->noutside++].text =
			arena_text(r->work->keep, "%s", options->set[k]);
	}
}
