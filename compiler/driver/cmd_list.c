/* SPDX-License-Identifier: Apache-2.0 */
/* planc list: what the language knows, straight from the tables that make it. */
#include "driver/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "driver/hash.h"
#include "plan/schema.h"

/* A table of at most four columns; the last one is as wide as it likes. */
static void add_row(struct text *out, const char *a, const char *b, const char *c, const char *d)
{
	char line[512];
	int length = snprintf(line, sizeof line, "%-22s %-10s %-12s %s", a, b, c, d);

	if (length < 0 || (size_t)length >= sizeof line)
		length = (int)sizeof line - 1;
	while (length && line[length - 1] == ' ')
		length--;
	text_add(out, "%.*s\n", length, line);
}

static const char *type_word(enum value_type type)
{
	static const char *const words[TYPES] = {
		[TYPE_NONE] = "form", [TYPE_COUNT] = "count", [TYPE_FACTOR] = "factor",
		[TYPE_SHARE] = "share", [TYPE_BYTES] = "bytes", [TYPE_RATE] = "rate",
		[TYPE_FLOPS] = "flops", [TYPE_TIME] = "time", [TYPE_SEQS] = "seqs",
		[TYPE_TOKENS] = "tokens", [TYPE_BOOL] = "bool", [TYPE_WORD] = "word",
		[TYPE_STRING] = "string", [TYPE_LIST] = "list"};

	return words[type];
}

static const char *fallback_text(const struct setting_row *row)
{
	if (!row->fallback)
		return "required";
	return *row->fallback ? row->fallback : "-";
}

/* "; one of fp64, fp32, bf16" */
static const char *words_text(const struct setting_row *row, struct arena *arena)
{
	size_t count;
	const char *const *words = schema_word_list(row, arena, &count);
	const char *text = "";

	for (size_t i = 0; i < count; i++)
		text = arena_text(arena, "%s%s%s", text, i ? ", " : "; one of ", words[i]);
	return count > 1 ? text : "";
}

static void add_setting(struct session *session, const struct setting_row *row)
{
	static const char *const effects[] = {
		[EFFECT_NONE] = "nothing", [EFFECT_ROUNDING] = "rounding",
		[EFFECT_RESULT] = "result"};
	struct arena *arena = session->work.keep;

	add_row(&session->out, row->name, type_word(row->type), fallback_text(row),
		arena_text(arena, "%-10s%s%s", effects[row->effect], row->doc,
			   words_text(row, arena)));
}

/* What a block takes beside the rows of the schema. */
static const struct {
	const char *block, *name, *type, *fallback, *meaning;
} forms[] = {
	{"cluster", "node", "block", "required", "nothing   devices and fabric of one machine"},
	{"cluster", "node.devices", "form", "required", "nothing   N of DEVICE { changes }"},
	{"cluster", "node.fabric", "form", "-", "nothing   link between devices of a node"},
	{"cluster", "fabric", "form", "-", "nothing   link between nodes"},
	{"device", "flops", "block", "-", "nothing   peak rates: bf16, tf32, fp32, fp64"},
	{"train", "validate", "block", "-", "result    samples held out"},
	{"optimizer", "betas", "list", "[0.9, 0.999]", "result    decay of both moments"},
};

static void add_forms(struct session *session, const char *block)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (!strcmp(forms[i].block, block))
			add_row(&session->out, forms[i].name, forms[i].type, forms[i].fallback,
				forms[i].meaning);
}

static void list_settings(struct session *session, const struct argument *only)
{
	bool found = false;

	for (int id = 0; id < BLOCKS; id++) {
		const struct block_row *block = schema_block((enum block_id)id);

		if (only && strcmp(only->text, block->name))
			continue;
		if (!found)
			add_row(&session->out, "setting", "type", "default",
				"changes   meaning");
		found = true;
		text_add(&session->out, "\n%s: %s\n", block->name, block->doc);
		for (uint32_t k = 0; k < block->nsettings; k++)
			if (!schema_inner(&block->settings[k]))
				add_setting(session, &block->settings[k]);
		add_forms(session, block->name);
	}
	if (!found)
		wrong_operand(session, *only, "there is no block `%s`", only->text);
}

static void list_units(struct session *session, const struct argument *unused)
{
	(void)unused;
#define UNIT(text, type, scale) add_row(&session->out, text, #type, "", "");
#include "syntax/units.def"
#undef UNIT
}

static void list_quantities(struct session *session, const struct argument *unused)
{
	(void)unused;
#define QUANTITY(id, name, type, doc) add_row(&session->out, name, type_word(type), "", doc);
#include "plan/quantities.def"
#undef QUANTITY
}

static void list_codes_of(struct session *session, bool lints)
{
	for (int i = 0; i < DIAG_CODES; i++) {
		const struct diag_row *row = diag_row((enum diag_code)i);

		if (lints && row->level != LEVEL_WARNING)
			continue;
		text_add(&session->out, "%s  %-18s %s\n", row->code, row->name, row->meaning);
	}
}

static void list_lints(struct session *session, const struct argument *unused)
{
	(void)unused;
	list_codes_of(session, true);
}

