/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: equal text means same pointer within one `struct names`. */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct name {
	uint32_t length;
	char text[]; /* NUL-terminated */
};

struct names;

/* An empty set whose strings live in `arena`. */
struct names *names_new(struct arena *arena);

/* The one name with this text. */
const struct name *name_get(struct names *names, const char *text, size_t length);
const struct name *name_of(struct names *names, const char *text); /* NUL-terminated */

/* True if the name spells `text`. False for NULL. */
bool name_is(const struct name *name, const char *text);

/* The candidate nearest to `text` by edit distance, or NULL if none is near enough to suggest
 * (distance over max(1, length / 3)). First wins among equals. */
const char *name_nearest(const char *text, const char *const *candidates, size_t count);

#endif
