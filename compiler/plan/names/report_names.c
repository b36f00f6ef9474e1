/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about names and statements that several blocks share. */
#include <stdarg.h>
#include <string.h>

#include "plan/resolve/resolve.h"

const struct name *path_word(const struct node *path)
{
	if (path && path->kind == NODE_NAME)
		return path->name;
	if (!path || path->kind != NODE_PATH || !path->first || path->first->next)
		return NULL;
	return path->first->kind == NODE_NAME ? path->first->name : NULL;
}

struct span head_span(const struct node *statement)
{
	const struct node *path = node_find(statement, NODE_PATH);

	return path ? path->span : statement->span;
}

char *name_list(struct arena *arena, const char *const *names, size_t count)
{
	struct text out = text_new(arena);

	for (size_t k = 0; k < count; k++)
		text_add(&out, "%s`%s`", !k ? "" : k + 1 == count ? " and " : ", ", names[k]);
	return count ? out.at : arena_text(arena, "nothing");
}

void set_twice(struct resolve *r, struct span first, struct span again, const char *what,
	       const char *name)
{
	struct diag *diag;

	if (r->torn)
		return;
	diag = diag_add(r->work->diags, E0202, again, "%s `%s` is given twice", what, name);
	diag_label(diag, first, "given here first");
	diag_at(diag, "given again");
	if (!r->main || !r->main->base)
		return;
	if (!strcmp(what, "strategy"))
		diag_note(diag, "to change the split of a plan you extend, write "
				"`override split { ... }`, which replaces all of it");
	else
		diag_note(diag, "to change a value of a plan you extend, write `override`");
}

bool name_unknown(struct resolve *r, const struct name *name)
{
	for (uint32_t k = 0; k < r->unknown.n; k++)
		if (r->unknown.at[k] == name)
			return true;
	vec_push(r->work->keep, &r->unknown, name);
	return false;
}

bool suggested(const struct resolve *r, const char *name)
{
	for (uint32_t k = 0; k < r->suggested.n; k++)
		if (!strcmp(r->suggested.at[k], name))
			return true;
	return false;
}

struct diag *missing(struct resolve *r, struct span at, const char *format, ...)
{
	va_list args;
	char *title;

	if (r->broken)
		return NULL;
	va_start(args, format);
	title = arena_vtext(r->work->keep, format, args);
	va_end(args);
	return diag_add(r->work->diags, E0206, at, "%s", title);
}

void unknown_word(struct resolve *r, struct span at, const char *setting, const char *word,
		  const char *const *words, size_t count)
{
	struct diag *diag = diag_add(r->work->diags, E0209, at, "`%s` does not take the word `%s`",
				     setting, word);
	const char *near = name_nearest(word, words, count);

	diag_at(diag, "not one of its words");
	diag_note(diag, "valid values: %s", name_list(r->work->keep, words, count));
	if (near)
		diag_note(diag, "a word that is similar exists: `%s`", near);
}

void no_tail(struct resolve *r, const struct node *setting)
{
	const struct node *tail = node_child(setting, 2);
	static const char *const what[] = {
		[NODE_PLACE] = "place", [NODE_IF] = "condition", [NODE_BODY] = "`{ }`"};

	if (!tail || tail->kind == NODE_ERROR)
		return;
	diag_at(diag_add(r->work->diags, E0216, tail->span, "`%s` takes no %s after its value",
			 node_path_text(setting->first, r->work->keep), what[tail->kind]),
		"does not belong here");
}

/* What a statement is called in messages; NULL: it is known by its name. */
static const char *statement_word(const struct node *statement)
{
	static const char *const words[NODE_KINDS] = {
		[NODE_PLAN] = "plan",       [NODE_LIBRARY] = "library", [NODE_EDITION] = "edition",
		[NODE_IMPORT] = "import",   [NODE_PARAM] = "param",     [NODE_LET] = "let",
		[NODE_REQUIRE] = "require", [NODE_ALLOW] = "allow"};

	return words[statement->kind];
}

static void no_equals(struct resolve *r, const struct node *statement)
{
	const char *name = node_path_text(statement->first, r->work->keep);
	uint32_t line = sources_position(r->work->sources, statement->span.lo).line;
	struct diag *diag;

	/* Words in a row are one mistake. */
	if (line == r->bare_line)
		return;
	r->bare_line = line;
	diag = diag_add(r->work->diags, E0105, statement->span, "expected `=` after `%s`", name);
	diag_at(diag, "a setting is written `name = value`");
}

