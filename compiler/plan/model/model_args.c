/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of operators: dims, numbers, flags, words, each with its range. */
#include <math.h>
#include <stddef.h>

#include "plan/model/model_build.h"

enum argument_kind {
	ARGUMENT_ALONG,	 /* call->from: one dim */
	ARGUMENT_NUMBER, /* a double at `offset`, low <= x < high */
	ARGUMENT_FLAG,	 /* a bool at `offset` */
	ARGUMENT_INIT,
	ARGUMENT_STORED,
	ARGUMENT_MASK,
};

#define AT(member) offsetof(struct model_call, member)

/* Named arguments of each operator. */
static const struct argument {
	enum operator_id op;
	const char *name;
	enum argument_kind kind;
	bool needed;
	enum value_type type;
	size_t offset;
	double low, high;
} arguments[] = {
	{OPERATOR_linear, "bias", ARGUMENT_FLAG, false, TYPE_BOOL, AT(bias), 0, 0},
	{OPERATOR_linear, "init", ARGUMENT_INIT, false, TYPE_WORD, 0, 0, 0},
	{OPERATOR_linear, "stored", ARGUMENT_STORED, false, TYPE_WORD, 0, 0, 0},
	{OPERATOR_layernorm, "eps", ARGUMENT_NUMBER, true, TYPE_FACTOR, AT(eps), 0, 1},
	{OPERATOR_layernorm, "along", ARGUMENT_ALONG, false, TYPE_NONE, 0, 0, 0},
	{OPERATOR_rmsnorm, "eps", ARGUMENT_NUMBER, true, TYPE_FACTOR, AT(eps), 0, 1},
	{OPERATOR_rmsnorm, "along", ARGUMENT_ALONG, false, TYPE_NONE, 0, 0, 0},
	{OPERATOR_rope, "base", ARGUMENT_NUMBER, true, TYPE_FACTOR, AT(base), 1, HUGE_VAL},
	{OPERATOR_rope, "factor", ARGUMENT_NUMBER, false, TYPE_FACTOR, AT(scaling[0]), 1, HUGE_VAL},
	{OPERATOR_rope, "low", ARGUMENT_NUMBER, false, TYPE_FACTOR, AT(scaling[1]), 0, HUGE_VAL},
	{OPERATOR_rope, "high", ARGUMENT_NUMBER, false, TYPE_FACTOR, AT(scaling[2]), 0, HUGE_VAL},
	{OPERATOR_rope, "original", ARGUMENT_NUMBER, false, TYPE_FACTOR, AT(scaling[3]), 0,
	 HUGE_VAL},
	{OPERATOR_attend, "mask", ARGUMENT_MASK, false, TYPE_WORD, 0, 0, 0},
	{OPERATOR_attend, "dropout", ARGUMENT_NUMBER, false, TYPE_SHARE, AT(rate), 0, 1},
	{OPERATOR_dropout, "rate", ARGUMENT_NUMBER, true, TYPE_SHARE, AT(rate), 0, 1},
};
enum { ARGUMENTS = sizeof arguments / sizeof *arguments };

static struct diag *bad_argument(struct builder *builder, struct span span, const char *name,
				 enum operator_id op)
{
	return model_fault(builder, E0212, span, "wrong argument `%s` of `%s`", name,
			   operator_row(op)->name);
}

static uint32_t dim_read(struct builder *builder, const struct node *node)
{
	const struct name *name = path_single(node);
	uint32_t dim = name ? model_dim(builder->model, name) : NO_ID;
	struct model *model = builder->model;
	const char **names;
	const char *near, *text;
	struct diag *diag;

	if (dim != NO_ID || node->kind == NODE_ERROR)
		return dim;
	if (!name) {
		model_fault(builder, E0212, node->span, "expected a dim or a list of dims");
		return NO_ID;
	}
	text = name->text;
	names = ARENA_ARRAY(builder->work->keep, const char *, model->ndims + 1);
	for (uint32_t i = 0; i < model->ndims; i++)
		names[i] = model->dims[i].name->text;
	near = name_nearest(text, names, model->ndims);
	diag = model_fault(builder, E0203, node->span, "the architecture has no dim `%s`", text);
	if (near)
		diag_note(diag, "a dim with a similar name exists: `%s`", near);
	return NO_ID;
}

