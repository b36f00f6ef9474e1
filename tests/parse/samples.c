/* SPDX-License-Identifier: Apache-2.0 */
/* samples good FILE...   each parses without a message, its printed tree reads back the same, and
 *                        formatting keeps the tree
 * samples bad FILE...    each gives the messages of FILE.err, letter for letter
 * samples update FILE... writes FILE.err */
#include "case.h"

#include "../check.h"

static bool same_tree(const struct node *a, const struct node *b)
{
	for (; a && b; a = a->next, b = b->next) {
		bool same = a->kind == b->kind && a->op == b->op && a->flags == b->flags &&
			    a->name == b->name && a->doc == b->doc && !a->number == !b->number &&
			    same_tree(a->first, b->first);

		if (same && a->number)
			same = a->number->mantissa == b->number->mantissa &&
			       a->number->exponent == b->number->exponent;
		if (!same)
			return false;
	}
	return !a && !b;
}

/* Every node lies inside its parent, and siblings do not go backwards. */
static bool spans_nest(const struct node *parent)
{
	uint32_t at = parent->span.lo;

	for (const struct node *node = parent->first; node; node = node->next) {
		if (node->span.lo < at || node->span.hi > parent->span.hi ||
		    node->span.lo > node->span.hi || !spans_nest(node))
			return false;
		at = node->span.lo;
	}
	return true;
}

/* Formatting keeps the tree, and what is formatted stays as it is. */
static void formatting(struct work *work, const struct node *file, const char *text, size_t length)
{
	const char *once = case_format(work, text, length);
	const char *twice = once ? case_format(work, once, strlen(once)) : NULL;

	CHECK_TEXT(twice, once);
	CHECK(once && same_tree(file, case_parse(work, "formatted", once, strlen(once))));
}

static void good(const char *path)
{
	struct arena *arena = arena_new();
	struct work work = case_work(arena);
	size_t length;
	char *text = case_read(arena, path, &length);
	struct node *file = case_parse(&work, case_name(path), text, length);
	const char *printed = case_print(&work, file);
	struct node *back = case_parse(&work, "printed", printed, strlen(printed));

	formatting(&work, file, text, length);
	CHECK_TEXT(case_messages(&work), "");
	CHECK(same_tree(file, back));
	CHECK(spans_nest(file));
	CHECK_TEXT(case_print(&work, back), printed);
	arena_delete(arena);
}

static void bad(const char *path, bool update)
{
	struct arena *arena = arena_new();
	struct work work = case_work(arena);
	size_t length;
	char *text = case_read(arena, path, &length);
	char *beside = arena_text(arena, "%.*s.err", (int)(strlen(path) - strlen(".plan")), path);

	case_parse(&work, case_name(path), text, length);
	CHECK(work.diags->errors > 0);
	if (update) {
		struct text out = text_new(arena);

		text_add(&out, "%s", case_messages(&work));
		CHECK(text_write(&out, beside));
	} else {
		CHECK_TEXT(case_messages(&work), case_read(arena, beside, &length));
	}
	arena_delete(arena);
}

int main(int argc, char **argv)
{
	CHECK(argc > 2);
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[1], "good"))
			good(argv[i]);
		else
			bad(argv[i], !strcmp(argv[1], "update"));
	}
	return check_done();
}
