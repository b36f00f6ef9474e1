/* SPDX-License-Identifier: Apache-2.0 */
#include "compiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "syntax/parse.h"

static void show_faults(struct work *work)
{
	struct text out = text_new(work->keep);
	diags_human(work->diags, (struct diag_style){0}, &out);
	if (out.length)
		fprintf(stderr, "%s\n", out.at);
}

static bool passes(struct compiled_plan *c, const struct source *source,
		   const struct plan_options *options)
{
	struct node *file = parse(source, &c->work);
	c->plan = plan_resolve(file, source, options, &c->work);
	if (!plan_check(c->plan, &c->work) || c->plan->poisoned || c->work.diags->errors)
		return false;
	if (!graph_build(c->plan, &c->graph, &c->work))
		return false;
	arena_reset(c->work.scratch);
	graph_verify(&c->graph);
	if (!part_build(&c->graph, &c->program, &c->work))
		return false;
	arena_reset(c->work.scratch);
	program_verify(&c->program);
	if (!place_build(&c->program, &c->layout, &c->work))
		return false;
	arena_reset(c->work.scratch);
	layout_verify(&c->layout);
	return true;
}

static struct compiled_plan *compiled_new(void)
{
	struct compiled_plan *c = calloc(1, sizeof *c);
	c->work.keep = arena_new();
	c->work.scratch = arena_new();
	c->work.names = names_new(c->work.keep);
	c->work.sources = sources_new(c->work.keep);
	c->work.diags = diags_new(c->work.keep, c->work.sources);
	c->work.check_only = true; /* precisions that no kernel serves are laid out too */
	return c;
}

static struct compiled_plan *finish(struct compiled_plan *c, const char *name, const char *text,
				    size_t length, const char *const *set)
{
	struct plan_options *options = ARENA_NEW(c->work.keep, struct plan_options);
	options->set = set;
	while (set[options->nset])
		options->nset++;
	if (passes(c, sources_add(c->work.sources, name, text, length, false), options))
		return c;
	fprintf(stderr, "%s: did not compile\n", name);
	show_faults(&c->work);
	compiled_close(c);
	return NULL;
}

struct compiled_plan *compiled_text(const char *name, const char *text, const char *const *set)
{
	return finish(compiled_new(), name, text, strlen(text), set);
}

static struct compiled_plan *open_as(const char *path, const char *const *set,
				     const char *precision)
{
	static const char wide[] = "precision = fp64\n";
	struct compiled_plan *c = compiled_new();
	size_t length = 0;
	char *text = text_read(c->work.keep, path, &length);
	char *at = text && precision ? strstr(text, wide) : NULL;
	if (at)
		memcpy(at + strlen("precision = "), precision, strlen(precision));
	if (text && (at || !precision))
		return finish(c, path, text, length, set);
	fprintf(stderr, "%s: cannot be read\n", path);
	compiled_close(c);
	return NULL;
}

struct compiled_plan *compiled_open(const char *path, const char *const *set)
{
	return open_as(path, set, NULL);
}

struct compiled_plan *compiled_single(const char *path, const char *const *set)
{
	return open_as(path, set, "fp32");
}

void compiled_close(struct compiled_plan *c)
{
	arena_delete(c->work.scratch);
	arena_delete(c->work.keep);
	free(c);
}
