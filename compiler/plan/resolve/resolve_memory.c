/* SPDX-License-Identifier: Apache-2.0 */
/* memory: the reserve, and what is recomputed on which stages. */
#include <string.h>

#include "plan/resolve/resolve.h"

enum { GROUPS_MAX = 8 };

static const char *const forms[] = {"none", "block", "selective"};

/* --- forms ------------------------------------------------------------------------------ */

/* A group counts once. */
static void add_group(struct resolve *r, struct recompute *recompute, const struct node *call,
		      const struct node *group)
{
	const char *text = node_path_text(group, r->work->keep);
	const struct node *first = call->first->next;

	while (first != group &&
	       !(first->kind == NODE_PATH && !strcmp(node_path_text(first, r->work->keep), text)))
		first = first->next;
	if (first != group)
		set_twice(r, first->span, group->span, "group", text);
	else if (recompute->ngroups == GROUPS_MAX)
		diag_add(r->work->diags, E0216, group->span, "`selective` takes at most %d groups",
			 GROUPS_MAX);
	else
		recompute->groups[recompute->ngroups++] = text;
}

static void read_groups(struct resolve *r, struct recompute *recompute, const struct node *call)
{
	for (const struct node *group = call->first->next; group; group = group->next) {
		if (group->kind == NODE_ERROR)
			continue;
		if (group->kind != NODE_PATH)
			diag_at(diag_add(r->work->diags, E0112, group->span,
					 "`selective` takes names of groups"),
				"for example `selective(mlp)`");
		else
			add_group(r, recompute, call, group);
	}
	if (!recompute->ngroups)
		diag_note(diag_add(r->work->diags, E0112, call->span,
				   "`selective` takes names of groups"),
			  "for example `selective(mlp)`");
}

static void read_form(struct resolve *r, struct recompute *recompute, const struct node *expr)
{
	bool call = expr->kind == NODE_CALL;
	const struct node *path = call ? expr->first : expr;
	const struct name *word = path_word(path);

	if (call && name_is(word, "selective")) {
		recompute->kind = RECOMPUTE_SELECTIVE;
		read_groups(r, recompute, expr);
	} else if (!call && name_is(word, "block")) {
		recompute->kind = RECOMPUTE_BLOCK;
	} else if (!call && name_is(word, "none")) {
		recompute->kind = RECOMPUTE_NONE;
	} else if (word && !name_is(word, "selective")) {
		unknown_word(r, path->span, "recompute", word->text, forms, 3);
	} else if (expr->kind != NODE_ERROR) {
		diag_note(diag_add(r->work->diags, E0112, expr->span,
				   "`recompute` is a form of recomputation"),
			  "valid values: `none`, `block`, `selective(GROUP, ...)`");
	}
}

/* E0115 for stages that are not there. */
static void check_stages(struct resolve *r, const struct recompute *recompute, struct span at)
{
	long long low = recompute->first_stage, high = recompute->last_stage;
	long long last = (long long)r->plan->stages - 1;
	struct diags *diags = r->work->diags;
	struct diag *diag;

	if (low <= high && high <= last)
		return;
	if (low > high) {
		diag = diag_add(diags, E0115, at, "stages %lld to %lld are in reverse order", low,
				high);
		diag_at(diag, "the lower one stands first: `%lld..%lld`", high, low);
	} else if (low == high) {
		diag = diag_add(diags, E0115, at, "there is no stage %lld", low);
	} else {
		diag = diag_add(diags, E0115, at, "there are no stages %lld to %lld", low, high);
	}
	if (low > last || high > last)
		diag_note(diag, "pipeline stages are counted from 0, the last one is %lld", last);
}

/* `on stage 0..3`. */
static void read_stages(struct resolve *r, struct recompute *recompute, const struct node *place)
{
	static const char *const words[] = {"stage"};
	struct frame frame = {.r = r, .id = BLOCKS};
	const struct node *name = place->first, *low = name->next, *high = low->next;
	struct value first, last;

	if (!name_is(name->name, "stage") && name->name)
		unknown_word(r, name->span, "on", name->name->text, words, 1);
	first = frame_value(&frame, low, TYPE_COUNT, "stage");
	last = high ? frame_value(&frame, high, TYPE_COUNT, "stage") : first;
	value_least(r, &first, 0, "stage");
	value_least(r, &last, 0, "stage");
	if (first.poisoned || last.poisoned)
		return;
	recompute->first_stage = first.i;
	recompute->last_stage = last.i;
	if (!r->plan->mesh_poisoned && !r->broken)
		check_stages(r, recompute, place->span);
}

