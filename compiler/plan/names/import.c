/* SPDX-License-Identifier: Apache-2.0 */
/* Files that take part: where an import is looked for, heads, members of libraries. */
#include <string.h>

#include "plan/resolve/resolve.h"
#include "syntax/parse.h"

/* --- paths ------------------------------------------------------------------------------ */

/* `dir`/`path` with `.` and `..` taken out as text; `dir` may be "". */
static char *join(struct arena *arena, const char *dir, const char *path)
{
	char *joined = *dir && *path != '/' ? arena_text(arena, "%s/%s", dir, path)
					    : arena_text(arena, "%s", path);
	char *out = arena_alloc(arena, strlen(joined) + 2), *end = out;
	char *floor;

	if (*joined == '/')
		*end++ = '/';
	floor = end;
	for (const char *at = joined; *at;) {
		size_t n = strcspn(at, "/");
		bool up = n == 2 && !memcmp(at, "..", 2);
		char *last = end;

		while (last > floor && last[-1] != '/')
			last--;
		if (up && last > floor && !(end - last == 2 && !memcmp(last, "..", 2))) {
			end = last - 1;
		} else if (up && end > floor && !(end - last == 2 && !memcmp(last, "..", 2))) {
			end = last;
		} else if (n && !(n == 1 && *at == '.')) {
			if (end > floor)
				*end++ = '/';
			memcpy(end, at, n);
			end += n;
		}
		at += n + (at[n] == '/');
	}
	*end = 0;
	return out;
}

static char *folder(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');

	return arena_copy(arena, path, slash ? (size_t)(slash - path) : 0);
}

static struct unit *loaded(struct resolve *r, const char *path)
{
	for (uint32_t k = 0; k < r->units.n; k++)
		if (!strcmp(r->units.at[k]->path, path))
			return r->units.at[k];
	return NULL;
}

struct unit *unit_at(struct resolve *r, struct span span)
{
	const struct source *source = sources_find(r->work->sources, span.lo);

	for (uint32_t k = 0; source && k < r->units.n; k++)
		if (r->units.at[k]->source == source || r->units.at[k]->base == source)
			return r->units.at[k];
	return NULL;
}

/* --- heads ------------------------------------------------------------------------------ */

static struct span start_of(const struct source *source)
{
	return (struct span){source->start, source->start};
}

static void check_edition(struct resolve *r, const struct unit *unit)
{
	const struct node *edition = node_find(unit->tree, NODE_EDITION);
	const struct node *number = edition ? node_child(edition, 0) : NULL;
	int64_t value = 0;

	if (!edition && !r->broken) {
		struct diag *diag = diag_add(r->work->diags, E0107, start_of(unit->source),
					     "the file does not state its edition");

		diag_note(diag, "`edition 1` stands after `%s %s`",
			  unit->library ? "library" : "plan", unit->name->text);
	}
	if (!number || !number->number)
		return;
	if (!decimal_to_int(*number->number, 1, &value) || value != 1)
		diag_note(diag_add(r->work->diags, E0107, number->span,
				   "this edition of the language is unknown"),
			  "valid values: 1");
}

static void check_heads(struct resolve *r, const struct unit *unit)
{
	const struct node *first[NODE_KINDS] = {NULL};

	for (const struct node *node = unit->tree->first; node; node = node->next) {
		int kind = node->kind == NODE_LIBRARY ? NODE_PLAN : node->kind;

		if (kind != NODE_PLAN && kind != NODE_EDITION)
			continue;
		if (first[kind])
			set_twice(r, first[kind]->span, node->span, "the head",
				  kind == NODE_PLAN ? "plan" : "edition");
		else
			first[kind] = node;
	}
}

/* Sets name and kind. False with a message if the file has no head. */
static bool read_head(struct resolve *r, struct unit *unit)
{
	const struct node *plan = node_find(unit->tree, NODE_PLAN);
	const struct node *library = node_find(unit->tree, NODE_LIBRARY);
	const struct node *head = plan ? plan : library;
	struct diag *diag;

	if (head) {
		unit->name = head->name;
		unit->library = !plan;
		check_heads(r, unit);
		check_edition(r, unit);
		return true;
	}
	unit->name = name_of(r->work->names, "unnamed");
	if (r->broken)
		return true;
	diag = diag_add(r->work->diags, E0107, start_of(unit->source),
			"the file starts with neither `plan NAME` nor `library NAME`");
	diag_note(diag, "a plan starts with `plan NAME` and `edition 1`");
	return false;
}

