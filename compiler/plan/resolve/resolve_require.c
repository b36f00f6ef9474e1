/* SPDX-License-Identifier: Apache-2.0 */
/* require: a quantity of the finished plan against a constant. */
#include <string.h>

#include "plan/print/origin.h"
#include "plan/resolve/resolve.h"

struct quantity_row {
	const char *name;
	enum value_type type;
};

static const struct quantity_row rows[QUANTITIES] = {
#define QUANTITY(id, name, type, doc) {name, type},
#include "plan/quantities.def"
#undef QUANTITY
};

char *require_text(const struct plan *plan, const struct require *require, struct arena *arena)
{
	static const char *const signs[] = {
		[BINARY_EQ] = "==", [BINARY_NE] = "!=", [BINARY_LE] = "<=",
		[BINARY_GE] = ">=", [BINARY_LT] = "<",  [BINARY_GT] = ">"};
	const char *axis = require->axis == NO_ID ? "?" : plan->axes[require->axis].name->text;
	const char *name = require->quantity == QUANTITY_AXIS_LINK
				   ? arena_text(arena, "mesh.%s.link", axis)
				   : rows[require->quantity].name;

	return arena_text(arena, "%s %s %s", name, signs[require->op],
			  value_text(&require->limit, arena));
}

/* `mesh.AXIS.link`; *axis gets the axis. */
static bool is_axis_link(struct resolve *r, const struct node *path, uint32_t *axis)
{
	const struct node *mesh = path->first, *name = mesh ? mesh->next : NULL;
	const struct node *link = name ? name->next : NULL;

	if (!link || link->next || !name_is(mesh->name, "mesh") || !name_is(link->name, "link"))
		return false;
	for (uint32_t k = 0; k < r->plan->naxes; k++)
		if (r->plan->axes[k].name == name->name)
			*axis = k;
	if (*axis == NO_ID && !name_unknown(r, name->name) && !r->broken)
		diag_at(diag_add(r->work->diags, E0203, name->span, "mesh has no axis `%s`",
				 name->name->text),
			"no such axis");
	return true;
}

/* The quantity that an expression names, or QUANTITIES. */
static enum quantity quantity_of(struct resolve *r, const struct node *expr, uint32_t *axis)
{
	if (expr->kind != NODE_PATH)
		return QUANTITIES;
	for (int k = 0; k < QUANTITIES; k++)
		if (node_path_is(expr, rows[k].name))
			return (enum quantity)k;
	return is_axis_link(r, expr, axis) ? QUANTITY_AXIS_LINK : QUANTITIES;
}

static enum binary flip(enum binary op)
{
	switch (op) {
	case BINARY_LE: return BINARY_GE;
	case BINARY_GE: return BINARY_LE;
	case BINARY_LT: return BINARY_GT;
	case BINARY_GT: return BINARY_LT;
	default: return op;
	}
}

static void no_quantity(struct resolve *r, const struct node *expr)
{
	const char *names[QUANTITIES];
	const struct node *left = expr->kind == NODE_BINARY ? expr->first : expr;
	char *text = left->kind == NODE_PATH ? node_path_text(left, r->work->keep) : NULL;
	const char *near;
	struct diag *diag;

	for (int k = 0; k < QUANTITIES; k++)
		names[k] = rows[k].name;
	near = text ? name_nearest(text, names, QUANTITIES) : NULL;
	diag = diag_add(r->work->diags, E0203, left->span,
			"`require` compares a quantity with a constant");
	diag_at(diag, "no quantity of this name");
	if (near)
		diag_note(diag, "a quantity with a similar name exists: `%s`", near);
	else
		diag_note(diag, "quantities are %s",
			  name_list(r->work->keep, names, QUANTITIES));
}

static struct value link_limit(struct resolve *r, const struct node *expr,
			       const struct plan_link **link)
{
	static const char *const kinds[] = {"link", NULL};
	struct value value = value_poison(expr->span);
	struct plan_link *values = ARENA_NEW(r->work->keep, struct plan_link);
	const struct node *found;

	if (expr->kind != NODE_PATH) {
		diag_at(diag_add(r->work->diags, E0112, expr->span, "an axis runs over a link"),
			"expected the name of a link");
		return value;
	}
	found = member_find(r, expr, kinds);
	if (!found)
		return value;
	resolve_link_values(r, found, NULL, expr->span, values);
	*link = values;
	value = value_word(node_find(found, NODE_NAME)->name, ORIGIN_FILE);
	value.span = expr->span;
	return value;
}

static struct value limit_of(struct resolve *r, struct require *require, const struct node *expr)
{
	enum quantity quantity = require->quantity;
	struct frame frame = {.r = r, .id = BLOCKS};
	struct scope scope = frame_scope(&frame);
	struct value value;

	if (quantity == QUANTITY_AXIS_LINK)
		return link_limit(r, expr, &require->link);
	value = value_of(expr, &scope, false, r->work);
	if (quantity == QUANTITY_PEAK_MEMORY && value.type == TYPE_SHARE)
		return value;
	return value_as(value, rows[quantity].type, rows[quantity].name, r->work);
}

static void check_operator(struct resolve *r, const struct require *require)
{
	if (require->quantity != QUANTITY_AXIS_LINK || require->op == BINARY_EQ ||
	    require->op == BINARY_NE)
		return;
	diag_at(diag_add(r->work->diags, E0112, require->span, "links have no order"),
		"compare them with `==` or `!=`");
}

void resolve_require(struct resolve *r, const struct node *statement)
{
	struct plan *plan = r->plan;
	const struct node *expr = statement->first, *reason = expr->next;
	bool compares = expr->kind == NODE_BINARY && expr->op >= BINARY_EQ;
	struct require require = {.quantity = QUANTITIES, .axis = NO_ID, .span = expr->span};
	const struct node *constant = NULL;

	if (expr->kind == NODE_ERROR)
		return;
	if (compares) {
		require.op = (enum binary)expr->op;
		require.quantity = quantity_of(r, expr->first, &require.axis);
		constant = expr->first->next;
	}
	if (compares && require.quantity == QUANTITIES) {
		require.op = flip(require.op);
		require.quantity = quantity_of(r, expr->first->next, &require.axis);
		constant = expr->first;
	}
	if (require.quantity == QUANTITIES) {
		no_quantity(r, expr);
		return;
	}
	require.limit = limit_of(r, &require, constant);
	require.text = sources_text(r->work->sources, r->work->keep, expr->span);
	require.reason = reason && reason->name ? reason->name->text : NULL;
	check_operator(r, &require);
	plan->requires[plan->nrequires++] = require;
}
