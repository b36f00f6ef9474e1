/* SPDX-License-Identifier: Apache-2.0 */
/* Tree to plan: the statements of the file by kind, then each block after what it needs. */
#include <string.h>

#include "plan/resolve/resolve.h"

/* --- statements of a file --------------------------------------------------------------- */

/* Blocks of a plan that stand once. */
enum part { PART_CLUSTER, PART_MESH, PART_MODEL, PART_PRECISION, PART_SPLIT, PART_MEMORY,
	    PART_TRAIN, PART_CHECKPOINT, PARTS };

static const char *const part_names[PARTS] = {"cluster", "mesh",   "model", "precision",
					      "split",   "memory", "train", "checkpoint"};

/* Declarations that may stand many times, in plans and libraries. */
static const char *const declarations[] = {"device", "link", "architecture", NULL};

struct parts {
	const struct node *at[PARTS];
	uint32_t requires;
};

static const char *const *file_names(struct arena *arena, size_t *count)
{
	VEC(const char *) names = {0};

	for (int k = 0; k < PARTS; k++)
		vec_push(arena, &names, part_names[k]);
	for (int k = 0; declarations[k]; k++)
		vec_push(arena, &names, declarations[k]);
	*count = names.n;
	return names.at;
}

static bool is_declaration(const struct node *block)
{
	for (const char *const *kind = declarations; *kind; kind++)
		if (node_path_is(block->first, *kind))
			return true;
	return false;
}

static enum part part_of(const struct node *statement)
{
	int part = 0;

	while (part < PARTS && !node_path_is(statement->first, part_names[part]))
		part++;
	return (enum part)part;
}

static void keep_part(struct resolve *r, struct parts *parts, const struct node *statement)
{
	enum part part = part_of(statement);
	size_t count;
	const char *const *names = file_names(r->work->keep, &count);
	bool setting = statement->kind == NODE_SETTING;

	if (statement->flags & NODE_FLAG_OVERRIDE)
		return;
	if (part == PARTS || (setting && part != PART_PRECISION))
		misplaced(r, statement, r->main->library ? "a library" : "a plan", names, count);
	else if (parts->at[part])
		set_twice(r, head_span(parts->at[part]), head_span(statement), "block",
			  part_names[part]);
	else
		parts->at[part] = statement;
}

static void sort_statement(struct resolve *r, struct parts *parts, const struct node *node)
{
	size_t count;
	const char *const *names;

	switch (node->kind) {
	case NODE_PLAN:
	case NODE_LIBRARY:
	case NODE_EDITION:
	case NODE_IMPORT:
	case NODE_LET:
	case NODE_PARAM:
	case NODE_ERROR:
		return;
	case NODE_ALLOW:
		allow(r, node);
		return;
	case NODE_REQUIRE:
		parts->requires++;
		return;
	case NODE_SETTING:
		keep_part(r, parts, node);
		return;
	case NODE_BLOCK:
		if (!is_declaration(node))
			keep_part(r, parts, node);
		return;
	default:
		names = file_names(r->work->keep, &count);
		misplaced(r, node, "a plan", names, count);
	}
}

/* --- blocks ----------------------------------------------------------------------------- */

static struct span file_start(const struct resolve *r)
{
	const struct node *head = node_find(r->main->tree, NODE_PLAN);

	return head ? head->span : (struct span){r->main->source->start, r->main->source->start};
}

static void need(struct resolve *r, const struct parts *parts, enum part part)
{
	struct diag *diag;

	if (parts->at[part] || suggested(r, part_names[part]))
		return;
	diag = missing(r, file_start(r), "a plan needs a block `%s`", part_names[part]);
	if (!diag || part != PART_PRECISION)
		return;
	diag_note(diag, "a preset is enough: `precision = fp32`");
	diag_note(diag, "presets are %s", precision_words(r->work->keep));
}