/* --- loading ---------------------------------------------------------------------------- */

static struct unit *unit_new(struct resolve *r, const struct source *source, const char *path,
			     const struct node *tree)
{
	struct unit *unit = ARENA_NEW(r->work->keep, struct unit);

	unit->source = source;
	unit->path = path;
	unit->tree = (struct node *)tree;
	unit->loading = true;
	vec_push(r->work->keep, &r->units, unit);
	return unit;
}

static struct unit *unit_parse(struct resolve *r, const struct source *source, const char *path)
{
	uint32_t errors = r->work->diags->errors;
	const struct node *tree = parse(source, r->work);
	struct unit *unit = unit_new(r, source, path, tree);

	r->broken |= r->work->diags->errors > errors;
	if (!read_head(r, unit))
		return NULL;
	bind_unit(r, unit);
	unit->loading = false;
	return unit;
}

/* The unit of one candidate path, from disk or built in. NULL: no such file. *failed: it is there,
 * and what is wrong with it was reported. */
static struct unit *try_path(struct resolve *r, const char *path, bool built_in, bool *failed)
{
	const struct source *source = NULL;
	struct unit *unit = loaded(r, path);
	uint32_t errors = r->work->diags->errors;

	if (unit)
		return unit;
	for (const struct std_file *file = std_files; built_in && file->text; file++)
		if (!strcmp(file->path, path))
			source = sources_add(r->work->sources, file->path, file->text,
					     strlen(file->text), true);
	if (!built_in && r->options && r->options->read)
		source = r->options->read(r->options->reader, path, r->work);
	*failed = r->work->diags->errors > errors;
	if (!source)
		return NULL;
	unit = unit_parse(r, source, path);
	*failed = !unit;
	return unit;
}

static struct unit *search(struct resolve *r, const struct source *from, const char *path,
			   bool *failed)
{
	struct arena *arena = r->work->keep;
	struct unit *unit = NULL;

	if (!from->built_in)
		unit = try_path(r, join(arena, folder(arena, from->path), path), false, failed);
	for (uint32_t k = 0; !from->built_in && r->options && k < r->options->ninclude; k++)
		if (!unit && !*failed)
			unit = try_path(r, join(arena, r->options->include[k], path), false,
					failed);
	if (!unit && !*failed)
		unit = try_path(r, join(arena, "", path), true, failed);
	return unit;
}

static void not_found(struct resolve *r, const struct node *at)
{
	struct arena *arena = r->work->keep;
	struct diag *diag =
		diag_add(r->work->diags, E0208, at->span, "`%s` was not found", at->name->text);
	VEC(const char *) names = {0};
	const char *near;

	for (const struct std_file *file = std_files; file->text; file++)
		vec_push(arena, &names, file->path);
	near = name_nearest(at->name->text, names.at, names.n);
	diag_note(diag, "looked for beside the importing file, in each `-I`, then among the "
			"built-in files");
	if (near)
		diag_note(diag, "a built-in file has a similar name: `%s`", near);
}

/* Who reads files knows no places: a file that is there and cannot be read is told at its import.
 */
static void place_unread(struct resolve *r, const struct node *at)
{
	struct diags *diags = r->work->diags;
	struct diag *last = diags->all.n ? diags->all.at[diags->all.n - 1] : NULL;

	if (last && last->code == E0701 && !last->span.lo)
		last->span = at->span;
}