bool dims_read(struct builder *builder, const struct node *expr, struct dims *out)
{
	bool list = expr->kind == NODE_LIST || expr->kind == NODE_DIMS;
	const struct node *at = list ? expr->first : expr;

	out->n = 0;
	while (at) {
		uint32_t dim = dim_read(builder, at);

		if (dim == NO_ID) {
			builder->faulty = true;
			return false;
		}
		if (dims_have(out, dim) || out->n == DIM_MAX) {
			model_fault(builder, E0213, at->span,
				    out->n == DIM_MAX ? "a tensor has at most eight dims"
						      : "a dim stands twice in a list");
			return false;
		}
		out->at[out->n++] = dim;
		at = list ? at->next : NULL;
	}
	if (!out->n)
		model_fault(builder, E0212, expr->span, "expected a dim or a list of dims");
	return out->n > 0;
}

/* The place of the value's word among two, or -1 after a report. */
static int word_of(struct builder *builder, const struct argument *row, const struct node *expr,
		   const char *first, const char *second)
{
	const struct name *name = path_single(expr);

	if (name_is(name, first))
		return 0;
	if (name_is(name, second))
		return 1;
	if (expr->kind != NODE_ERROR)
		diag_note(bad_argument(builder, expr->span, row->name, row->op),
			  "it takes `%s` or `%s`", first, second);
	builder->faulty = true;
	return -1;
}

static bool read_value(struct builder *builder, const struct argument *row, const struct node *expr,
		       struct value *out)
{
	struct work work = *builder->work;
	uint32_t errors = work.diags->errors;

	if (!builder->room)
		work.diags = builder->silent;
	*out = value_of(expr, &builder->settings->scope, false, &work);
	if (!out->poisoned)
		*out = value_as(*out, row->type, row->name, &work);
	if (out->poisoned)
		builder->faulty = true;
	if (builder->work->diags->errors != errors && builder->room)
		builder->room--;
	return !out->poisoned;
}

static void report_range(struct builder *builder, const struct argument *row, struct span span)
{
	struct arena *keep = builder->work->keep;
	bool share = row->type == TYPE_SHARE;
	const char *unit = share ? " %" : "", *low = num_double(keep, row->low * (share ? 100 : 1));
	struct diag *diag = model_fault(builder, E0115, span, "`%s` of `%s` is out of range",
					row->name, operator_row(row->op)->name);

	if (isinf(row->high))
		diag_at(diag, "at least %s%s", low, unit);
	else
		diag_at(diag, "at least %s%s, less than %s%s", low, unit,
			num_double(keep, row->high * (share ? 100 : 1)), unit);
}

static void read_number(struct builder *builder, const struct argument *row,
			const struct node *expr, struct model_call *call)
{
	struct value value;

	if (!read_value(builder, row, expr, &value))
		return;
	if (value.f < row->low || value.f >= row->high)
		report_range(builder, row, value.span);
	*(double *)((char *)call + row->offset) = value.f;
}

/* Rows of a norm are its tensor's last dim. */
static void read_along(struct builder *builder, const struct argument *row,
		       const struct node *expr, struct model_call *call)
{
	if (dims_read(builder, expr, &call->from) && call->from.n > 1)
		diag_at(bad_argument(builder, expr->span, row->name, row->op),
			"one dim, the tensor's last");
}

static void read_argument(struct builder *builder, const struct argument *row,
			  const struct node *expr, struct model_call *call)
{
	struct value value;

	switch (row->kind) {
	case ARGUMENT_ALONG:
		read_along(builder, row, expr, call);
		break;
	case ARGUMENT_NUMBER:
		read_number(builder, row, expr, call);
		break;
	case ARGUMENT_FLAG:
		if (read_value(builder, row, expr, &value))
			*(bool *)((char *)call + row->offset) = value.i != 0;
		break;
	case ARGUMENT_INIT:
		call->init = word_of(builder, row, expr, "normal", "residual") == 1 ? INIT_RESIDUAL
										    : INIT_NORMAL;
		break;
	case ARGUMENT_STORED:
		call->stored_in_out = word_of(builder, row, expr, "out_in", "in_out") == 1;
		break;
	case ARGUMENT_MASK:
		call->causal = word_of(builder, row, expr, "none", "causal") == 1;
		break;
	}
}

static const struct argument *argument_find(enum operator_id op, const struct name *name)
{
	for (uint32_t i = 0; i < ARGUMENTS; i++)
		if (arguments[i].op == op && name_is(name, arguments[i].name))
			return &arguments[i];
	return NULL;
}

