/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/ast.h"

#include <string.h>

#include "base/text.h"
#include "syntax/parser.h"

struct node *node_child(const struct node *node, uint32_t k)
{
	struct node *child = node->first;
	while (child && k--)
		child = child->next;
	return child;
}

uint32_t node_children(const struct node *node)
{
	uint32_t count = 0;
	for (const struct node *child = node->first; child; child = child->next)
		count++;
	return count;
}

struct node *node_find(const struct node *node, enum node_kind kind)
{
	for (struct node *child = node->first; child; child = child->next)
		if (child->kind == kind)
			return child;
	return NULL;
}

bool node_path_is(const struct node *path, const char *dotted)
{
	if (path->kind == NODE_NAME)
		return name_is(path->name, dotted);
	if (path->kind != NODE_PATH)
		return false;
	for (const struct node *part = path->first; part; part = part->next) {
		if (strncmp(dotted, part->name->text, part->name->length) != 0)
			return false;
		dotted += part->name->length;
		if (part->next && *dotted++ != '.')
			return false;
	}
	return *dotted == '\0';
}

char *node_path_text(const struct node *path, struct arena *arena)
{
	struct text text = text_new(arena);
	if (path->kind == NODE_NAME)
		text_raw(&text, path->name->text, path->name->length);
	for (const struct node *part = path->first; part; part = part->next) {
		if (part != path->first)
			text_raw(&text, ".", 1);
		text_raw(&text, part->name->text, part->name->length);
	}
	return arena_copy(arena, text.at ? text.at : "", text.length);
}

struct node *node_new(struct parser *parser, enum node_kind kind, struct span span)
{
	struct node *node = ARENA_NEW(parser->work->keep, struct node);
	node->kind = (uint8_t)kind;
	node->span = span;
	node->depth = 1;
	return node;
}

struct node *node_name(struct parser *parser, const struct name *name, struct span span)
{
	struct node *node = node_new(parser, NODE_NAME, span);
	node->name = name;
	return node;
}

static void deepen(struct node *parent, const struct node *child)
{
	if (child->depth >= parent->depth && parent->depth < UINT8_MAX)
		parent->depth = child->depth < UINT8_MAX ? child->depth + 1 : UINT8_MAX;
}

void node_add(struct node *parent, struct node *child)
{
	struct node **end = &parent->first;
	if (!child)
		return;
	while (*end)
		end = &(*end)->next;
	*end = child;
	deepen(parent, child);
}

void node_adopt(struct node *parent, struct list list)
{
	struct node **end = &parent->first;
	while (*end)
		end = &(*end)->next;
	*end = list.first;
	for (const struct node *child = list.first; child; child = child->next)
		deepen(parent, child);
}

struct list list_of(struct node *node)
{
	return (struct list){node, node};
}

struct list list_add(struct list list, struct node *node)
{
	if (!list.last)
		return list_of(node);
	list.last->next = node;
	list.last = node;
	return list;
}

static struct node *bounded(struct parser *parser, struct node *node)
{
	if (node->depth <= DEPTH_LIMIT)
		return node;
	if (!parser->deep)
		report_deep(parser, node->span);
	return node_new(parser, NODE_ERROR, node->span);
}

struct node *node_negate(struct parser *parser, struct node *operand, struct span span)
{
	struct node *node = node_new(parser, NODE_NEGATE, span);
	node_add(node, operand);
	return bounded(parser, node);
}

struct node *node_binary(struct parser *parser, enum binary op, struct node *left,
			 struct node *right)
{
	struct node *node = node_new(parser, NODE_BINARY, span_join(left->span, right->span));
	node->op = (uint8_t)op;
	node_add(node, left);
	node_add(node, right);
	return bounded(parser, node);
}

/* Docs are in order of their place, statements are finished inside out: so a search. */
struct node *node_document(struct parser *parser, struct node *statement)
{
	uint32_t lo = 0, hi = parser->tokens.docs.n;
	uint32_t at = statement->span.lo - parser->source->start;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (parser->tokens.docs.at[middle].at < at)
			lo = middle + 1;
		else
			hi = middle;
	}
	if (lo < parser->tokens.docs.n && parser->tokens.docs.at[lo].at == at)
		statement->doc = parser->tokens.docs.at[lo].text;
	return statement;
}