struct unit *unit_import(struct resolve *r, const struct source *from, const struct node *at,
			 bool library)
{
	bool failed = false;
	struct unit *unit;

	if (r->depth >= IMPORT_LIMIT) {
		diag_add(r->work->diags, E0108, at->span, "imports are nested too deeply");
		return NULL;
	}
	r->depth++;
	unit = search(r, from, at->name->text, &failed);
	r->depth--;
	if (failed)
		place_unread(r, at);
	if (!unit && !failed)
		not_found(r, at);
	if (!unit)
		return NULL;
	if (unit->loading) {
		diag_at(diag_add(r->work->diags, E0205, at->span, "`%s` refers to itself",
				 at->name->text),
			"this file is being read already");
		return NULL;
	}
	if (unit->library == library)
		return unit;
	diag_at(diag_add(r->work->diags, E0208, at->span, "`%s` is a %s", at->name->text,
			 unit->library ? "library" : "plan"),
		library ? "only a library can be imported" : "only a plan can be extended");
	return NULL;
}

struct unit *unit_main(struct resolve *r, const struct node *tree, const struct source *source)
{
	struct unit *unit =
		unit_new(r, source, join(r->work->keep, "", source->path), tree);
	const struct node *plan, *extends;
	struct unit *base;

	if (!read_head(r, unit) && !r->broken)
		r->broken = true;
	bind_unit(r, unit);
	plan = node_find(tree, NODE_PLAN);
	extends = plan ? node_find(plan, NODE_STRING) : NULL;
	base = extends ? unit_import(r, source, extends, false) : NULL;
	r->broken |= extends && !base;
	unit_extend(r, unit, base);
	r->broken |= extends && !unit->base;
	unit->loading = false;
	return unit;
}

/* --- members ---------------------------------------------------------------------------- */

static const struct node *declared(const struct unit *unit, const char *const *kinds,
				   const struct name *name)
{
	for (const struct node *node = unit->tree->first; node; node = node->next) {
		const struct node *own = node_find(node, NODE_NAME);

		if (node->kind != NODE_BLOCK || !own || own->name != name)
			continue;
		for (const char *const *kind = kinds; *kind; kind++)
			if (node_path_is(node->first, *kind))
				return node;
	}
	return NULL;
}

static bool holds(const struct node *node, struct span at)
{
	return node->span.lo <= at.lo && at.hi <= node->span.hi;
}

/* Names of the members of these kinds, but for the one that `user` stands in. */
static const char *const *members(struct resolve *r, const struct unit *unit,
				  const char *const *kinds, struct span user, size_t *count)
{
	VEC(const char *) names = {0};

	for (const struct node *node = unit->tree->first; node; node = node->next) {
		const struct node *own = node_find(node, NODE_NAME);

		if (node->kind == NODE_BLOCK && own && !holds(node, user) &&
		    declared(unit, kinds, own->name) == node)
			vec_push(r->work->keep, &names, own->name->text);
	}
	*count = names.n;
	return names.at;
}

/* True if the letters of `part` stand in `whole` in this order, or both start with one word. */
static bool resembles(const char *part, const char *whole)
{
	size_t word = strcspn(part, "_.");
	const char *at = part;

	if (word > 2 && !strncmp(part, whole, word))
		return true;
	for (const char *letter = whole; *letter; letter++)
		at += *at == *letter;
	return !*at;
}

/* Up to three names like `name`, the nearest first. */
static void note_similar(struct resolve *r, struct diag *diag, const struct name *name,
			 const char *const *names, size_t count)
{
	const char *near = name_nearest(name->text, names, count);
	const char *found[3] = {near};
	size_t nfound = near ? 1 : 0;

	for (size_t k = 0; k < count && nfound < 3; k++)
		if (names[k] != near && resembles(name->text, names[k]))
			found[nfound++] = names[k];
	if (nfound)
		diag_note(diag,
			  nfound > 1 ? "similar names exist: %s" : "a similar name exists: %s",
			  name_list(r->work->keep, found, nfound));
	else if (count && count <= 8)
		diag_note(diag, "it has %s", name_list(r->work->keep, names, count));
}

/* "architecture or model" */
static const char *kinds_text(struct resolve *r, const char *const *kinds)
{
	const char *text = kinds[0];

	for (size_t k = 1; kinds[k]; k++)
		text = arena_text(r->work->keep, "%s or %s", text, kinds[k]);
	return text;
}

