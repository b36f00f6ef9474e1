/* SPDX-License-Identifier: Apache-2.0 */
/* Constant expressions. Depth is bounded by the parser (an expression) and by the scope (values
 * that name values). */
#include <math.h>
#include <string.h>

#include "plan/ratio.h"
#include "plan/value/value_type.h"

struct eval {
	const struct scope *scope;
	bool words;
	struct work *work;
};

static struct value eval(struct eval *e, const struct node *expr);

static struct value fail(struct diag *diag, struct span span, const char *label)
{
	diag_at(diag, "%s", label);
	return value_poison(span);
}

/* A value beyond the range of sizes, or one within it that no exact fraction is. `about`: roughly
 * the value. */
static struct value overflow(struct eval *e, struct span span, double about)
{
	if (fabs(about) < 0x1p63)
		return fail(diag_add(e->work->diags, E0114, span,
				     "the value cannot be held exactly"),
			    span, "more than 38 digits");
	return fail(diag_add(e->work->diags, E0114, span, "the value does not fit 64 bits"), span,
		    "too large");
}

/* Neighbours of a fraction in whole units of its type, for E0113. */
static void note_neighbours(struct diag *diag, const struct value *value)
{
	static const char *const units[TYPES] = {
		[TYPE_BYTES] = " B", [TYPE_SEQS] = " seq", [TYPE_TOKENS] = " tokens"};
	const char *unit = units[value->type] ? units[value->type] : "";
	long long low;

	if (value->exact.top < 0 || value->exact.top / value->exact.bottom >= INT64_MAX)
		return;
	low = (long long)(value->exact.top / value->exact.bottom);
	diag_note(diag, "the nearest whole amounts are `%lld%s` and `%lld%s`", low, unit, low + 1,
		  unit);
}

/* A numeric result of a whole type becomes an integer here, or is refused. */
static struct value settle(struct eval *e, struct value value)
{
	struct diag *diag;

	if (value_settle(&value))
		return value;
	if (ratio_whole(value.exact))
		return overflow(e, value.span, HUGE_VAL);
	diag = diag_add(e->work->diags, E0113, value.span, "%s is not a whole number of %s",
			type_rows[value.type].name, type_rows[value.type].expected);
	diag_at(diag, "this has a fraction");
	note_neighbours(diag, &value);
	return value_poison(value.span);
}

/* --- literals --------------------------------------------------------------------------- */

static struct value unknown_unit(struct eval *e, const struct node *expr)
{
	struct diag *diag = diag_add(e->work->diags, E0110, expr->span, "`%s` is not a unit",
				     expr->name->text);

	diag_note(diag, "`planc list units` prints all of them");
	return value_poison(expr->span);
}

static struct value eval_number(struct eval *e, const struct node *expr)
{
	struct value value = {.type = TYPE_COUNT, .origin = ORIGIN_FILE, .span = expr->span};
	uint64_t scale = 1;

	if (expr->name && !value_unit(expr->name->text, &value.type, &scale))
		return unknown_unit(e, expr);
	if (!expr->number)
		return value_poison(expr->span);
	if (!ratio_of(*expr->number, scale, type_rows[value.type].per, &value.exact))
		return overflow(e, expr->span, expr->number->exponent < 0 ? 0 : HUGE_VAL);
	if (!expr->name && !ratio_whole(value.exact))
		value.type = TYPE_FACTOR;
	return settle(e, value);
}

static struct value eval_list(struct eval *e, const struct node *expr)
{
	uint32_t count = node_children(expr), k = 0;
	struct value *items = ARENA_ARRAY(e->work->keep, struct value, count);
	struct value list = {.type = TYPE_LIST, .origin = ORIGIN_FILE, .span = expr->span,
			     .items = items, .nitems = count};

	for (const struct node *item = expr->first; item; item = item->next) {
		items[k] = eval(e, item);
		list.poisoned |= items[k++].poisoned;
	}
	return list;
}

/* --- names ------------------------------------------------------------------------------ */

