/* SPDX-License-Identifier: Apache-2.0 */
/* Text of all inputs in one 32-bit offset space: files, the built-in library, the command line.
 * A span is two offsets; only source.c knows lines. Offset 0 belongs to no source. */
#ifndef BASE_SOURCE_H
#define BASE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct span {
	uint32_t lo, hi; /* [lo, hi); {0, 0} = nowhere */
};

struct source {
	const char *path; /* as shown to the user: as given, `std/x.plan`, `<command line>` */
	const char *text; /* NUL after `length` bytes */
	uint32_t start, length;
	bool built_in;
};

struct position {
	const struct source *source; /* NULL for a span that is nowhere */
	uint32_t line, column;       /* from 1; column counts bytes */
};

struct sources;

struct sources *sources_new(struct arena *arena);

/* Adds a copy of `text`; NULL if the 32-bit space is full. Stable until the arena goes. */
const struct source *sources_add(struct sources *sources, const char *path, const char *text,
				 size_t length, bool built_in);

uint32_t sources_count(const struct sources *sources);
const struct source *sources_at(const struct sources *sources, uint32_t index);

/* The source that holds `offset` (its end counts), or NULL. */
const struct source *sources_find(const struct sources *sources, uint32_t offset);
struct position sources_position(const struct sources *sources, uint32_t offset);

/* Text of line `line` of a source without its line end; *length gets its bytes. */
const char *source_line(const struct source *source, uint32_t line, uint32_t *length);

/* From the start of `a` to the end of `b`; a nowhere span is ignored. */
struct span span_join(struct span a, struct span b);

/* Text under a span, copied into `arena`. */
char *sources_text(const struct sources *sources, struct arena *arena, struct span span);

/* "file.plan:12" for a span, or "?" for nowhere; lives in `arena`. */
char *sources_where(const struct sources *sources, struct arena *arena, struct span span);

#endif