static void list_codes(struct session *session, const struct argument *unused)
{
	(void)unused;
	list_codes_of(session, false);
}

static void list_std(struct session *session, const struct argument *unused)
{
	(void)unused;
	for (const struct std_file *file = std_files; file->text; file++) {
		uint64_t hash = hash_add(HASH_START, file->text, strlen(file->text));

		text_add(&session->out, "%-28s %016" PRIx64 "\n", file->path, hash);
	}
}

static const char *doc_line(const struct node *node, struct arena *arena)
{
	const char *doc = node->doc ? node->doc->text : "";

	return arena_copy(arena, doc, strcspn(doc, "\n"));
}

/* A declaration as it is written, without the blanks that line it up with others. */
static const char *written(struct work *work, struct span span)
{
	char *text = arena_text(work->keep, "%s", sources_text(work->sources, work->keep, span));
	char *to = text;

	for (const char *at = text; *at; at++)
		if (*at != ' ' || at[1] != ' ')
			*to++ = *at;
	*to = '\0';
	return text;
}

/* `size { }` and `option { }` of an architecture, each on a line. */
static void add_parts(struct session *session, const struct node *architecture)
{
	struct work *work = &session->work;
	const struct node *body = node_find(architecture, NODE_BODY);

	for (const struct node *node = body ? body->first : NULL; node; node = node->next) {
		const struct node *inner = node_find(node, NODE_BODY);
		const char *list = "";

		if (node->kind != NODE_BLOCK || !inner ||
		    (!node_path_is(node->first, "size") && !node_path_is(node->first, "option")))
			continue;
		for (const struct node *at = inner->first; at; at = at->next)
			list = arena_text(work->keep, "%s%s%s", list, *list ? ", " : "",
					  written(work, at->span));
		text_add(&session->out, "  %s: %s\n", node_path_text(node->first, work->keep),
			 list);
	}
}

/* Blocks `kind NAME { }` at the top of the library's files, as a plan would name them. */
static void list_blocks(struct session *session, const char *kind)
{
	struct work *work = &session->work;

	for (const struct std_file *std = std_files; std->text; std++) {
		const struct source *source = sources_add(work->sources, std->path, std->text,
							  strlen(std->text), true);
		const struct node *file = parse(source, work);

		for (const struct node *node = file->first; node; node = node->next) {
			const struct node *path = node_child(node, 0), *name = node_child(node, 1);

			if (node->kind != NODE_BLOCK || !path || !node_path_is(path, kind) ||
			    !name || name->kind != NODE_NAME)
				continue;
			text_add(&session->out, "%-24s %-28s %s\n", name->name->text, std->path,
				 doc_line(node, work->keep));
			if (!strcmp(kind, "architecture"))
				add_parts(session, node);
		}
	}
}

static void list_devices(struct session *session, const struct argument *unused)
{
	(void)unused;
	list_blocks(session, "device");
}

static void list_models(struct session *session, const struct argument *unused)
{
	(void)unused;
	list_blocks(session, "model");
}

static void list_architectures(struct session *session, const struct argument *unused)
{
	(void)unused;
	list_blocks(session, "architecture");
}

static void list_params(struct session *session, const struct argument *file)
{
	struct work *work = &session->work;
	const struct source *source;
	const struct node *node;

	if (!file) {
		diag_add(work->diags, E0602, session->options.command_span,
			 "`planc list params` needs a file");
		return;
	}
	source = session_read(session, *file);
	node = source ? parse(source, work)->first : NULL;
	for (; node; node = node->next) {
		if (node->kind != NODE_PARAM)
			continue;
		if (node->doc)
			text_add(&session->out, "/// %s\n", doc_line(node, work->keep));
		text_add(&session->out, "%s\n",
			 sources_text(work->sources, work->keep, node->span));
	}
}

static const struct {
	const char *name;
	void (*list)(struct session *, const struct argument *more);
	bool more; /* takes a second operand */
	bool json; /* takes --json */
} lists[] = {
	{"settings", list_settings, true, false},
	{"params", list_params, true, false},
	{"devices", list_devices, false, false},
	{"models", list_models, false, false},
	{"architectures", list_architectures, false, false},
	{"units", list_units, false, false},
	{"lints", list_lints, false, false},
	{"quantities", list_quantities, false, false},
	{"codes", list_codes, false, false},
	{"std", list_std, false, false},
	{"combinations", list_combinations, false, true},
};

void command_list(struct session *session)
{
	const struct options *options = &session->options;
	struct argument what = options->operands.at[0];
	const struct argument *more = options->operands.n > 1 ? &options->operands.at[1] : NULL;

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		if (strcmp(what.text, lists[i].name))
			continue;
		if (more && !lists[i].more)
			wrong_operand(session, *more, "`planc list %s` takes nothing more",
				      what.text);
		else if (options->json && !lists[i].json)
			wrong_operand(session, what, "`planc list %s` has no JSON", what.text);
		else
			lists[i].list(session, more);
		return;
	}
	diag_note(wrong_operand(session, what, "`planc list` cannot list `%s`", what.text),
		  "valid values: %s", command_rows[COMMAND_list].summary);
}