static void report_unknown(struct builder *builder, const struct node *path, enum operator_id op)
{
	struct arena *keep = builder->work->keep;
	struct diag *diag = model_fault(builder, E0212, path->span, "`%s` takes no argument `%s`",
					operator_row(op)->name, node_path_text(path, keep));
	const char *list = "";

	for (uint32_t i = 0; i < ARGUMENTS; i++)
		if (arguments[i].op == op)
			list = arena_text(keep, "%s%s`%s`", list, *list ? ", " : "",
					  arguments[i].name);
	if (*list)
		diag_note(diag, "it takes %s", list);
}

static void read_named(struct builder *builder, const struct node *argument,
		       struct model_call *call, bool *seen)
{
	const struct node *path = argument->first;
	const struct argument *row = argument_find(call->op, path_single(path));

	if (!row) {
		report_unknown(builder, path, call->op);
	} else if (seen[row - arguments]) {
		model_fault(builder, E0202, path->span, "argument `%s` is given twice", row->name);
	} else {
		seen[row - arguments] = true;
		read_argument(builder, row, path->next, call);
	}
}

/* One side of `->`: dims of a weight. */
static bool read_side(struct builder *builder, const struct node *expr, struct dims *out)
{
	if (!dims_read(builder, expr, out))
		return false;
	if (dims_have(out, builder->model->batch))
		diag_note(model_fault(builder, E0213, expr->span, "`batch` is no dim of a weight"),
			  "it is how many samples are looked at together, and none sees another");
	return true;
}

static void read_arrow(struct builder *builder, const struct node *arrow, struct model_call *call)
{
	if (!operator_row(call->op)->arrow) {
		model_fault(builder, E0212, arrow->span, "`%s` takes no `->`",
			    operator_row(call->op)->name);
	} else if (call->to.n) {
		model_fault(builder, E0212, arrow->span, "`%s` takes one `->`",
			    operator_row(call->op)->name);
	} else if (read_side(builder, node_child(arrow, 0), &call->from) &&
		   read_side(builder, node_child(arrow, 1), &call->to)) {
		for (uint32_t i = 0; i < call->to.n; i++)
			if (dims_have(&call->from, call->to.at[i]))
				model_fault(builder, E0213, arrow->span,
					    "dim `%s` stands on both sides of `->`",
					    builder->model->dims[call->to.at[i]].name->text);
		if (call->op == OPERATOR_lookup && call->from.n != 1)
			model_fault(builder, E0212, arrow->span,
				    "`lookup` takes one dim on the left of `->`");
	}
}

/* Waves between the two are scaled by how far they are from `low` on the way to `high`. */
static void check_scaling(struct builder *builder, const struct node *node,
			  const struct model_call *call)
{
	double factor = call->scaling[0], low = call->scaling[1], high = call->scaling[2];

	if (call->op != OPERATOR_rope || factor <= 1 || low < high || builder->faulty)
		return;
	diag_at(model_fault(builder, E0115, node->span, "`low` of `rope` is not under `high`"),
		"%s and %s", num_double(builder->work->keep, low),
		num_double(builder->work->keep, high));
}

bool arguments_read(struct builder *builder, const struct node *node, struct model_call *out)
{
	const struct operator_row *row = operator_row(out->op);
	bool seen[ARGUMENTS] = {false};
	bool arrow = false, before = builder->faulty;

	builder->faulty = false;
	for (const struct node *child = node->first->next; child; child = child->next) {
		if (child->kind == NODE_ARROW) {
			arrow = true;
			read_arrow(builder, child, out);
		} else if (child->kind == NODE_ARGUMENT) {
			read_named(builder, child, out, seen);
		}
	}
	if (row->arrow && !arrow)
		model_fault(builder, E0212, node->span, "`%s` needs `dims -> dims`", row->name);
	for (uint32_t i = 0; i < ARGUMENTS; i++)
		if (arguments[i].op == out->op && arguments[i].needed && !seen[i])
			model_fault(builder, E0212, node->span, "`%s` needs the argument `%s`",
				    row->name, arguments[i].name);
	check_scaling(builder, node, out);
	arrow = !builder->faulty;
	builder->faulty |= before;
	return arrow;
}

bool condition_holds(struct builder *builder, const struct node *expr, bool *known)
{
	struct value value = value_of(expr, &builder->settings->scope, false, builder->work);

	if (!value.poisoned)
		value = value_as(value, TYPE_BOOL, "if", builder->work);
	*known = !value.poisoned;
	if (value.poisoned)
		builder->faulty = true;
	return value.i != 0;
}
