/* SPDX-License-Identifier: Apache-2.0 */
#include "base/name.h"

#include <string.h>

#include "base/bug.h"

enum { FIRST_SLOTS = 256, LONGEST_SUGGESTION = 64 };

/* Open addressing; `slots` is a power of two, at most half full. Order of the slots is never
 * visible outside. */
struct names {
	struct arena *arena;
	const struct name **slot;
	uint32_t slots, used;
};

struct names *names_new(struct arena *arena)
{
	struct names *names = ARENA_NEW(arena, struct names);

	names->arena = arena;
	names->slots = FIRST_SLOTS;
	names->slot = ARENA_ARRAY(arena, const struct name *, FIRST_SLOTS);
	return names;
}

/* FNV-1a, 32 bits. */
static uint32_t hash(const char *text, size_t length)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)text[i]) * 16777619u;
	return h;
}

/* The slot that holds the text, or the free one where it belongs. */
static const struct name **find(struct names *names, const char *text, size_t length)
{
	uint32_t i = hash(text, length) & (names->slots - 1);

	for (; names->slot[i]; i = (i + 1) & (names->slots - 1))
		if (names->slot[i]->length == length && !memcmp(names->slot[i]->text, text, length))
			break;
	return &names->slot[i];
}

static void grow(struct names *names)
{
	const struct name **old = names->slot;
	uint32_t slots = names->slots;

	BUG_IF(slots > UINT32_MAX / 2, "over two thousand million names");
	names->slots = 2 * slots;
	names->slot = ARENA_ARRAY(names->arena, const struct name *, names->slots);
	for (uint32_t i = 0; i < slots; i++)
		if (old[i])
			*find(names, old[i]->text, old[i]->length) = old[i];
}

const struct name *name_get(struct names *names, const char *text, size_t length)
{
	const struct name **slot = find(names, text, length);
	struct name *name;

	if (*slot)
		return *slot;
	BUG_IF(length >= UINT32_MAX, "a name of %zu bytes", length);
	if (2 * (names->used + 1) > names->slots) {
		grow(names);
		slot = find(names, text, length);
	}
	name = arena_alloc(names->arena, sizeof *name + length + 1);
	name->length = (uint32_t)length;
	if (length)
		memcpy(name->text, text, length);
	names->used++;
	*slot = name;
	return name;
}

const struct name *name_of(struct names *names, const char *text)
{
	return name_get(names, text, strlen(text));
}

bool name_is(const struct name *name, const char *text)
{
	return name && name->length == strlen(text) && !memcmp(name->text, text, name->length);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: insert, delete, replace and swap of neighbours cost one each. Both
 * lengths are at most LONGEST_SUGGESTION. */
static uint32_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	uint32_t rows[3][LONGEST_SUGGESTION + 1];
	uint32_t *two = rows[0], *one = rows[1], *now = rows[2], *spare;

	for (size_t j = 0; j <= nb; j++)
		one[j] = (uint32_t)j;
	for (size_t i = 1; i <= na; i++) {
		now[0] = (uint32_t)i;
		for (size_t j = 1; j <= nb; j++) {
			now[j] = least(least(one[j], now[j - 1]) + 1,
				       one[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], two[j - 2] + 1);
		}
		spare = two;
		two = one;
		one = now;
		now = spare;
	}
	return one[nb];
}

const char *name_nearest(const char *text, const char *const *candidates, size_t count)
{
	size_t length = strlen(text);
	uint32_t best = (uint32_t)(length / 3 > 1 ? length / 3 : 1) + 1;
	const char *nearest = NULL;

	if (length > LONGEST_SUGGESTION)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t n = candidates[i] ? strlen(candidates[i]) : SIZE_MAX;
		uint32_t d;

		if (n > LONGEST_SUGGESTION)
			continue;
		d = distance(text, length, candidates[i], n);
		if (d < best) {
			best = d;
			nearest = candidates[i];
		}
	}
	return nearest;
}
