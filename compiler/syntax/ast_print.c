/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion is bounded: brackets by NEST_LIMIT, expressions by DEPTH_LIMIT. */
#include "syntax/parse.h"

#include <string.h>

#include "base/bug.h"
#include "syntax/ast.h"

static void put(struct text *out, const char *text)
{
	text_raw(out, text, strlen(text));
}

static void print_indent(struct text *out, int level)
{
	while (level-- > 0)
		put(out, "  ");
}

static void print(const struct node *node, struct text *out, int level);

static void print_list(const struct node *first, const char *between, struct text *out, int level)
{
	for (const struct node *node = first; node; node = node->next) {
		if (node != first)
			put(out, between);
		print(node, out, level);
	}
}

/* Reading the digits gives the same mantissa and exponent: zeros at the end of a fraction would be
 * dropped, so those are written with an exponent. */
static void print_decimal(struct decimal d, struct text *out)
{
	char digits[64];
	size_t at = sizeof digits - 1;
	__int128 rest = d.mantissa;
	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + (int)(rest % 10));
		rest /= 10;
	} while (rest > 0);
	size_t count = sizeof digits - 1 - at;
	if (d.exponent < 0 && d.exponent > -7 && d.mantissa % 10 != 0) {
		size_t fraction = (size_t)-d.exponent;
		while (count <= fraction) {
			digits[--at] = '0';
			count++;
		}
		text_raw(out, digits + at, count - fraction);
		put(out, ".");
		text_raw(out, digits + at + count - fraction, fraction);
		return;
	}
	put(out, digits + at);
	if (d.exponent)
		text_add(out, "e%d", d.exponent);
}

static void print_number(const struct node *node, struct text *out)
{
	print_decimal(*node->number, out);
	if (!node->name)
		return;
	put(out, " ");
	put(out, node->name->text);
}

static void print_string(const struct node *node, struct text *out)
{
	put(out, "\"");
	for (uint32_t i = 0; i < node->name->length; i++) {
		char c = node->name->text[i];
		if (c == '\n')
			put(out, "\\n");
		else if (c == '"' || c == '\\')
			text_raw(out, (char[]){'\\', c}, 2);
		else
			text_raw(out, &c, 1);
	}
	put(out, "\"");
}

static const char *const binary_text[] = {
	[BINARY_ADD] = " + ", [BINARY_SUB] = " - ", [BINARY_MUL] = " * ", [BINARY_DIV] = " / ",
	[BINARY_EQ] = " == ", [BINARY_NE] = " != ", [BINARY_LE] = " <= ", [BINARY_GE] = " >= ",
	[BINARY_LT] = " < ",  [BINARY_GT] = " > "};

/* How tightly an expression holds together: 1 comparison, 2 sum, 3 product, 4 the rest. */
static int strength(const struct node *node)
{
	if (node->kind != NODE_BINARY)
		return 4;
	if (node->op == BINARY_ADD || node->op == BINARY_SUB)
		return 2;
	return node->op == BINARY_MUL || node->op == BINARY_DIV ? 3 : 1;
}

static void print_operand(const struct node *node, int least, struct text *out, int level)
{
	bool round = strength(node) < least;
	put(out, round ? "(" : "");
	print(node, out, level);
	put(out, round ? ")" : "");
}

static void print_binary(const struct node *node, struct text *out, int level)
{
	int own = strength(node);
	print_operand(node_child(node, 0), own == 1 ? 2 : own, out, level);
	put(out, binary_text[node->op]);
	print_operand(node_child(node, 1), own + 1, out, level);
}

static void print_statements(const struct node *parent, struct text *out, int level)
{
	for (const struct node *node = parent->first; node; node = node->next) {
		const char *doc = node->doc ? node->doc->text : NULL;
		while (doc) {
			size_t length = strcspn(doc, "\n");
			print_indent(out, level);
			put(out, length ? "/// " : "///");
			text_raw(out, doc, length);
			put(out, "\n");
			doc = doc[length] ? doc + length + 1 : NULL;
		}
		print_indent(out, level);
		print(node, out, level);
		put(out, "\n");
	}
}

static void print_body(const struct node *node, struct text *out, int level)
{
	if (!node->first) {
		put(out, "{ }");
		return;
	}
	put(out, "{\n");
	print_statements(node, out, level + 1);
	print_indent(out, level);
	put(out, "}");
}

/* The children parted by spaces, where the kind of a child says what stands before it. */
static void print_parts(const struct node *node, const struct node *first, struct text *out,
			int level)
{
	for (const struct node *part = first; part; part = part->next) {
		if (node->kind == NODE_BLOCK && part->kind == NODE_STRING)
			put(out, "as ");
		print(part, out, level);
		if (part->next && part->next->kind != NODE_BASE)
			put(out, " ");
	}
}

static void print_setting(const struct node *node, struct text *out, int level)
{
	const struct node *value = node_child(node, 1);
	put(out, node->flags & NODE_FLAG_OVERRIDE ? "override " : "");
	print(node->first, out, level);
	put(out, " = ");
	print_parts(node, value, out, level);
}

static void print_param(const struct node *node, struct text *out, int level)
{
	bool value = node->flags & NODE_FLAG_VALUE;
	text_add(out, "param %s : ", node->name->text);
	print(node->first, out, level);
	for (const struct node *part = node->first->next; part; part = part->next) {
		put(out, value && !part->next ? " = " : " in ");
		print(part, out, level);
	}
}

