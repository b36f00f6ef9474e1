/* SPDX-License-Identifier: Apache-2.0 */
#include "base/diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

static const struct diag_row rows[DIAG_CODES] = {
#define DIAG(code, level, exit, name, meaning) [code] = {#code, name, meaning, level, exit},
#include "base/diags.def"
#undef DIAG
};

const struct diag_row *diag_row(enum diag_code code)
{
	BUG_IF((uint32_t)code >= DIAG_CODES, "diagnostic %d", (int)code);
	return &rows[code];
}

const char *diag_level_name(enum diag_level level)
{
	static const char *const names[] = {
		[LEVEL_NOTE] = "note", [LEVEL_WARNING] = "warning", [LEVEL_ERROR] = "error"};

	return names[level];
}

/* Open addressing by code, place and title; `slots` is a power of two, at most half full. */
struct diag_seen {
	const struct diag **slot;
	uint32_t slots, used;
};

enum { FIRST_SLOTS = 64 };

static struct diag_seen *seen_new(struct arena *arena, uint32_t slots)
{
	struct diag_seen *seen = ARENA_NEW(arena, struct diag_seen);

	seen->slots = slots;
	seen->slot = ARENA_ARRAY(arena, const struct diag *, slots);
	return seen;
}

static bool same(const struct diag *a, const struct diag *b)
{
	return a->code == b->code && a->span.lo == b->span.lo && a->span.hi == b->span.hi &&
	       !strcmp(a->title, b->title);
}

/* The slot that holds an equal diagnostic, or the free one where it belongs. */
static const struct diag **seen_slot(struct diag_seen *seen, const struct diag *diag)
{
	uint32_t h = ((uint32_t)diag->code * 31 + diag->span.lo) * 2654435761u;

	for (const char *at = diag->title; *at; at++)
		h = (h ^ (unsigned char)*at) * 16777619u;
	h &= seen->slots - 1;
	while (seen->slot[h] && !same(seen->slot[h], diag))
		h = (h + 1) & (seen->slots - 1);
	return &seen->slot[h];
}

/* False if an equal one was there. */
static bool seen_add(struct diags *diags, const struct diag *diag)
{
	struct diag_seen *old = diags->seen;
	const struct diag **slot = seen_slot(old, diag);

	if (*slot)
		return false;
	*slot = diag;
	if (2 * ++old->used < old->slots)
		return true;
	diags->seen = seen_new(diags->arena, 2 * old->slots);
	diags->seen->used = old->used;
	for (uint32_t i = 0; i < old->slots; i++)
		if (old->slot[i])
			*seen_slot(diags->seen, old->slot[i]) = old->slot[i];
	return true;
}

struct diags *diags_new(struct arena *arena, const struct sources *sources)
{
	struct diags *diags = ARENA_NEW(arena, struct diags);

	diags->arena = arena;
	diags->sources = sources;
	diags->seen = seen_new(arena, FIRST_SLOTS);
	return diags;
}

static void record(struct diags *diags, struct diag *diag)
{
	if (diags->silent[diag->code] || !seen_add(diags, diag))
		return;
	vec_push(diags->arena, &diags->all, diag);
	diags->errors += diag->level == LEVEL_ERROR;
	diags->warnings += diag->level == LEVEL_WARNING;
}

struct diag *diag_add(struct diags *diags, enum diag_code code, struct span span,
		      const char *title, ...)
{
	struct diag *diag = ARENA_NEW(diags->arena, struct diag);
	va_list args;

	diag->in = diags;
	diag->code = code;
	diag->level = diag_row(code)->level;
	if (diag->level == LEVEL_WARNING && diags->deny[code])
		diag->level = LEVEL_ERROR;
	diag->span = span;
	va_start(args, title);
	diag->title = arena_vtext(diags->arena, title, args);
	va_end(args);
	diag->label = "";
	record(diags, diag);
	return diag;
}

void diag_at(struct diag *diag, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	diag->label = arena_vtext(diag->in->arena, format, args);
	va_end(args);
}

void diag_label(struct diag *diag, struct span span, const char *format, ...)
{
	struct diag_label label = {.span = span};
	va_list args;

	if (!span.lo)
		return;
	va_start(args, format);
	label.text = arena_vtext(diag->in->arena, format, args);
	va_end(args);
	vec_push(diag->in->arena, &diag->labels, label);
}

void diag_note(struct diag *diag, const char *format, ...)
{
	const char *note;
	va_list args;

	va_start(args, format);
	note = arena_vtext(diag->in->arena, format, args);
	va_end(args);
	vec_push(diag->in->arena, &diag->notes, note);
}

void diag_table(struct diag *diag, const char *lines)
{
	diag->table = arena_copy(diag->in->arena, lines, strlen(lines));
}

struct placed {
	struct diag *diag;
	uint32_t index;
};

static int by_place(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	if (a->diag->span.lo != b->diag->span.lo)
		return a->diag->span.lo < b->diag->span.lo ? -1 : 1;
	if (a->diag->level != b->diag->level)
		return a->diag->level > b->diag->level ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

void diags_sort(struct diags *diags)
{
	uint32_t n = diags->all.n;
	struct placed *order = ARENA_ARRAY(diags->arena, struct placed, n);

	for (uint32_t i = 0; i < n; i++)
		order[i] = (struct placed){diags->all.at[i], i};
	if (n)
		qsort(order, n, sizeof *order, by_place);
	for (uint32_t i = 0; i < n; i++)
		diags->all.at[i] = order[i].diag;
}

int diags_exit(const struct diags *diags)
{
	int least = 0;

	for (uint32_t i = 0; i < diags->all.n; i++) {
		const struct diag *diag = diags->all.at[i];
		int code = diag_row(diag->code)->exit;

		if (diag->level != LEVEL_ERROR)
			continue;
		code = code ? code : 1;
		if (!least || code < least)
			least = code;
	}
	return least;
}
