/* SPDX-License-Identifier: Apache-2.0 */
/* Names of tensors, and what passes the borders of the repeated block. */
#include "plan/model/model_build.h"

static const char *const given_names[] = {"tokens", "targets", "position"};

/* Index in `bound` from `lo` on, or NO_ID. */
static uint32_t bound_find(const struct builder *builder, const struct name *name, uint32_t lo)
{
	for (uint32_t i = builder->bound.n; i > lo; i--)
		if (builder->bound.at[i - 1].name == name)
			return i - 1;
	return NO_ID;
}

static uint32_t given_find(const struct name *name)
{
	for (uint32_t i = 0; i < GIVENS; i++)
		if (name_is(name, given_names[i]))
			return i;
	return NO_ID;
}

/* From then on the name stands for a faulty value, which raises nothing further. */
static void report_unknown(struct builder *builder, const struct node *path)
{
	struct arena *keep = builder->work->keep;
	const char *text = node_path_text(path, keep);
	const char **names = ARENA_ARRAY(keep, const char *, builder->bound.n + GIVENS);
	size_t count = 0;
	const char *near;
	struct diag *diag =
		model_fault(builder, E0203, path->span, "no tensor `%s` is bound here", text);

	for (; count < GIVENS; count++)
		names[count] = given_names[count];
	for (uint32_t i = 0; i < builder->bound.n; i++)
		names[count++] = builder->bound.at[i].name->text;
	near = name_nearest(text, names, count);
	if (near)
		diag_note(diag, "a tensor with a similar name exists: `%s`", near);
	if (path_single(path)) {
		struct bound faulty = {path_single(path), NO_ID, path->span};

		vec_push(keep, &builder->bound, faulty);
	}
}

/* A name that was bound in the repeated block and is read after it. */
static bool report_left(struct builder *builder, const struct node *path, const struct name *name)
{
	for (uint32_t i = 0; i < builder->left.n; i++) {
		struct bound *left = &builder->left.at[i];

		if (left->name != name)
			continue;
		if (left->value == NO_ID)
			return true;
		diag_label(model_fault(builder, E0214, path->span,
				       "`%s` does not leave the repeated block", name->text),
			   left->span, "bound here, inside the block");
		return true;
	}
	return false;
}

uint32_t name_read(struct builder *builder, const struct node *path)
{
	const struct name *name = path_single(path);
	uint32_t at = name ? bound_find(builder, name, 0) : NO_ID;

	if (name && at == NO_ID) {
		uint32_t given = given_find(name);

		if (given != NO_ID)
			return given;
		if (report_left(builder, path, name))
			return NO_ID;
	}
	if (at == NO_ID) {
		report_unknown(builder, path);
		return NO_ID;
	}
	if (builder->region == REGION_REPEAT && at < builder->outside) {
		struct bound read = {name, builder->bound.at[at].value, path->span};

		vec_push(builder->work->keep, &builder->read, read);
	}
	return builder->bound.at[at].value;
}

static void note_rebound(struct builder *builder, const struct bound *before, uint32_t value,
			 struct span span)
{
	struct rebound rebound = {before->value, value, before->span, span};

	if (before->value != NO_ID && value != NO_ID)
		vec_push(builder->work->keep, &builder->rebound, rebound);
}

void name_bind(struct builder *builder, const struct name *name, uint32_t value, struct span span)
{
	uint32_t lo = builder->region == REGION_REPEAT ? builder->outside : 0;
	uint32_t at = bound_find(builder, name, 0);
	struct bound bound = {name, value, span};

	if (given_find(name) != NO_ID) {
		model_fault(builder, E0202, span, "tensor `%s` is given and cannot be bound",
			    name->text);
		return;
	}
	if (at != NO_ID)
		note_rebound(builder, &builder->bound.at[at], value, span);
	if (at != NO_ID && at >= lo)
		builder->bound.at[at] = bound;
	else
		vec_push(builder->work->keep, &builder->bound, bound);
}

void repeat_enter(struct builder *builder)
{
	builder->region = REGION_REPEAT;
	builder->outside = builder->bound.n;
}

static bool carried(const struct builder *builder, const struct name *name)
{
	return bound_find(builder, name, builder->outside) != NO_ID;
}

/* Reads of names that the block does not carry. */
static void check_entered(struct builder *builder)
{
	for (uint32_t i = 0; i < builder->read.n; i++) {
		struct bound *read = &builder->read.at[i];

		if (!carried(builder, read->name))
			diag_note(
				model_fault(builder, E0214, read->span,
					    "`%s` enters the repeated block and is not carried",
					    read->name->text),
				"what is bound before and again inside is carried; beside it only "
				"given tensors enter");
	}
}

void repeat_leave(struct builder *builder, struct span span)
{
	struct arena *keep = builder->work->keep;
	struct bound *first = NULL;
	uint32_t inside = builder->bound.n, at;

	check_entered(builder);
	for (uint32_t i = 0; i < builder->outside; i++) {
		struct bound *bound = &builder->bound.at[i];

		if (!carried(builder, bound->name))
			continue;
		if (first) {
			diag_label(
				model_fault(builder, E0214, span,
					    "the repeated block carries two tensors, `%s` and `%s`",
					    first->name->text, bound->name->text),
				bound->span, "bound before the block, and again inside");
			continue;
		}
		first = bound;
		builder->model->carried_in = bound->value;
		at = bound_find(builder, bound->name, builder->outside);
		bound->value = builder->bound.at[at].value;
		builder->model->carried_out = bound->value;
	}
	if (!first && !builder->faulty)
		diag_note(model_fault(builder, E0214, span, "the repeated block carries no tensor"),
			  "one name is bound before the block and bound again inside");
	for (uint32_t i = builder->outside; i < inside; i++)
		if (!first || builder->bound.at[i].name != first->name)
			vec_push(keep, &builder->left, builder->bound.at[i]);
	builder->bound.n = builder->outside;
	builder->region = REGION_AFTER;
}
