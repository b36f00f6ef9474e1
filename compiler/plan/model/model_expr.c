/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor expressions to operator calls; names of the weights they make. */
#include <stdlib.h>

#include "plan/model/model_build.h"

uint32_t call_add(struct builder *builder, struct model_call call)
{
	call.result = builder->model->nvalues++;
	call.region = builder->region;
	call.group = builder->group;
	vec_push(builder->work->keep, &builder->calls, call);
	return call.result;
}

static bool operator_find(const struct name *name, enum operator_id *out)
{
	for (uint32_t i = 0; i < OPERATORS; i++)
		if (name_is(name, operator_row(i)->name)) {
			*out = i;
			return true;
		}
	return false;
}

static void report_operator(struct builder *builder, const struct node *path)
{
	struct arena *keep = builder->work->keep;
	const char *names[OPERATORS];
	const char *text = node_path_text(path, keep);
	const char *near;
	struct diag *diag =
		model_fault(builder, E0212, path->span, "there is no operator `%s`", text);

	for (uint32_t i = 0; i < OPERATORS; i++)
		names[i] = operator_row(i)->name;
	near = name_nearest(text, names, OPERATORS);
	if (near)
		diag_note(diag, "an operator with a similar name exists: `%s`", near);
}

/* Indices and real tensors do not mix: lookup and the targets of a loss take given tensors, which
 * are the only integers; everything else takes none. */
static void check_element(struct builder *builder, const struct model_call *call, uint32_t k,
			  struct span span)
{
	bool integer = call->operands[k] < GIVENS;
	bool wanted = call->op == OPERATOR_lookup || (call->op == OPERATOR_cross_entropy && k == 1);

	if (integer != wanted)
		model_fault(builder, E0212, span, "`%s` takes %s here",
			    operator_row(call->op)->name,
			    wanted ? "one of `tokens`, `targets`, `position`"
				   : "a tensor of numbers, not of indices");
}

/* Operands of a call, evaluated from left to right; false after a fault. */
static bool operands_build(struct builder *builder, const struct node *node,
			   struct model_call *call)
{
	const struct operator_row *row = operator_row(call->op);
	uint32_t count = 0;
	bool good = true;

	for (const struct node *child = node->first->next; child; child = child->next) {
		uint32_t value;

		if (child->kind == NODE_ARGUMENT || child->kind == NODE_ARROW)
			continue;
		value = expression_build(builder, child, NULL);
		if (count < row->operands) {
			call->operands[count] = value;
			if (value != NO_ID)
				check_element(builder, call, count, child->span);
		}
		good &= value != NO_ID;
		count++;
	}
	call->noperands = row->operands;
	if (count == row->operands)
		return good;
	model_fault(builder, E0212, node->span, "`%s` takes %u tensor%s, this call has %u",
		    row->name, row->operands, row->operands == 1 ? "" : "s", count);
	return false;
}

static uint32_t call_build(struct builder *builder, const struct node *node,
			   const struct node *name, const struct name *binding)
{
	struct model_call call = {.span = node->span, .binding = binding, .scaling = {1, 0, 0, 0}};
	bool good;

	if (!operator_find(path_single(node->first), &call.op) || call.op == OPERATOR_add ||
	    call.op == OPERATOR_sub || call.op == OPERATOR_mul) {
		report_operator(builder, node->first);
		return NO_ID;
	}
	call.stored_in_out = call.op == OPERATOR_linear && builder->stored_in_out;
	good = operands_build(builder, node, &call);
	good &= arguments_read(builder, node, &call);
	if (name)
		parameters_name(builder, name, &call);
	else if (operator_row(call.op)->params)
		diag_note(model_fault(builder, E0211, node->span,
				      "`%s` makes parameters without a name",
				      operator_row(call.op)->name),
			  "write `as \"name\"` for a new weight, `tied \"name\"` for a shared one");
	if (!good)
		return NO_ID;
	if (call.op == OPERATOR_dropout && call.rate == 0)
		return call.operands[0];
	return call_add(builder, call);
}