static void resolve_requires(struct resolve *r, const struct parts *parts)
{
	r->plan->requires = ARENA_ARRAY(r->work->keep, struct require, parts->requires + 1);
	for (const struct node *node = r->main->tree->first; node; node = node->next)
		if (node->kind == NODE_REQUIRE)
			resolve_require(r, node);
}

/* Values of a block that is not there: nothing later reports them again. */
static void poison_block(enum block_id id, void *into)
{
	const struct block_row *block = schema_block(id);

	for (uint32_t k = 0; k < block->nsettings; k++)
		*(struct value *)((char *)into + block->settings[k].offset) =
			value_poison((struct span){0});
}

static void resolve_needed(struct resolve *r, const struct parts *parts)
{
	struct plan *plan = r->plan;

	if (parts->at[PART_CLUSTER])
		resolve_cluster(r, parts->at[PART_CLUSTER]);
	else
		poison_block(BLOCK_cluster, &plan->cluster);
	if (parts->at[PART_MESH])
		resolve_mesh(r, parts->at[PART_MESH]);
	if (parts->at[PART_PRECISION])
		resolve_precision(r, parts->at[PART_PRECISION]);
	else
		poison_block(BLOCK_precision, &plan->precision);
	resolve_split(r, parts->at[PART_SPLIT]);
	resolve_memory(r, parts->at[PART_MEMORY]);
	if (parts->at[PART_TRAIN]) {
		resolve_train(r, parts->at[PART_TRAIN]);
		resolve_batches(r);
	} else {
		poison_block(BLOCK_train, &plan->train);
	}
}

static void resolve_parts(struct resolve *r, const struct parts *parts)
{
	static const enum part needed[] = {PART_CLUSTER, PART_MODEL, PART_PRECISION, PART_TRAIN};

	for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
		need(r, parts, needed[k]);
	resolve_needed(r, parts);
	if (parts->at[PART_CHECKPOINT])
		resolve_checkpoint(r, parts->at[PART_CHECKPOINT]);
	if (parts->at[PART_MODEL])
		resolve_model(r, parts->at[PART_MODEL]);
	if (r->plan->model && r->plan->model->complete) {
		resolve_split_dims(r, parts->at[PART_SPLIT]);
		resolve_recompute_groups(r);
	}
	resolve_requires(r, parts);
}

/* A library is checked for the names and values it declares; it makes no plan. */
static void resolve_library(struct resolve *r)
{
	diag_note(diag_add(r->work->diags, E0216,
			   node_find(r->main->tree, NODE_LIBRARY)->span,
			   "`%s` is a library, not a plan", r->main->name->text),
		  "a plan imports it: `import %s from \"...\"`", r->main->name->text);
}

static void resolve_plan(struct resolve *r)
{
	struct parts parts = {0};

	for (const struct node *node = r->main->tree->first; node; node = node->next)
		sort_statement(r, &parts, node);
	bind_outside(r);
	bind_all(r);
	resolve_parts(r, &parts);
	bind_unused(r);
}

/* True if a fault of the text may have moved statements into other blocks. */
static bool is_torn(const struct work *work)
{
	const struct diags *diags = work->diags;

	for (uint32_t k = work->diags_before; k < diags->all.n; k++) {
		enum diag_code code = diags->all.at[k]->code;

		if (code == E0101 || code == E0104 || code == E0108)
			return true;
	}
	return false;
}

struct plan *plan_resolve(const struct node *file, const struct source *source,
			  const struct plan_options *options, struct work *work)
{
	struct plan *plan = ARENA_NEW(work->keep, struct plan);
	struct resolve r = {.work = work, .plan = plan, .options = options};
	uint32_t errors = work->diags->errors;

	plan->source = source;
	plan->devices = plan->data_ranks = plan->stages = plan->micro_batches = 1;
	r.broken = errors > work->errors_before;
	r.torn = is_torn(work);
	r.main = unit_main(&r, file, source);
	plan->name = r.main->name;
	plan->span = file_start(&r);
	if (r.main->library)
		resolve_library(&r);
	else
		resolve_plan(&r);
	plan->poisoned |= work->diags->errors > errors || r.broken;
	return plan;
}