static void check_overlap(struct resolve *r, const struct recompute *recompute)
{
	const struct plan *plan = r->plan;

	for (uint32_t k = 0; k < plan->nrecompute; k++) {
		const struct recompute *other = &plan->recompute[k];
		bool all = recompute->first_stage < 0 || other->first_stage < 0;

		if (all || (recompute->first_stage <= other->last_stage &&
			    other->first_stage <= recompute->last_stage)) {
			set_twice(r, other->span, recompute->span, "setting", "recompute");
			return;
		}
	}
}

static void add_recompute(struct resolve *r, const struct node *statement)
{
	struct plan *plan = r->plan;
	struct recompute recompute = {.kind = RECOMPUTE_NONE, .first_stage = -1,
				      .last_stage = -1, .span = statement->span};
	const struct node *tail = node_child(statement, 2);

	read_form(r, &recompute, node_child(statement, 1));
	if (tail && tail->kind == NODE_PLACE && tail->op == PLACE_ON)
		read_stages(r, &recompute, tail);
	else
		no_tail(r, statement);
	check_overlap(r, &recompute);
	plan->recompute[plan->nrecompute++] = recompute;
}

static bool memory_take(struct frame *frame, const struct node *statement)
{
	if (statement->kind != NODE_SETTING || !node_path_is(statement->first, "recompute"))
		return false;
	add_recompute(frame->r, statement);
	return true;
}

/* --- the block -------------------------------------------------------------------------- */

static struct value recompute_value(struct resolve *r)
{
	const struct recompute *first = r->plan->recompute;
	struct value value =
		value_word(name_of(r->work->names, forms[first->kind]),
			   first->span.hi ? ORIGIN_FILE : ORIGIN_DEFAULT);

	value.span = first->span;
	return value;
}

void resolve_memory(struct resolve *r, const struct node *block)
{
	struct plan *plan = r->plan;
	const struct node *body = block ? node_find(block, NODE_BODY) : NULL;
	struct frame frame = {.r = r, .id = BLOCK_memory, .into = &plan->memory,
			      .title = "block `memory`",
			      .span = block ? head_span(block) : (struct span){0},
			      .take = memory_take};

	plan->recompute =
		ARENA_ARRAY(r->work->keep, struct recompute, body ? node_children(body) + 1 : 1);
	frame_take(&frame, body);
	frame_close(&frame);
	if (!plan->nrecompute)
		plan->recompute[plan->nrecompute++] = (struct recompute){
			.kind = RECOMPUTE_NONE, .first_stage = -1, .last_stage = -1};
	plan->memory.recompute = recompute_value(r);
}

/* --- with the model --------------------------------------------------------------------- */

static bool is_group(const struct model *model, const char *group)
{
	size_t length = strlen(group);

	for (uint32_t k = 0; k < model->ncalls; k++) {
		const char *own = model->calls[k].group;

		if (!strncmp(own, group, length) && (!own[length] || own[length] == '.'))
			return true;
	}
	return false;
}

static void unknown_group(struct resolve *r, const struct recompute *recompute, const char *group)
{
	const struct model *model = r->plan->model;
	VEC(const char *) names = {0};

	for (uint32_t k = 0; k < model->ncalls; k++) {
		const char *own = model->calls[k].group;
		bool seen = !*own;

		for (uint32_t i = 0; i < names.n; i++)
			seen |= !strcmp(names.at[i], own);
		if (!seen)
			vec_push(r->work->keep, &names, own);
	}
	unknown_word(r, recompute->span, "selective", group, names.at, names.n);
}

void resolve_recompute_groups(struct resolve *r)
{
	const struct plan *plan = r->plan;

	for (uint32_t k = 0; k < plan->nrecompute; k++)
		for (uint32_t i = 0; i < plan->recompute[k].ngroups; i++)
			if (!is_group(plan->model, plan->recompute[k].groups[i]))
				unknown_group(r, &plan->recompute[k],
					      plan->recompute[k].groups[i]);
}
