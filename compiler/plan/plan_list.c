/* SPDX-License-Identifier: Apache-2.0 */
/* `planc list WHAT`: the tables of the language as text. */
#include <string.h>

#include "base/vec.h"
#include "plan/schema.h"
#include "syntax/parse.h"

/* --- settings --------------------------------------------------------------------------- */

static void list_setting(const struct setting_row *row, struct arena *arena, struct text *out)
{
	const char *fallback = !row->fallback    ? "must be given"
			       : !*row->fallback ? "may be absent"
						 : arena_text(arena, "default %s", row->fallback);
	const char *words = schema_words(row);

	text_add(out, "  %-20s %-7s %s; %s\n", row->name, value_type_word(row->type), row->doc,
		 fallback);
	if (*words)
		text_add(out, "  %-20s %-7s valid values: %s\n", "", "",
			 schema_word_text(row, arena));
}

static bool list_settings(const char *name, struct arena *arena, struct text *out)
{
	bool found = false;

	for (int id = 0; id < BLOCKS; id++) {
		const struct block_row *block = schema_block((enum block_id)id);

		if (name && strcmp(name, block->name) != 0)
			continue;
		found = true;
		text_add(out, "%s: %s\n", block->name, block->doc);
		for (uint32_t k = 0; k < block->nsettings; k++)
			if (!schema_inner(&block->settings[k]))
				list_setting(&block->settings[k], arena, out);
	}
	return found;
}

/* --- other tables ----------------------------------------------------------------------- */

static void list_quantities(struct text *out)
{
#define QUANTITY(id, name, type, doc)                                                              \
	text_add(out, "%-16s %-7s %s\n", name, value_type_word(type), doc);
#include "plan/quantities.def"
#undef QUANTITY
}

static void list_codes(struct text *out)
{
	for (int code = 0; code < DIAG_CODES; code++) {
		const struct diag_row *row = diag_row((enum diag_code)code);

		text_add(out, "%s %-20s %s\n", row->code, row->name, row->meaning);
	}
}

static void list_std(struct text *out)
{
	for (const struct std_file *file = std_files; file->text; file++)
		text_add(out, "%s\n", file->path);
}

/* Declarations of one kind in the built-in library, as they are written in a plan. */
static void list_declared(const char *kind, struct work *work, struct text *out)
{
	for (const struct std_file *file = std_files; file->text; file++) {
		const struct source *source = sources_add(work->sources, file->path, file->text,
							  strlen(file->text), true);
		const struct node *tree = source ? parse(source, work) : NULL;
		const struct node *head = tree ? node_find(tree, NODE_LIBRARY) : NULL;

		for (const struct node *node = head ? tree->first : NULL; node; node = node->next) {
			const struct node *name = node_find(node, NODE_NAME);

			if (node->kind == NODE_BLOCK && name && node_path_is(node->first, kind))
				text_add(out, "%-36s %s\n",
					 arena_text(work->keep, "%s.%s", head->name->text,
						    name->name->text),
					 file->path);
		}
	}
}

bool plan_list(const char *what, const char *argument, struct work *work, struct text *out)
{
	if (!strcmp(what, "settings"))
		return list_settings(argument, work->keep, out);
	if (!strcmp(what, "quantities"))
		list_quantities(out);
	else if (!strcmp(what, "units"))
		value_list_units(out);
	else if (!strcmp(what, "codes"))
		list_codes(out);
	else if (!strcmp(what, "std"))
		list_std(out);
	else if (!strcmp(what, "devices"))
		list_declared("device", work, out);
	else if (!strcmp(what, "models"))
		list_declared("model", work, out);
	else
		return false;
	return true;
}

/* --- params of a file ------------------------------------------------------------------- */

void plan_list_params(const struct node *file, const struct work *work, struct text *out)
{
	for (const struct node *node = file->first; node; node = node->next) {
		if (node->kind != NODE_PARAM)
			continue;
		text_add(out, "%s\n", sources_text(work->sources, work->keep, node->span));
		if (node->doc)
			text_add(out, "    %s\n", node->doc->text);
	}
}