static uint32_t binary_build(struct builder *builder, const struct node *node,
			     const struct name *binding)
{
	static const enum operator_id ops[] = {
		[BINARY_ADD] = OPERATOR_add,
		[BINARY_SUB] = OPERATOR_sub,
		[BINARY_MUL] = OPERATOR_mul,
	};
	struct model_call call = {.span = node->span, .binding = binding, .noperands = 2};

	if (node->op > BINARY_MUL) {
		model_fault(builder, E0212, node->span, "tensors take `+`, `-` and `*` only");
		return NO_ID;
	}
	call.op = ops[node->op];
	call.operands[0] = expression_build(builder, node_child(node, 0), NULL);
	call.operands[1] = expression_build(builder, node_child(node, 1), NULL);
	if (call.operands[0] == NO_ID || call.operands[1] == NO_ID)
		return NO_ID;
	check_element(builder, &call, 0, node_child(node, 0)->span);
	check_element(builder, &call, 1, node_child(node, 1)->span);
	return call_add(builder, call);
}

uint32_t expression_build(struct builder *builder, const struct node *expr,
			  const struct name *binding)
{
	switch (expr->kind) {
	case NODE_PATH:
	case NODE_NAME:
		return name_read(builder, expr);
	case NODE_CALL:
		return call_build(builder, expr, NULL, binding);
	case NODE_AS:
	case NODE_TIED:
		return call_build(builder, expr->first, expr, binding);
	case NODE_BINARY:
		return binary_build(builder, expr, binding);
	case NODE_ERROR:
		builder->faulty = true;
		return NO_ID;
	default:
		model_fault(builder, E0212, expr->span, "expected a tensor");
		return NO_ID;
	}
}

/* "attn.c_attn[1]" to "attn.c_attn" and 1; a text without `[i]` at its end is whole, -1. */
static int32_t piece_of(struct builder *builder, const struct node *string, const char **stem)
{
	const char *text = string->name->text;
	const char *open = strrchr(text, '[');
	size_t length = string->name->length;
	char *end;
	long piece;

	*stem = text;
	if (!length || text[length - 1] != ']' || !open || open == text)
		return -1;
	piece = strtol(open + 1, &end, 10);
	if (end != text + length - 1 || end == open + 1 || open[1] < '0' || open[1] > '9' ||
	    piece > 9999) {
		model_fault(builder, E0211, string->span, "`%s` names no piece of a weight", text);
		return -1;
	}
	*stem = arena_copy(builder->work->keep, text, (size_t)(open - text));
	return (int32_t)piece;
}

/* What pieces of one stored tensor have in common: they differ in their rows alone. */
static const char *columns_text(struct builder *builder, const struct model_call *call)
{
	const struct dims *dims = call->op == OPERATOR_lookup ? &call->to : &call->from;

	if (!operator_row(call->op)->arrow)
		return "a vector";
	return arena_text(builder->work->keep, "rows of %s",
			  model_dims_text(builder->model, dims, builder->work->keep));
}

static const char *layout_text(const struct model_call *call)
{
	return call->stored_in_out ? "stored [in, out]" : "stored [out, in]";
}

static bool has_bias(const struct model_call *call)
{
	return call->bias || call->op == OPERATOR_layernorm;
}

static void report_joined(struct builder *builder, const struct model_name *name, const char *is,
			  const struct model_name *before, const char *was)
{
	struct diag *diag =
		model_fault(builder, E0211, name->span,
			    "`%s` cannot be joined to the piece before it", name->path);

	diag_at(diag, "%s", is);
	diag_label(diag, before->span, "%s", was);
}