/* Words of other languages, and what is written here. */
static const struct {
	const char *word, *here;
} habits[] = {
	{"yes", "this is written `true`"},
	{"True", "this is written `true`"},
	{"no", "this is written `false`"},
	{"off", "this is written `false`"},
	{"False", "this is written `false`"},
	{"none", "what is not wanted is left out: there is no word for it"},
	{"None", "what is not wanted is left out: there is no word for it"},
	{"null", "what is not wanted is left out: there is no word for it"},
};

static const char *habit(const char *text)
{
	for (size_t k = 0; k < sizeof habits / sizeof *habits; k++)
		if (!strcmp(text, habits[k].word))
			return habits[k].here;
	return NULL;
}

/* "lib.name" of a name without its library, else the nearest; NULL if there is neither. */
static const char *meant(const char *text, const char *const *names, size_t count)
{
	for (size_t k = 0; k < count; k++) {
		const char *dot = strrchr(names[k], '.');

		if (dot && !strcmp(dot + 1, text))
			return names[k];
	}
	return name_nearest(text, names, count);
}

static struct value unknown_name(struct eval *e, const struct node *expr)
{
	const char *text = node_path_text(expr, e->work->keep), *near = NULL;
	struct diag *diag =
		diag_add(e->work->diags, E0203, expr->span, "`%s` is not known here", text);

	diag_at(diag, "no setting of this block, `let`, `param` or import has this name");
	if (e->scope && e->scope->names) {
		size_t count = 0;
		const char *const *names = e->scope->names(e->scope->self, &count);

		near = meant(text, names, count);
	}
	if (habit(text))
		diag_note(diag, "%s", habit(text));
	else if (near && strcmp(near, text) != 0)
		diag_note(diag, "a name that is similar exists: `%s`", near);
	return value_poison(expr->span);
}

static struct value eval_path(struct eval *e, const struct node *expr)
{
	struct value value = {0};

	if (e->scope && e->scope->find(e->scope->self, expr, &value))
		return value;
	if (e->words && expr->first && !expr->first->next)
		return (struct value){.type = TYPE_WORD, .origin = ORIGIN_FILE, .span = expr->span,
				      .word = expr->first->name};
	return unknown_name(e, expr);
}

/* --- arithmetic ------------------------------------------------------------------------- */

/* a `*` b and a `/` b for types that are neither equal nor bare; the first row that fits. */
static const struct {
	enum value_type a, b, result;
} products[] = {
	{TYPE_SEQS, TYPE_TOKENS, TYPE_TOKENS},
	{TYPE_RATE, TYPE_TIME, TYPE_BYTES},
	{TYPE_FLOPS, TYPE_TIME, TYPE_FACTOR},
}, quotients[] = {
	{TYPE_TOKENS, TYPE_SEQS, TYPE_TOKENS},
	{TYPE_BYTES, TYPE_RATE, TYPE_TIME},
	{TYPE_BYTES, TYPE_TIME, TYPE_RATE},
	{TYPE_COUNT, TYPE_FLOPS, TYPE_TIME},
	{TYPE_FACTOR, TYPE_FLOPS, TYPE_TIME},
	{TYPE_COUNT, TYPE_TIME, TYPE_FLOPS},
	{TYPE_FACTOR, TYPE_TIME, TYPE_FLOPS},
};

/* Types that scale others without changing what they are. */
static bool scales(enum value_type type)
{
	return type == TYPE_COUNT || type == TYPE_FACTOR || type == TYPE_SHARE;
}

static enum value_type scaled(enum value_type type, enum value_type by)
{
	if (type == TYPE_COUNT)
		return by == TYPE_COUNT ? TYPE_COUNT : TYPE_FACTOR;
	if (type == TYPE_SHARE && by == TYPE_SHARE)
		return TYPE_SHARE;
	return type;
}

