/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#endif

#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
enum { RED_ZONE = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
enum { RED_ZONE = 0 };
#endif

enum { ALIGN = 16, FIRST_CHUNK = 1 << 16, LARGEST_CHUNK = 1 << 22 };

struct chunk {
	struct chunk *before;
	size_t size, used;
	alignas(ALIGN) unsigned char bytes[];
};

struct arena {
	struct chunk *last;
};

static struct chunk *chunk_new(struct chunk *before, size_t size)
{
	struct chunk *chunk;

	if (size > SIZE_MAX - sizeof *chunk)
		die("out of memory");
	chunk = malloc(sizeof *chunk + size);
	if (!chunk)
		die("out of memory");
	chunk->before = before;
	chunk->size = size;
	chunk->used = 0;
	ASAN_POISON_MEMORY_REGION(chunk->bytes, size);
	return chunk;
}

static void chunk_free(struct chunk *chunk)
{
	ASAN_UNPOISON_MEMORY_REGION(chunk->bytes, chunk->size);
	free(chunk);
}

struct arena *arena_new(void)
{
	struct arena *arena = calloc(1, sizeof *arena);

	if (!arena)
		die("out of memory");
	return arena;
}

/* Frees every chunk before `keep`, newest first; NULL frees all. */
static void drop(struct arena *arena, const struct chunk *keep)
{
	while (arena->last && arena->last != keep) {
		struct chunk *before = arena->last->before;

		chunk_free(arena->last);
		arena->last = before;
	}
}

void arena_delete(struct arena *arena)
{
	if (!arena)
		return;
	drop(arena, NULL);
	free(arena);
}

/* Keeps one chunk, so that a scratch arena does not go to the machine for each pass. */
void arena_reset(struct arena *arena)
{
	struct chunk *last = arena->last;

	if (!last)
		return;
	arena->last = last->before;
	drop(arena, NULL);
	last->before = NULL;
	last->used = 0;
	ASAN_POISON_MEMORY_REGION(last->bytes, last->size);
	arena->last = last;
}

static struct chunk *chunk_for(struct arena *arena, size_t need)
{
	struct chunk *last = arena->last;
	size_t size = FIRST_CHUNK;

	if (last && last->size - last->used >= need)
		return last;
	if (last && last->size < LARGEST_CHUNK)
		size = 2 * last->size;
	else if (last)
		size = LARGEST_CHUNK;
	if (size < need)
		size = need;
	arena->last = chunk_new(last, size);
	return arena->last;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	struct chunk *chunk;
	void *at;
	size_t need;

	if (bytes > SIZE_MAX - RED_ZONE - ALIGN)
		die("out of memory");
	need = (bytes + RED_ZONE + ALIGN - 1) / ALIGN * ALIGN;
	chunk = chunk_for(arena, need);
	at = chunk->bytes + chunk->used;
	chunk->used += need;
	ASAN_UNPOISON_MEMORY_REGION(at, bytes);
	memset(at, 0, bytes);
	return at;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		die("out of memory: an array of %zu objects of %zu bytes", count, size);
	return arena_alloc(arena, bytes);
}

char *arena_vtext(struct arena *arena, const char *format, va_list args)
{
	va_list again;
	char *text;
	int length;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		BUG("a format that printf refuses: %s", format);
	text = arena_alloc(arena, (size_t)length + 1);
	vsnprintf(text, (size_t)length + 1, format, args);
	return text;
}

char *arena_text(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = arena_vtext(arena, format, args);
	va_end(args);
	return text;
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
	char *copy;

	if (length == SIZE_MAX)
		die("out of memory");
	copy = arena_alloc(arena, length + 1);
	if (length)
		memcpy(copy, text, length);
	return copy;
}
