/* SPDX-License-Identifier: Apache-2.0 */
#include "base/source.h"

#include <string.h>

#include "base/bug.h"
#include "base/vec.h"

/* `source` is the first member: source_line finds the rest through it. */
struct entry {
	struct source source;
	struct arena *arena;
	uint32_t *line; /* offset of each line within the text; NULL until first asked for */
	uint32_t lines;
};

struct sources {
	struct arena *arena;
	VEC(struct entry *) all;
	uint32_t next; /* first free offset */
};

struct sources *sources_new(struct arena *arena)
{
	struct sources *sources = ARENA_NEW(arena, struct sources);

	sources->arena = arena;
	sources->next = 1;
	return sources;
}

/* A source takes length + 1 offsets: its end is a place too. */
const struct source *sources_add(struct sources *sources, const char *path, const char *text,
				 size_t length, bool built_in)
{
	struct entry *entry;

	if (length >= UINT32_MAX - sources->next)
		return NULL;
	entry = ARENA_NEW(sources->arena, struct entry);
	entry->arena = sources->arena;
	entry->source.path = arena_copy(sources->arena, path, strlen(path));
	entry->source.text = arena_copy(sources->arena, text, length);
	entry->source.start = sources->next;
	entry->source.length = (uint32_t)length;
	entry->source.built_in = built_in;
	sources->next += (uint32_t)length + 1;
	vec_push(sources->arena, &sources->all, entry);
	return &entry->source;
}

uint32_t sources_count(const struct sources *sources)
{
	return sources->all.n;
}

const struct source *sources_at(const struct sources *sources, uint32_t index)
{
	BUG_IF(index >= sources->all.n, "source %u of %u", index, sources->all.n);
	return &sources->all.at[index]->source;
}

static struct entry *find(const struct sources *sources, uint32_t offset)
{
	uint32_t low = 0, high = sources->all.n;

	if (!offset || offset >= sources->next)
		return NULL;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (sources->all.at[middle]->source.start <= offset)
			low = middle;
		else
			high = middle;
	}
	return sources->all.at[low];
}

const struct source *sources_find(const struct sources *sources, uint32_t offset)
{
	struct entry *entry = find(sources, offset);

	return entry ? &entry->source : NULL;
}

static uint32_t count_lines(const struct source *source)
{
	const char *at = source->text, *end = at + source->length;
	uint32_t lines = 1;

	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		lines++;
		at++;
	}
	return lines;
}

static void find_lines(struct entry *entry)
{
	const char *text = entry->source.text, *at = text, *end = text + entry->source.length;
	uint32_t n = 0;

	if (entry->line)
		return;
	entry->lines = count_lines(&entry->source);
	entry->line = ARENA_ARRAY(entry->arena, uint32_t, entry->lines);
	entry->line[n++] = 0;
	while ((at = memchr(at, '\n', (size_t)(end - at))))
		entry->line[n++] = (uint32_t)(++at - text);
}

struct position sources_position(const struct sources *sources, uint32_t offset)
{
	struct entry *entry = find(sources, offset);
	uint32_t low = 0, high;

	if (!entry)
		return (struct position){0};
	find_lines(entry);
	offset -= entry->source.start;
	high = entry->lines;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (entry->line[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return (struct position){&entry->source, low + 1, offset - entry->line[low] + 1};
}

const char *source_line(const struct source *source, uint32_t line, uint32_t *length)
{
	struct entry *entry = (struct entry *)source;
	uint32_t from, to;

	find_lines(entry);
	BUG_IF(!line || line > entry->lines, "line %u of %u", line, entry->lines);
	from = entry->line[line - 1];
	to = line < entry->lines ? entry->line[line] - 1 : source->length;
	if (to > from && source->text[to - 1] == '\r')
		to--;
	*length = to - from;
	return source->text + from;
}

static bool nowhere(struct span span)
{
	return !span.lo && !span.hi;
}

struct span span_join(struct span a, struct span b)
{
	if (nowhere(a))
		return b;
	if (nowhere(b))
		return a;
	return (struct span){a.lo, b.hi};
}

char *sources_text(const struct sources *sources, struct arena *arena, struct span span)
{
	const struct source *source = sources_find(sources, span.lo);
	uint32_t end;

	if (!source || span.hi < span.lo)
		return arena_text(arena, "%s", "");
	end = source->start + source->length;
	end = span.hi < end ? span.hi : end;
	return arena_copy(arena, source->text + (span.lo - source->start), end - span.lo);
}

char *sources_where(const struct sources *sources, struct arena *arena, struct span span)
{
	struct position position = sources_position(sources, span.lo);

	if (!position.source)
		return arena_text(arena, "?");
	return arena_text(arena, "%s:%u", position.source->path, position.line);
}
