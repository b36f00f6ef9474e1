/* SPDX-License-Identifier: Apache-2.0 */
/* Shape of the tree, places of nodes, docs, limits of nesting, long inputs. The wording of messages
 * is tested by tests/parse/bad. */
#include "../parse/case.h"

#include "check.h"

static const char *kind_names[NODE_KINDS] = {[NODE_FILE] = "file",
					     [NODE_PLAN] = "plan",
					     [NODE_LIBRARY] = "library",
					     [NODE_EDITION] = "edition",
					     [NODE_IMPORT] = "import",
					     [NODE_SETTING] = "setting",
					     [NODE_BLOCK] = "block",
					     [NODE_PARAM] = "param",
					     [NODE_LET] = "let",
					     [NODE_REQUIRE] = "require",
					     [NODE_STRATEGY] = "strategy",
					     [NODE_CUTS] = "cuts",
					     [NODE_RULE] = "rule",
					     [NODE_TYPED] = "typed",
					     [NODE_WORD] = "word",
					     [NODE_ALLOW] = "allow",
					     [NODE_BODY] = "body",
					     [NODE_BASE] = "base",
					     [NODE_PLACE] = "place",
					     [NODE_IF] = "if",
					     [NODE_AXES] = "axes",
					     [NODE_DIMS] = "dims",
					     [NODE_RANGE] = "range",
					     [NODE_NUMBER] = "number",
					     [NODE_STRING] = "string",
					     [NODE_BOOL] = "bool",
					     [NODE_REST] = "rest",
					     [NODE_OF] = "of",
					     [NODE_PATH] = "path",
					     [NODE_NAME] = "name",
					     [NODE_CALL] = "call",
					     [NODE_ARGUMENT] = "argument",
					     [NODE_ARROW] = "arrow",
					     [NODE_LIST] = "list",
					     [NODE_NEGATE] = "negate",
					     [NODE_BINARY] = "binary",
					     [NODE_AS] = "as",
					     [NODE_TIED] = "tied",
					     [NODE_ERROR] = "error"};

/* "setting(path number)": kinds of a tree; paths are not opened. */
static void shape(const struct node *node, struct text *out)
{
	text_add(out, "%s", kind_names[node->kind]);
	if (!node->first || node->kind == NODE_PATH)
		return;
	text_add(out, "(");
	for (const struct node *child = node->first; child; child = child->next) {
		shape(child, out);
		text_add(out, child->next ? " " : ")");
	}
}

static void check_shape(const char *text, const char *want)
{
	struct arena *arena = arena_new();
	struct work work = case_work(arena);
	struct text out = text_new(arena);

	shape(case_parse(&work, "text", text, strlen(text)), &out);
	CHECK_TEXT(out.at, want);
	arena_delete(arena);
}

static void shapes(void)
{
	check_shape("", "file");
	check_shape("plan a extends \"b\"\nedition 1", "file(plan(string) edition(number))");
	check_shape("a = 1", "file(setting(path number))");
	check_shape("a = 8 of b.c { d = 1 }",
		    "file(setting(path of(number path body(setting(path number)))))");
	check_shape("a = b { c = 1 }", "file(setting(path path body(setting(path number))))");
	check_shape("a = 1 on b 2..3", "file(setting(path number place(name number number)))");
	check_shape("a = b() tied \"c\" if d else e()",
		    "file(setting(path tied(call(path) string) if(path call(path))))");
	check_shape("a = a + b(c -> [d], e = f) as \"g\"",
		    "file(setting(path binary(path as(call(path arrow(path list(path)) "
		    "argument(path path)) string))))");
	check_shape("model a : b.c { }", "file(block(path name base(path) body))");
	check_shape("repeat a as \"b\" { c }", "file(block(path name string body(word(path))))");
	check_shape("param a : b in [1, 2]", "file(param(name list(number number)))");
	check_shape("param a : b in 1..2 = 3", "file(param(name range(number number) number))");
	check_shape("zero 3 over a * b dims [c] { }",
		    "file(strategy(path number axes(name name) dims(name) body))");
	check_shape("tensor dims [a]", "file(cuts(path dims(name)))");
	check_shape("a.b : c -> d", "file(rule(path name axes(name)))");
	check_shape("a : b = 1", "file(typed(path name number))");
	check_shape("a = 1 - 2 - 3 * 4", "file(setting(path binary(binary(number number) "
					 "binary(number number))))");
	check_shape("x { a b c\n d = 1 }", "file(block(path body(error setting(path number))))");
	check_shape("a = 1 foo", "file(setting(path error))");
}