/* Their biases are joined too, from the first piece on. */
static void check_joined(struct builder *builder, const struct model_call *call,
			 const struct model_call *before)
{
	const char *is = columns_text(builder, call), *was = columns_text(builder, before);

	if (strcmp(is, was) != 0)
		report_joined(builder, call->as, is, before->as, was);
	else if (call->stored_in_out != before->stored_in_out)
		report_joined(builder, call->as, layout_text(call), before->as,
			      layout_text(before));
	else if (has_bias(call) && !has_bias(before))
		report_joined(builder, call->as, "with a bias", before->as, "without a bias");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* True if `name` is `pattern` with the number of a layer for its `{layer}`. */
static bool layer_named(const char *pattern, const char *name, uint64_t layers)
{
	static const char mark[] = "{layer}";
	const char *at = strstr(pattern, mark);
	size_t before = at ? (size_t)(at - pattern) : 0;
	unsigned long long layer;
	char *end;

	if (!at || strncmp(pattern, name, before) || !is_digit(name[before]) ||
	    (name[before] == '0' && is_digit(name[before + 1])))
		return false;
	layer = strtoull(name + before, &end, 10);
	return layer < layers && !strcmp(end, at + strlen(mark));
}

/* The name that two weights would both have, in files or in a plan; NULL: there is none. */
static const char *name_of_both(const struct builder *builder, const struct model_call *a,
				const struct model_call *b)
{
	const char *x = a->as->stored, *y = b->as->stored;
	uint64_t layers = builder->model->layers;

	if (!strcmp(x, y) || !strcmp(a->as->path, b->as->path))
		return b->as->path;
	if (a->region == REGION_REPEAT && layer_named(x, y, layers))
		return y;
	return b->region == REGION_REPEAT && layer_named(y, x, layers) ? x : NULL;
}

/* Pieces of one stored tensor are of one region and stand in order, counted from 0; all else that
 * has a name that is taken is a clash. */
static void check_unique(struct builder *builder, const struct model_call *call)
{
	const struct model_name *name = call->as;
	const struct model_call *last = NULL;
	int32_t next = 0;

	for (uint32_t i = 0; i < builder->named.n; i++) {
		const struct model_call *other = &builder->named.at[i];
		const char *both = name_of_both(builder, other, call);

		if (!both)
			continue;
		if (strcmp(other->as->stored, name->stored) || other->as->piece < 0 ||
		    name->piece < 0 || other->as->piece == name->piece) {
			diag_label(model_fault(builder, E0202, name->span,
					       "two weights have the name `%s`", both),
				   other->as->span, "named here first");
			return;
		}
		last = other;
		next++;
	}
	if (name->piece > next)
		model_fault(builder, E0211, name->span, "piece %d of `%s` comes before piece %d",
			    name->piece, name->stored, next);
	else if (last)
		check_joined(builder, call, last);
}

static void tie(struct builder *builder, const struct node *string, struct model_call *call)
{
	const char *text = string->name->text;
	const char *inner = arena_text(builder->work->keep, "%s%s", builder->path_prefix, text);
	const struct model_call *home = NULL;
	bool same;

	for (uint32_t i = 0; i < builder->named.n; i++) {
		const struct model_name *as = builder->named.at[i].as;

		if (as && (!strcmp(as->path, inner) || !strcmp(as->path, text)))
			home = &builder->named.at[i];
	}
	if (!home) {
		model_fault(builder, E0217, string->span, "no weight `%s` stands before this one",
			    text);
		return;
	}
	if ((home->region == REGION_REPEAT) != (builder->region == REGION_REPEAT))
		model_fault(builder, E0217, string->span,
			    "a weight cannot be tied across the border of the repeated block");
	if (call->bias)
		model_fault(builder, E0217, call->span, "a tied weight has no bias");
	same = home->from.n + home->to.n == call->from.n + call->to.n;
	for (uint32_t i = 0; i < home->from.n; i++)
		same &= dims_have(&call->from, home->from.at[i]) ||
			dims_have(&call->to, home->from.at[i]);
	for (uint32_t i = 0; i < home->to.n; i++)
		same &= dims_have(&call->from, home->to.at[i]) ||
			dims_have(&call->to, home->to.at[i]);
	if (!same && call->to.n && (home->to.n || !operator_row(home->op)->arrow))
		diag_label(
			model_fault(builder, E0217, call->span, "weight `%s` has other dims", text),
			home->span, "made here");
	call->tied = home->as;
}

void parameters_name(struct builder *builder, const struct node *node, struct model_call *call)
{
	struct arena *keep = builder->work->keep;
	const struct node *string = node->first->next;
	struct model_name *name = ARENA_NEW(keep, struct model_name);
	const char *stem;

	if (!operator_row(call->op)->params) {
		model_fault(builder, E0212, string->span, "`%s` has no parameters to name",
			    operator_row(call->op)->name);
	} else if (node->kind == NODE_TIED) {
		tie(builder, string, call);
	} else if (!string->name->length) {
		model_fault(builder, E0211, string->span, "the name of a parameter is empty");
	} else {
		name->piece = piece_of(builder, string, &stem);
		name->stored = arena_text(keep, "%s%s", builder->stored_prefix, stem);
		name->path = arena_text(keep, "%s%s", builder->path_prefix, string->name->text);
		name->span = string->span;
		call->as = name;
		call->region = builder->region;
		check_unique(builder, call);
		vec_push(keep, &builder->named, *call);
	}
}
