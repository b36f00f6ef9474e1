/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the texts of the model: its block, the library models it is based on, the architecture. */
#include "plan/model_resolve.h"
#include "plan/resolve/resolve.h"

enum { BASE_LIMIT = 8 };

static const char *const base_kinds[] = {"architecture", "model", NULL};

static bool sets(const struct node *body, const struct node *statement)
{
	const struct name *word = path_word(statement->first);

	for (const struct node *node = body ? body->first : NULL; node && word; node = node->next)
		if (node->kind == NODE_SETTING && path_word(node->first) == word)
			return true;
	return false;
}

/* One body of two: what `over` sets replaces what `base` does. Either may be NULL. */
static const struct node *merged(struct resolve *r, const struct node *base,
				 const struct node *over)
{
	struct node *body, **end;

	if (!base || !over)
		return base ? base : over;
	body = ARENA_NEW(r->work->keep, struct node);
	*body = *over;
	body->first = NULL;
	end = &body->first;
	for (int round = 0; round < 2; round++) {
		const struct node *from = round ? over : base;

		for (const struct node *node = from->first; node; node = node->next) {
			if (!round && sets(over, node))
				continue;
			*end = ARENA_NEW(r->work->keep, struct node);
			**end = *node;
			(*end)->next = NULL;
			end = &(*end)->next;
		}
	}
	return body;
}

static const struct node *base_of(struct resolve *r, const struct node *block)
{
	const struct node *base = node_find(block, NODE_BASE);

	if (!base) {
		missing(r, head_span(block),
			"`model NAME : ARCHITECTURE` needs an architecture or a model");
		return NULL;
	}
	return base->first && base->first->kind == NODE_PATH
		       ? member_find(r, base->first, base_kinds)
		       : NULL;
}

/* The architecture at the end of the chain; *body gets the settings of the models between. */
static const struct node *follow(struct resolve *r, const struct node *block,
				 const struct node **body)
{
	const struct node *at = base_of(r, block);

	for (int k = 0; at && node_path_is(at->first, "model"); k++) {
		if (k == BASE_LIMIT || at == block) {
			diag_at(diag_add(r->work->diags, E0205, head_span(block),
					 "the model is based on itself"),
				"no architecture is reached");
			return NULL;
		}
		*body = merged(r, node_find(at, NODE_BODY), *body);
		at = base_of(r, at);
	}
	return at;
}

void resolve_model(struct resolve *r, const struct node *block)
{
	struct frame frame = {.r = r, .id = BLOCKS};
	struct scope scope = frame_scope(&frame);
	struct work *work = r->work;
	bool silent = work->diags->silent[E0201];
	const struct node *base_body = NULL, *name = node_find(block, NODE_NAME);
	const struct node *architecture = follow(r, block, &base_body);

	if (!architecture)
		return;
	/* Statements of another block may have got into a torn one. */
	work->diags->silent[E0201] |= r->torn;
	model_resolve(architecture, node_find(block, NODE_BODY), base_body, &scope, r->plan, work);
	work->diags->silent[E0201] = silent;
	if (!r->plan->model)
		return;
	if (name)
		model_named(r->plan, name->name, name->span);
	model_set_batch(r->plan);
}