/* Those of the kinds that the library has members of; all, if it has none. */
static const char *kinds_had(struct resolve *r, const struct unit *unit, const char *const *kinds)
{
	const char *had[4] = {NULL};
	size_t n = 0;

	for (size_t k = 0; kinds[k] && n < 3; k++) {
		const char *const one[] = {kinds[k], NULL};
		size_t count;

		members(r, unit, one, (struct span){0}, &count);
		if (count)
			had[n++] = kinds[k];
	}
	return kinds_text(r, n ? had : kinds);
}

static void unknown_member(struct resolve *r, const struct node *name, struct binding *import,
			   const char *const *kinds)
{
	size_t count;
	const char *const *names = members(r, import->unit, kinds, name->span, &count);
	const struct node *from = node_find(import->node, NODE_STRING);
	struct diag *diag;

	if (r->broken)
		return;
	diag = diag_add(r->work->diags, E0204, name->span, "library `%s` has no %s `%s`",
			import->name->text, kinds_had(r, import->unit, kinds), name->name->text);
	diag_at(diag, "not in the library");
	if (from)
		diag_label(diag, from->span, "imported here");
	if (import->unit->source->built_in)
		diag_note(diag, "`%s` is built in", import->unit->source->path);
	note_similar(r, diag, name->name, names, count);
}

/* "lib.name" of each imported library that has it. */
static const char *const *elsewhere(struct resolve *r, const struct unit *unit,
				    const char *const *kinds, const struct name *name,
				    size_t *count)
{
	struct arena *arena = r->work->keep;
	VEC(const char *) paths = {0};

	for (uint32_t k = 0; k < unit->bindings.n; k++) {
		struct binding *import = unit->bindings.at[k];

		if (!import->unit || !declared(import->unit, kinds, name))
			continue;
		vec_push(arena, &paths, arena_text(arena, "%s.%s", import->name->text, name->text));
	}
	*count = paths.n;
	return paths.at;
}

/* E0203 for a name of this kind; NULL if it was said already. */
static struct diag *unknown_name(struct resolve *r, const struct node *name, const char *kind)
{
	struct diag *diag;

	if (name_unknown(r, name->name) || r->broken)
		return NULL;
	diag = diag_add(r->work->diags, E0203, name->span, "no %s is called `%s`", kind,
			name->name->text);
	diag_at(diag, "not known here");
	return diag;
}

static void unknown_import(struct resolve *r, const struct unit *unit, const struct node *name)
{
	struct diag *diag = unknown_name(r, name, "import");
	VEC(const char *) imports = {0};

	for (uint32_t k = 0; k < unit->bindings.n; k++)
		if (unit->bindings.at[k]->kind == BINDING_IMPORT)
			vec_push(r->work->keep, &imports, unit->bindings.at[k]->name->text);
	if (diag)
		note_similar(r, diag, name->name, imports.at, imports.n);
}

static void unknown_declaration(struct resolve *r, const struct unit *unit, const struct node *name,
				const char *const *kinds)
{
	struct diag *diag = unknown_name(r, name, kinds_text(r, kinds));
	size_t count, nown;
	const char *const *paths = elsewhere(r, unit, kinds, name->name, &count);
	const char *const *own = members(r, unit, kinds, name->span, &nown);

	if (diag && count)
		diag_note(diag, "an import has it: %s", name_list(r->work->keep, paths, count));
	else if (diag)
		note_similar(r, diag, name->name, own, nown);
}

const struct node *member_find(struct resolve *r, const struct node *path,
			       const char *const *kinds)
{
	struct unit *unit = unit_at(r, path->span);
	const struct node *first = path->first, *second = first ? first->next : NULL;
	struct binding *import;
	const struct node *found;

	if (!unit || !first || first->kind != NODE_NAME)
		return NULL;
	if (!second) {
		found = declared(unit, kinds, first->name);
		if (!found)
			unknown_declaration(r, unit, first, kinds);
		return found;
	}
	import = bind_find(unit, first->name);
	if (!import || import->kind != BINDING_IMPORT) {
		unknown_import(r, unit, first);
		return NULL;
	}
	import->used = true;
	if (!import->unit)
		return NULL;
	found = second->next ? NULL : declared(import->unit, kinds, second->name);
	if (!found)
		unknown_member(r, second, import, kinds);
	return found;
}
