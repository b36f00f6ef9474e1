/* SPDX-License-Identifier: Apache-2.0 */
/* `extends`: two plans become one tree, `override` replaces whole statements in it. Trees are
 * changed in place; only this file does so. */
#include <string.h>

#include "plan/resolve/resolve.h"

static void append(struct node *parent, struct node *node)
{
	struct node **at = &parent->first;

	while (*at)
		at = &(*at)->next;
	*at = node;
}

/* --- where an override leads ------------------------------------------------------------ */

static const struct node *body_of(const struct node *statement)
{
	const struct node *of = node_find(statement, NODE_OF);

	if (statement->kind == NODE_SETTING && of)
		return node_find(of, NODE_BODY);
	return node_find(statement, NODE_BODY);
}

/* The pointer in a list of siblings that holds the block or setting called `name`, or its NULL end.
 */
static struct node **place_of(struct node *parent, const struct name *name)
{
	struct node **at = &parent->first;

	while (*at && !(((*at)->kind == NODE_BLOCK || (*at)->kind == NODE_SETTING) &&
			path_word((*at)->first) == name))
		at = &(*at)->next;
	return at;
}

/* What a path leads through: a block, a setting with braces, a strategy, which gets braces if it
 * has none. NULL: there is none of this name. */
static struct node *through(struct resolve *r, struct node *parent, const struct name *name)
{
	struct node *found = *place_of(parent, name), *braces;

	for (struct node *node = parent->first; node && !found; node = node->next)
		if (node->kind == NODE_STRATEGY && path_word(node->first) == name)
			found = node;
	if (!found || found->kind != NODE_STRATEGY || body_of(found))
		return found && body_of(found) ? found : NULL;
	braces = ARENA_NEW(r->work->keep, struct node);
	*braces = (struct node){.kind = NODE_BODY, .span = found->span};
	append(found, braces);
	return found;
}

/* The next name of the path after a block: its own name may stand there. */
static const struct node *after(const struct node *block, const struct node *rest)
{
	const struct node *own = block->kind == NODE_BLOCK ? node_find(block, NODE_NAME) : NULL;

	return own && own->name == rest->name && rest->next ? rest->next : rest;
}

/* The list that the last name of the path belongs to; *last gets that name. NULL: the path leads
 * nowhere. */
static struct node *follow(struct resolve *r, struct node *tree, const struct node *path,
			   const struct node **last)
{
	struct node *parent = tree;
	const struct node *name = path->first;

	while (name->next) {
		struct node *found = through(r, parent, name->name);

		if (!found)
			return NULL;
		parent = (struct node *)body_of(found);
		name = after(found, name->next);
	}
	*last = name;
	return parent;
}

/* --- applying --------------------------------------------------------------------------- */

static void refuse(struct resolve *r, const struct node *statement, const char *why)
{
	struct diag *diag =
		diag_add(r->work->diags, E0207, head_span(statement), "nothing to override: `%s`",
			 node_path_text(statement->first, r->work->keep));

	diag_at(diag, "%s", why);
	diag_note(diag, "an override names a block that the extended plan has and a setting that "
			"the block knows");
}

/* The statement with its path cut to the last name. */
static struct node *shortened(struct resolve *r, const struct node *statement,
			      const struct node *last)
{
	struct node *copy = ARENA_NEW(r->work->keep, struct node);
	struct node *path = ARENA_NEW(r->work->keep, struct node);
	struct node *name = ARENA_NEW(r->work->keep, struct node);

	*name = *last;
	name->next = NULL;
	*path = *statement->first;
	path->first = name;
	*copy = *statement;
	copy->first = path;
	copy->flags &= (uint8_t)~NODE_FLAG_OVERRIDE;
	copy->next = NULL;
	return copy;
}

/* True if a setting that the base left to its default may be put into this list. */
static bool may_add(const struct node *tree, const struct node *parent, const struct node *path)
{
	return parent != tree && !name_is(path->first->name, "mesh");
}

/* What a plan has overridden so far: the setting or block `name` of a list. */
struct overridden {
	const struct node *parent, *statement;
	const struct name *name;
};

struct overrides {
	VEC(struct overridden) made;
};

/* True if `node` is `outer` or stands in it. */
static bool stands_in(const struct node *node, const struct node *outer)
{
	bool found = node == outer;

	for (const struct node *inner = outer->first; inner && !found; inner = inner->next)
		found = stands_in(node, inner);
	return found;
}

/* Reports the second of two overrides of which one alone would count: of one place, whatever the
 * paths, or of what stands in a block that is then replaced. */
static bool given_before(struct resolve *r, const struct overrides *before,
			 const struct overridden *now, const struct node *replaced)
{
	for (uint32_t k = 0; k < before->made.n; k++) {
		const struct overridden *other = &before->made.at[k];
		bool same = other->parent == now->parent && other->name == now->name;

		if (!same && !(replaced && stands_in(other->parent, replaced)))
			continue;
		diag_label(diag_add(r->work->diags, E0202, head_span(now->statement),
				    "override `%s` undoes an earlier one",
				    node_path_text(now->statement->first, r->work->keep)),
			   head_span(other->statement), "given here first");
		return true;
	}
	return false;
}