static enum value_type product_type(enum value_type a, enum value_type b)
{
	if (scales(b))
		return scaled(a, b);
	if (scales(a))
		return scaled(b, a);
	for (size_t k = 0; k < sizeof products / sizeof *products; k++)
		if ((products[k].a == a && products[k].b == b) ||
		    (products[k].a == b && products[k].b == a))
			return products[k].result;
	return TYPE_NONE;
}

static enum value_type quotient_type(enum value_type a, enum value_type b)
{
	if (a == b)
		return type_rows[a].whole ? TYPE_COUNT : TYPE_FACTOR;
	if (scales(b))
		return scaled(a, b);
	for (size_t k = 0; k < sizeof quotients / sizeof *quotients; k++)
		if (quotients[k].a == a && quotients[k].b == b)
			return quotients[k].result;
	return TYPE_NONE;
}

/* Sums take equal types; a count beside a factor is a factor. */
static enum value_type sum_type(enum value_type a, enum value_type b)
{
	if (a == b)
		return a;
	if ((a == TYPE_COUNT && b == TYPE_FACTOR) || (a == TYPE_FACTOR && b == TYPE_COUNT))
		return TYPE_FACTOR;
	return TYPE_NONE;
}

static struct value refuse_types(struct eval *e, const struct node *expr, const struct value *a,
				 const struct value *b)
{
	static const char *const verbs[] = {
		[BINARY_ADD] = "added",   [BINARY_SUB] = "subtracted", [BINARY_MUL] = "multiplied",
		[BINARY_DIV] = "divided", [BINARY_EQ] = "compared",    [BINARY_NE] = "compared",
		[BINARY_LE] = "compared", [BINARY_GE] = "compared",    [BINARY_LT] = "compared",
		[BINARY_GT] = "compared"};
	struct diag *diag =
		diag_add(e->work->diags, E0112, expr->span, "%s and %s cannot be %s",
			 type_rows[a->type].name, type_rows[b->type].name, verbs[expr->op]);

	diag_label(diag, expr->first->span, "%s", type_rows[a->type].name);
	diag_label(diag, expr->first->next->span, "%s", type_rows[b->type].name);
	return value_poison(expr->span);
}

static struct value not_exact(struct eval *e, const struct node *expr, const struct value *a,
			      const struct value *b)
{
	struct arena *arena = e->work->keep;
	long long left = (long long)a->i, right = (long long)b->i;
	struct diag *diag =
		diag_add(e->work->diags, E0210, expr->span, "`%s` does not divide by `%s`",
			 value_text(a, arena), value_text(b, arena));

	diag_at(diag, "%lld / %lld leaves %lld", left, right, left % right);
	diag_note(diag, "sizes are exact: nothing is rounded");
	return value_poison(expr->span);
}

static double roughly(enum binary op, double a, double b)
{
	switch (op) {
	case BINARY_ADD: return a + b;
	case BINARY_SUB: return a - b;
	case BINARY_MUL: return a * b;
	default: return a / b;
	}
}

static struct value divide(struct eval *e, const struct node *expr, const struct value *a,
			   const struct value *b, struct value result)
{
	result.type = quotient_type(a->type, b->type);
	if (result.type == TYPE_NONE)
		return refuse_types(e, expr, a, b);
	if (!b->exact.top)
		return fail(diag_add(e->work->diags, E0114, expr->span, "division by zero"),
			    expr->span, "the divisor is 0");
	if (!ratio_div(a->exact, b->exact, &result.exact))
		return overflow(e, expr->span, roughly(expr->op, a->f, b->f));
	if (type_rows[a->type].whole && type_rows[b->type].whole && !ratio_whole(result.exact))
		return not_exact(e, expr, a, b);
	return settle(e, result);
}

