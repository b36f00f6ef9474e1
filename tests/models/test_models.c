/* SPDX-License-Identifier: Apache-2.0 */
/* test_models THIRD.plan: every model of the standard library has its known number of weights, and
 * an architecture of no family resolves. */
#include <stdlib.h>

#include "check.h"
#include "plan/model_resolve.h"
#include "syntax/parse.h"

static const struct count {
	const char *name;
	uint64_t weights, published;
} counts[] = {
#define COUNT(model, weights, published, source) {#model, weights, published},
#include "counts.def"
#undef COUNT
};
enum { COUNTS = sizeof counts / sizeof *counts };

static struct work work_new(struct arena *arena)
{
	struct work work = {.keep = arena, .scratch = arena_new()};

	work.names = names_new(arena);
	work.sources = sources_new(arena);
	work.diags = diags_new(arena, work.sources);
	return work;
}

static struct node *parse_text(struct work *work, const char *path, const char *text)
{
	return parse(sources_add(work->sources, path, text, strlen(text), true), work);
}

static struct node *parse_std(struct work *work, const char *path)
{
	for (const struct std_file *file = std_files; file->path; file++)
		if (!strcmp(file->path, path))
			return parse_text(work, path, file->text);
	return NULL;
}

/* Block `kind` of a file with this name, or with any for NULL. */
static struct node *block_find(const struct node *file, const char *kind, const char *name)
{
	for (struct node *node = file->first; node; node = node->next)
		if (node->kind == NODE_BLOCK && node_path_is(node->first, kind) &&
		    (!name || name_is(node->first->next->name, name)))
			return node;
	return NULL;
}

static void show_faults(struct work *work)
{
	struct text out = text_new(work->keep);

	diags_human(work->diags, (struct diag_style){0}, &out);
	if (out.length)
		fprintf(stderr, "%s", out.at);
}

static const struct model *resolve(struct work *work, const struct node *architectures,
				   const struct node *block)
{
	struct plan *plan = ARENA_NEW(work->keep, struct plan);
	const struct node *base = node_find(block, NODE_BASE)->first, *last = base->first;
	const struct node *architecture;

	while (last->next)
		last = last->next;
	architecture = block_find(architectures, "architecture", last->name->text);
	CHECK(architecture != NULL);
	if (!architecture)
		return NULL;
	CHECK(model_resolve(architecture, node_find(block, NODE_BODY), NULL, NULL, plan, work));
	return plan->model;
}

static const struct count *count_find(const char *name)
{
	for (uint32_t i = 0; i < COUNTS; i++)
		if (!strcmp(counts[i].name, name))
			return &counts[i];
	return NULL;
}

static void check_model(struct work *work, const struct node *architectures,
			const struct node *block)
{
	const char *name = block->first->next->name->text;
	const struct count *count = count_find(name);
	const struct model *model = resolve(work, architectures, block);
	uint64_t weights = 0;

	if (!model || !count) {
		fprintf(stderr, "no row for `%s` in counts.def\n", name);
		CHECK(count != NULL);
		return;
	}
	CHECK(model_params(model, &weights));
	CHECK_INT(weights, count->weights);
	CHECK(!count->published || count->published == count->weights);
	CHECK(model->vocab != NO_ID);
	CHECK(model->carried_in != NO_ID);
}

/* Every model of every file under std/models, and no row of the table is left over. */
static void library(struct work *work)
{
	struct node *architectures = parse_std(work, "std/architectures.plan");
	uint32_t models = 0;

	for (const struct std_file *file = std_files; file->path; file++) {
		struct node *tree = parse_text(work, file->path, file->text);

		for (struct node *node = tree->first; node; node = node->next)
			if (node->kind == NODE_BLOCK && node_path_is(node->first, "model")) {
				check_model(work, architectures, node);
				models++;
			}
	}
	CHECK_INT(models, COUNTS);
	CHECK_INT(work->diags->errors, 0);
}

/* Weights of the third architecture, by hand: a = 48, b = 4, c = 12, d = 80, v = 61, n = 3. */
static void third(struct work *work, const char *path)
{
	enum { A = 48, D = 80, V = 61, N = 3 };
	size_t length;
	char *text = text_read(work->keep, path, &length);
	const struct node *file = text ? parse_text(work, "third.plan", text) : NULL;
	const struct model *model;
	uint64_t weights;

	CHECK(file != NULL);
	if (!file)
		return;
	model = resolve(work, file, block_find(file, "model", NULL));
	CHECK(model && model->complete);
	if (!model || !model->complete)
		return;
	CHECK(model_params(model, &weights));
	CHECK_INT(weights, 2 * V * A + N * (A + 4 * A * A + A + 2 * A + 3 * A * D) + 2 * A);
	CHECK_INT(model->layers, N);
	CHECK_TEXT(model_dims_text(model, &model->value_dims[model->carried_out], work->keep),
		   "[batch, tokens, a]");
	CHECK_TEXT(model->dims[model->vocab].name->text, "v");
	CHECK_INT(work->diags->errors, 0);
}

int main(int argc, char **argv)
{
	struct arena *arena = arena_new();
	struct work work = work_new(arena);

	library(&work);
	if (argc > 1)
		third(&work, argv[1]);
	show_faults(&work);
	arena_delete(work.scratch);
	arena_delete(arena);
	return check_done();
}