/* Names of settings in other tools, and where this language has the same. */
static const struct {
	const char *name, *here;
} elsewhere[] = {
	{"epochs", "the length of training is `steps`, in block `train`"},
	{"max_steps", "the length of training is `steps`, in block `train`"},
	{"grad_clip", "the largest norm of the gradients is `clip`, in block `train`"},
	{"gradient_clip", "the largest norm of the gradients is `clip`, in block `train`"},
	{"learning_rate", "the learning rate is `lr`, in `optimizer = adamw { }`"},
	{"batch_size", "samples of a step are `global_batch`, samples at once `micro_batch`"},
};

static const char *called_here(const char *name)
{
	for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
		if (!strcmp(elsewhere[i].name, name))
			return elsewhere[i].here;
	return NULL;
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Blocks that have a setting of this name. */
static const char *const *homes(struct resolve *r, const char *name, size_t *count)
{
	VEC(const char *) blocks = {0};

	for (int id = 0; id < BLOCKS; id++) {
		const struct setting_row *row = schema_setting((enum block_id)id, name);

		if (row && !schema_inner(row))
			vec_push(r->work->keep, &blocks, schema_block((enum block_id)id)->name);
	}
	*count = blocks.n;
	return blocks.at;
}

/* A setting that another block has, or that stands outside of its block. False if it is neither. */
static bool note_home(struct resolve *r, struct diag *diag, const char *path)
{
	const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;
	bool extends = r->main && r->main->base;
	size_t count;
	const char *const *blocks = homes(r, name, &count);

	if (count)
		vec_push(r->work->keep, &r->suggested, name);
	if (count && !(dot && extends))
		diag_note(diag, "%s ha%s a setting `%s`", name_list(r->work->keep, blocks, count),
			  count > 1 ? "ve" : "s", name);
	if (dot && extends)
		diag_note(diag, "to change a value of a plan you extend, write `override %s = ..`",
			  path);
	return count || (dot && extends);
}

static void note_misplaced(struct resolve *r, struct diag *diag, const struct node *statement,
			   const char *const *names, size_t count)
{
	const char *name = node_path_text(statement->first, r->work->keep);
	const char *near = name_nearest(name, names, count);

	if (called_here(name))
		diag_note(diag, "%s", called_here(name));
	else if (statement->kind == NODE_TYPED && is_one_of(name, names, count))
		diag_note(diag, "a setting is written `%s = value`", name);
	else if (statement->kind == NODE_SETTING && note_home(r, diag, name))
		return;
	else if (near)
		diag_note(diag, "a name that is similar exists: `%s`", near);
	else if (count && count <= 10)
		diag_note(diag, "it has %s", name_list(r->work->keep, names, count));
}

void misplaced(struct resolve *r, const struct node *statement, const char *title,
	       const char *const *names, size_t count)
{
	const char *word = statement_word(statement), *name, *near;
	bool setting = statement->kind == NODE_SETTING || statement->kind == NODE_TYPED;
	struct diag *diag;

	if (statement->kind == NODE_ERROR || r->torn)
		return;
	if (word) {
		diag_at(diag_add(r->work->diags, E0216, statement->span,
				 "`%s` does not belong into %s", word, title),
			"stands at the top of a file");
		return;
	}
	name = node_path_text(statement->first, r->work->keep);
	near = name_nearest(name, names, count);
	if (near)
		vec_push(r->work->keep, &r->suggested, near);
	if (statement->kind == NODE_WORD) {
		no_equals(r, statement);
		return;
	}
	diag = diag_add(r->work->diags, E0201, head_span(statement), "%s has no %s `%s`", title,
			setting			       ? "setting"
			: statement->kind == NODE_BLOCK ? "block"
							: "statement",
			name);
	diag_at(diag, "not known here");
	note_misplaced(r, diag, statement, names, count);
}

/* --- lints ------------------------------------------------------------------------------ */

void allow(struct resolve *r, const struct node *statement)
{
	struct diag *diag;

	if (!statement->name)
		return;
	for (int code = 0; code < DIAG_CODES; code++) {
		const struct diag_row *row = diag_row((enum diag_code)code);

		if (row->level != LEVEL_WARNING)
			continue;
		if (name_is(statement->name, row->code) || name_is(statement->name, row->name)) {
			r->work->diags->silent[code] = true;
			return;
		}
	}
	diag = diag_add(r->work->diags, E0209, statement->span, "no warning is called `%s`",
			statement->name->text);
	diag_note(diag, "`planc list lints` prints all warnings");
}
