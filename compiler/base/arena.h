/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once. Nobody but arena.c calls malloc or free. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

/* A new, empty arena; the caller owns it until arena_delete. */
struct arena *arena_new(void);
void arena_delete(struct arena *arena);

/* `bytes` zeroed bytes aligned to 16; valid until the arena is reset or deleted.
 * Never NULL: a machine without memory ends the process with exit code 3 and a message. */
void *arena_alloc(struct arena *arena, size_t bytes);

/* `count` objects of `size` bytes, zeroed; a product over SIZE_MAX ends the process as above. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* Gives back everything allocated so far; the arena stays usable. */
void arena_reset(struct arena *arena);

/* printf into the arena; the text ends in NUL. */
char *arena_text(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
char *arena_vtext(struct arena *arena, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Copy of `length` bytes with a NUL after them. */
char *arena_copy(struct arena *arena, const char *text, size_t length);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_array((arena), (count), sizeof(type)))

#endif