static void override(struct resolve *r, struct node *tree, const struct node *statement,
		     struct overrides *before)
{
	const struct node *last = NULL;
	struct node *parent = follow(r, tree, statement->first, &last);
	struct overridden now = {parent, statement, NULL};
	struct node **at, *next;

	if (!parent) {
		refuse(r, statement, "the extended plan has no such block");
		return;
	}
	at = place_of(parent, last->name);
	if (statement->kind == NODE_BLOCK && *at && node_find(*at, NODE_NAME)) {
		refuse(r, statement, "a block with a name of its own is changed by its settings");
		return;
	}
	if (!*at && !may_add(tree, parent, statement->first)) {
		refuse(r, statement, "the extended plan has no such setting");
		return;
	}
	now.name = last->name;
	if (given_before(r, before, &now, *at))
		return;
	vec_push(r->work->keep, &before->made, now);
	next = *at ? (*at)->next : NULL;
	*at = shortened(r, statement, last);
	(*at)->next = next;
}

/* --- merging ---------------------------------------------------------------------------- */

static bool is_override(const struct node *node)
{
	return (node->kind == NODE_SETTING || node->kind == NODE_BLOCK) &&
	       (node->flags & NODE_FLAG_OVERRIDE);
}

static bool is_head(const struct node *node)
{
	return node->kind == NODE_PLAN || node->kind == NODE_EDITION;
}

static struct node *copy_of(struct resolve *r, const struct node *node)
{
	struct node *copy = ARENA_NEW(r->work->keep, struct node);

	*copy = *node;
	copy->next = NULL;
	return copy;
}

/* True if both name the same block of a plan, so that their statements become one. */
static bool same_block(const struct node *a, const struct node *b)
{
	const struct node *x = node_find(a, NODE_NAME), *y = node_find(b, NODE_NAME);

	return a->kind == NODE_BLOCK && b->kind == NODE_BLOCK && path_word(a->first) &&
	       path_word(a->first) == path_word(b->first) && !node_find(b, NODE_BASE) &&
	       (x ? x->name : NULL) == (y ? y->name : NULL) && body_of(a) && body_of(b);
}

/* Adds a statement of the extending plan: into the block of the same name, or at the end. */
static void add(struct resolve *r, struct node *tree, const struct node *statement)
{
	for (struct node *node = tree->first; node; node = node->next) {
		if (!same_block(node, statement))
			continue;
		for (const struct node *inner = body_of(statement)->first; inner;
		     inner = inner->next)
			append((struct node *)body_of(node), copy_of(r, inner));
		return;
	}
	append(tree, copy_of(r, statement));
}

/* Said once; what the plan lacks is then not said, since it is meant to be in another one. */
static void refuse_overrides(struct resolve *r, const struct unit *unit)
{
	for (const struct node *node = unit->tree->first; node && !r->broken; node = node->next) {
		if (!is_override(node))
			continue;
		diag_note(diag_add(r->work->diags, E0207, node->span,
				   "`override` in a plan that extends none"),
			  "a plan that changes another one starts with `plan NAME extends "
			  "\"FILE\"`");
		r->broken = true;
	}
}

/* Within a block it would change nothing but what stands there. */
static void refuse_inner(struct resolve *r, const struct node *statement)
{
	for (const struct node *node = statement->first; node; node = node->next) {
		if (is_override(node))
			diag_note(diag_add(r->work->diags, E0207, head_span(node),
					   "`override` within a block"),
				  "it stands at the top, with the path of what it changes: "
				  "`override train.steps = 10`");
		else
			refuse_inner(r, node);
	}
}

static void merge_bindings(struct resolve *r, struct unit *unit, const struct unit *base)
{
	for (uint32_t k = 0; k < base->bindings.n; k++) {
		struct binding *binding = base->bindings.at[k];
		struct binding *own = bind_find(unit, binding->name);

		binding->used = true;
		if (own && (own->kind != BINDING_IMPORT || binding->kind != BINDING_IMPORT))
			set_twice(r, binding->node->span, own->node->span, "the name",
				  binding->name->text);
		if (!own)
			bind_add(r, unit, binding);
	}
}

void unit_extend(struct resolve *r, struct unit *unit, struct unit *base)
{
	struct overrides overrides = {{0}};
	const struct node *head;
	struct node *tree;

	for (const struct node *node = unit->tree->first; node; node = node->next)
		refuse_inner(r, node);
	if (!base) {
		refuse_overrides(r, unit);
		return;
	}
	head = node_find(base->tree, NODE_PLAN);
	if (head && node_find(head, NODE_STRING)) {
		diag_add(r->work->diags, E0207, node_find(unit->tree, NODE_PLAN)->span,
			 "`%s` extends a plan itself: only one step is allowed", base->path);
		return;
	}
	tree = base->tree;
	for (const struct node *node = unit->tree->first; node; node = node->next)
		if (is_override(node))
			override(r, tree, node, &overrides);
	for (const struct node *node = unit->tree->first; node; node = node->next)
		if (!is_override(node) && !is_head(node))
			add(r, tree, node);
	merge_bindings(r, unit, base);
	unit->base = base->source;
	unit->tree = tree;
	for (uint32_t k = 0; k < r->units.n; k++)
		if (r->units.at[k] == base)
			r->units.at[k] = r->units.at[--r->units.n];
}