static struct value arithmetic(struct eval *e, const struct node *expr, const struct value *a,
			       const struct value *b)
{
	struct value result = {.origin = ORIGIN_FILE, .span = expr->span};
	struct ratio right = expr->op == BINARY_SUB ? ratio_negate(b->exact) : b->exact;
	bool fits;

	if (!type_rows[a->type].number || !type_rows[b->type].number)
		return refuse_types(e, expr, a, b);
	if (expr->op == BINARY_DIV)
		return divide(e, expr, a, b, result);
	result.type = expr->op == BINARY_MUL ? product_type(a->type, b->type)
					     : sum_type(a->type, b->type);
	if (result.type == TYPE_NONE)
		return refuse_types(e, expr, a, b);
	fits = expr->op == BINARY_MUL ? ratio_mul(a->exact, right, &result.exact)
				      : ratio_add(a->exact, right, &result.exact);
	return fits ? settle(e, result)
		    : overflow(e, expr->span, roughly(expr->op, a->f, b->f));
}

static bool holds(enum binary op, int order)
{
	switch (op) {
	case BINARY_EQ: return order == 0;
	case BINARY_NE: return order != 0;
	case BINARY_LE: return order <= 0;
	case BINARY_GE: return order >= 0;
	case BINARY_LT: return order < 0;
	case BINARY_GT: return order > 0;
	default: BUG("operator %d is no comparison", op);
	}
}

static struct value comparison(struct eval *e, const struct node *expr, const struct value *a,
			       const struct value *b)
{
	struct value result = {.type = TYPE_BOOL, .origin = ORIGIN_FILE, .span = expr->span};
	enum value_type type = sum_type(a->type, b->type);
	bool equality = expr->op == BINARY_EQ || expr->op == BINARY_NE;

	if (type_rows[type].number)
		result.i = holds(expr->op, ratio_compare(a->exact, b->exact));
	else if (equality && type == TYPE_BOOL)
		result.i = holds(expr->op, a->i != b->i);
	else if (equality && (type == TYPE_WORD || type == TYPE_STRING))
		result.i = holds(expr->op, a->word != b->word);
	else
		return refuse_types(e, expr, a, b);
	return result;
}

static struct value eval_binary(struct eval *e, const struct node *expr)
{
	struct value a, b;

	a = eval(e, expr->first);
	b = eval(e, expr->first->next);
	if (a.poisoned || b.poisoned)
		return value_poison(expr->span);
	if (expr->op <= BINARY_DIV)
		return arithmetic(e, expr, &a, &b);
	return comparison(e, expr, &a, &b);
}

static struct value eval_negate(struct eval *e, const struct node *expr)
{
	struct value value = eval(e, expr->first);

	if (value.poisoned)
		return value;
	value.span = expr->span;
	value.origin = ORIGIN_FILE;
	value.from = NULL;
	if (!type_rows[value.type].number)
		return fail(diag_add(e->work->diags, E0112, expr->span, "%s cannot be negative",
				     type_rows[value.type].name),
			    expr->span, "expected a number");
	value.exact = ratio_negate(value.exact);
	return settle(e, value);
}

static struct value no_value(struct eval *e, const struct node *expr)
{
	return fail(diag_add(e->work->diags, E0112, expr->span, "this is no value"), expr->span,
		    "expected a number, a word, a string or a list");
}

static struct value eval(struct eval *e, const struct node *expr)
{
	struct value value = {.origin = ORIGIN_FILE, .span = expr->span};

	switch (expr->kind) {
	case NODE_NUMBER:
		return eval_number(e, expr);
	case NODE_STRING:
		value.type = TYPE_STRING;
		value.word = expr->name;
		return value;
	case NODE_BOOL:
		value.type = TYPE_BOOL;
		value.i = expr->op;
		return value;
	case NODE_PATH:
		return eval_path(e, expr);
	case NODE_LIST:
		return eval_list(e, expr);
	case NODE_NEGATE:
		return eval_negate(e, expr);
	case NODE_BINARY:
		return eval_binary(e, expr);
	case NODE_ERROR:
		return value_poison(expr->span);
	default:
		return no_value(e, expr);
	}
}

struct value value_of(const struct node *expr, const struct scope *scope, bool words,
		      struct work *work)
{
	struct eval e = {scope, words, work};

	return eval(&e, expr);
}