static void values(void)
{
	struct arena *arena = arena_new();
	struct work work = case_work(arena);
	const char *text = "/// one\n/// two\noverride a.b = 1_000.50 GiB/s\nc = \"x\\n\\\"\"\n";
	struct node *file = case_parse(&work, "text", text, strlen(text));
	struct node *a = file->first, *c = a->next;
	struct node *number = node_child(a, 1);

	CHECK_TEXT(case_messages(&work), "");
	CHECK_INT(a->flags, NODE_FLAG_OVERRIDE);
	CHECK_TEXT(a->doc->text, "one\ntwo");
	CHECK(!c->doc);
	CHECK(node_path_is(a->first, "a.b") && !node_path_is(a->first, "a") &&
	      !node_path_is(a->first, "a.b.c") && !node_path_is(a->first, "a.bc"));
	CHECK_TEXT(node_path_text(a->first, arena), "a.b");
	CHECK_TEXT(number->name->text, "GiB/s");
	CHECK_INT((long long)number->number->mantissa, 10005);
	CHECK_INT(number->number->exponent, -1);
	CHECK_TEXT(sources_text(work.sources, arena, number->span), "1_000.50 GiB/s");
	CHECK_TEXT(node_child(c, 1)->name->text, "x\n\"");
	CHECK_INT(node_children(file), 2);
	CHECK(node_find(c, NODE_STRING) == node_child(c, 1) && !node_find(c, NODE_BODY));
	arena_delete(arena);
}

/* `before`, COUNT times `part`, `after`; gives the messages. */
static void check_long(const char *before, const char *part, uint32_t count, const char *after,
		       const char *messages)
{
	struct arena *arena = arena_new();
	struct work work = case_work(arena);
	struct text text = text_new(arena);

	text_raw(&text, before, strlen(before));
	for (uint32_t i = 0; i < count; i++)
		text_raw(&text, part, strlen(part));
	text_raw(&text, after, strlen(after));
	case_print(&work, case_parse(&work, "text", text.at, text.length));
	CHECK_TEXT(case_messages(&work), messages);
	arena_delete(arena);
}

static void limits(void)
{
	check_long("a = ", "(", 64,
		   "1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))", "");
	check_long("a = ", "(", 100000, "",
		   "text:1:69: error[E0108]: brackets are nested more than 64 deep\n");
	check_long("", "a {\n", 100000, "",
		   "text:65:3: error[E0108]: brackets are nested more than 64 deep\n");
	check_long("a = ", "-", 100000, "1",
		   "text:1:2000: error[E0108]: this expression is nested too deeply\n");
	check_long("a = 1", " + 1", 198, "", "");
	check_long("a = 1", " + 1", 100000, "",
		   "text:1:5: error[E0108]: this expression is nested too deeply\n");
	check_long("a = [", "1, ", 1000000, "2]", "");
	check_long("a { ", "b = 1, ", 500000, "}", "");
	check_long("a = b", ".b", 1000000, "", "");
	check_long("a = \"", "xyz ", 1000000, "\"", "");
	check_long("", "a = b // c\n", 22000, "", "");
}

int main(void)
{
	shapes();
	values();
	limits();
	return check_done();
}