static void print_place(const struct node *node, struct text *out, int level)
{
	static const char *const words[] = {
		[PLACE_WITHIN] = "within ", [PLACE_ACROSS] = "across ", [PLACE_ON] = "on "};
	put(out, words[node->op]);
	print(node->first, out, level);
	put(out, node->first->next ? " " : "");
	print_list(node->first->next, " .. ", out, level);
}

static void print_typed(const struct node *node, struct text *out, int level)
{
	print(node->first, out, level);
	put(out, " : ");
	print_list(node->first->next, " = ", out, level);
}

static void print_rule(const struct node *node, struct text *out, int level)
{
	print(node->first, out, level);
	put(out, " : ");
	print(node_child(node, 1), out, level);
	put(out, " -> ");
	print_list(node_child(node, 2)->first, " * ", out, level);
}

/* WORD NAME, and after it what follows the name. */
static void print_named(const struct node *node, const char *word, const char *between,
			struct text *out, int level)
{
	put(out, word);
	put(out, node->name->text);
	if (node->first) {
		put(out, between);
		print(node->first, out, level);
	}
}

static void print_framed(const struct node *first, const char *open, const char *close,
			 struct text *out, int level)
{
	put(out, open);
	print_list(first, ", ", out, level);
	put(out, close);
}

static void print_pair(const struct node *node, const char *between, struct text *out, int level)
{
	print_list(node->first, between, out, level);
}

static void print_statement(const struct node *node, struct text *out, int level)
{
	switch (node->kind) {
	case NODE_PLAN:
		print_named(node, "plan ", " extends ", out, level);
		break;
	case NODE_LIBRARY:
		print_named(node, "library ", "", out, level);
		break;
	case NODE_EDITION:
		put(out, "edition ");
		print(node->first, out, level);
		break;
	case NODE_IMPORT:
		print_named(node, "import ", " from ", out, level);
		break;
	case NODE_SETTING:
		print_setting(node, out, level);
		break;
	case NODE_PARAM:
		print_param(node, out, level);
		break;
	case NODE_LET:
		print_named(node, "let ", " = ", out, level);
		break;
	case NODE_REQUIRE:
		put(out, "require ");
		print_pair(node, " ", out, level);
		break;
	case NODE_RULE:
		print_rule(node, out, level);
		break;
	case NODE_TYPED:
		print_typed(node, out, level);
		break;
	case NODE_ALLOW:
		print_named(node, "allow ", "", out, level);
		break;
	case NODE_BLOCK:
		put(out, node->flags & NODE_FLAG_OVERRIDE ? "override " : "");
		print_parts(node, node->first, out, level);
		break;
	default: /* strategy, cuts, word */
		print_parts(node, node->first, out, level);
		break;
	}
}

static void print_part(const struct node *node, struct text *out, int level)
{
	switch (node->kind) {
	case NODE_BODY:
		print_body(node, out, level);
		break;
	case NODE_BASE:
		put(out, " : ");
		print(node->first, out, level);
		break;
	case NODE_PLACE:
		print_place(node, out, level);
		break;
	case NODE_IF:
		put(out, "if ");
		print_pair(node, " else ", out, level);
		break;
	case NODE_AXES:
		put(out, "over ");
		print_pair(node, " * ", out, level);
		break;
	case NODE_DIMS:
		print_framed(node->first, "dims [", "]", out, level);
		break;
	case NODE_RANGE:
		print_pair(node, "..", out, level);
		break;
	default:
		print_statement(node, out, level);
		break;
	}
}

static void print_call(const struct node *node, struct text *out, int level)
{
	print(node->first, out, level);
	print_framed(node->first->next, "(", ")", out, level);
}

static void print_of(const struct node *node, struct text *out, int level)
{
	print(node->first, out, level);
	put(out, " of ");
	print_list(node->first->next, " ", out, level);
}

static void print_leaf(const struct node *node, struct text *out)
{
	switch (node->kind) {
	case NODE_NUMBER:
		print_number(node, out);
		break;
	case NODE_STRING:
		print_string(node, out);
		break;
	case NODE_BOOL:
		put(out, node->op ? "true" : "false");
		break;
	case NODE_REST:
		put(out, "rest");
		break;
	case NODE_NAME:
		put(out, node->name->text);
		break;
	default:
		put(out, "<error>");
		break;
	}
}

static void print(const struct node *node, struct text *out, int level)
{
	switch (node->kind) {
	case NODE_NUMBER:
	case NODE_STRING:
	case NODE_BOOL:
	case NODE_REST:
	case NODE_NAME:
	case NODE_ERROR:
		print_leaf(node, out);
		break;
	case NODE_OF:
		print_of(node, out, level);
		break;
	case NODE_PATH:
		print_pair(node, ".", out, level);
		break;
	case NODE_CALL:
		print_call(node, out, level);
		break;
	case NODE_ARGUMENT:
		print_pair(node, " = ", out, level);
		break;
	case NODE_ARROW:
		print_pair(node, " -> ", out, level);
		break;
	case NODE_LIST:
		print_framed(node->first, "[", "]", out, level);
		break;
	case NODE_NEGATE:
		put(out, "-");
		print_operand(node->first, 4, out, level);
		break;
	case NODE_BINARY:
		print_binary(node, out, level);
		break;
	case NODE_AS:
		print_pair(node, " as ", out, level);
		break;
	case NODE_TIED:
		print_pair(node, " tied ", out, level);
		break;
	default:
		print_part(node, out, level);
		break;
	}
}

void ast_print(const struct node *file, struct text *out)
{
	BUG_IF(file->kind != NODE_FILE, "ast_print of a node of kind %d", file->kind);
	print_statements(file, out, 0);
}
