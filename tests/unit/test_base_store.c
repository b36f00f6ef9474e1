/* SPDX-License-Identifier: Apache-2.0 */
/* Arena, vectors, names, sources, and how the process ends on faults. */
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/name.h"
#include "base/source.h"
#include "base/vec.h"
#include "check.h"

static void arenas(void)
{
	struct arena *arena = arena_new();
	char *big;

	for (int round = 0; round < 3; round++) {
		for (size_t n = 0; n < 2000; n += 7) {
			unsigned char *at = arena_alloc(arena, n);

			CHECK_INT((uintptr_t)at % 16, 0);
			for (size_t i = 0; i < n; i++)
				CHECK(!at[i]);
			memset(at, 0xff, n);
		}
		arena_reset(arena);
	}
	big = arena_alloc(arena, 50 << 20);
	CHECK(!big[(50 << 20) - 1]);
	CHECK_TEXT(arena_text(arena, "%d-%s", 5, "x"), "5-x");
	CHECK_TEXT(arena_copy(arena, "abc", 2), "ab");
	arena_delete(arena);
	arena_delete(NULL);
}

static void vectors(struct arena *arena)
{
	VEC(struct span) list = {0};

	for (uint32_t i = 0; i < 1000; i++)
		vec_push(arena, &list, (struct span){i, 2 * i});
	CHECK_INT(list.n, 1000);
	CHECK_INT(list.at[999].hi, 1998);
}

static void names(struct arena *arena)
{
	static const char *const known[] = {"micro_batch", "global_batch", "seq", NULL, "lr"};
	struct names *names = names_new(arena);
	const struct name *a = name_of(names, "abc");

	CHECK(name_get(names, "abcd", 3) == a);
	CHECK(name_of(names, "abcd") != a);
	CHECK(name_is(a, "abc") && !name_is(a, "ab") && !name_is(NULL, "ab"));
	CHECK_INT(name_of(names, "")->length, 0);
	for (int i = 0; i < 5000; i++)
		name_of(names, arena_text(arena, "n%d", i));
	CHECK(name_of(names, "abc") == a);
	CHECK(name_of(names, "n42") == name_get(names, "n42x", 3));
	CHECK_TEXT(name_nearest("microbatch", known, 5), "micro_batch");
	CHECK_TEXT(name_nearest("sqe", known, 5), "seq");
	CHECK_TEXT(name_nearest("batch", known, 5), NULL);
	CHECK_TEXT(name_nearest("", known, 5), NULL);
}

static void places(struct arena *arena)
{
	struct sources *sources = sources_new(arena);
	const struct source *a = sources_add(sources, "a.plan", "one\r\ntwo\n", 9, false);
	const struct source *b = sources_add(sources, "b.plan", "", 0, true);
	struct position at = sources_position(sources, a->start + 6);
	uint32_t length;

	CHECK_INT(sources_count(sources), 2);
	CHECK(sources_at(sources, 1) == b);
	CHECK(!sources_find(sources, 0));
	CHECK(sources_find(sources, a->start + 9) == a);
	CHECK(sources_find(sources, b->start) == b);
	CHECK(!sources_find(sources, b->start + 1));
	CHECK(at.source == a && at.line == 2 && at.column == 2);
	at = sources_position(sources, a->start + 9);
	CHECK(at.source == a && at.line == 3 && at.column == 1);
	CHECK(!sources_position(sources, 0).source);
	CHECK(!strncmp(source_line(a, 1, &length), "one", 3) && length == 3);
	source_line(a, 3, &length);
	CHECK_INT(length, 0);
	CHECK_TEXT(sources_text(sources, arena, (struct span){a->start + 5, a->start + 8}), "two");
	CHECK_TEXT(sources_text(sources, arena, (struct span){0}), "");
	CHECK_TEXT(sources_where(sources, arena, (struct span){a->start + 5, 0}), "a.plan:2");
	CHECK_TEXT(sources_where(sources, arena, (struct span){0}), "?");
	CHECK_INT(span_join((struct span){0}, (struct span){3, 4}).lo, 3);
	CHECK_INT(span_join((struct span){1, 2}, (struct span){3, 4}).hi, 4);
	CHECK(!sources_add(sources, "huge", "", UINT32_MAX, false));
}

static void hook(void)
{
	fputs("hook\n", stderr);
}

/* Exit code of a child that meets the fault; its messages go to `out`. */
static int fate(int kind, char out[512])
{
	int ends[2], status = 0;
	size_t length = 0;
	ssize_t n;
	pid_t child;

	if (pipe(ends))
		return -1;
	child = fork();
	if (!child) {
		dup2(ends[1], 2);
		bug_hook(hook);
		if (kind == 0)
			die("no %s", "disk");
		if (kind == 1)
			BUG_IF(kind == 1, "kind %d", kind);
		arena_array(arena_new(), SIZE_MAX / 2, 3);
	}
	close(ends[1]);
	while ((n = read(ends[0], out + length, 511 - length)) > 0)
		length += (size_t)n;
	out[length] = '\0';
	close(ends[0]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void faults(void)
{
	char out[512];

	CHECK_INT(fate(0, out), 3);
	CHECK_TEXT(out, "planc: no disk\n");
	CHECK_INT(fate(1, out), 70);
	CHECK(!strncmp(out, "hook\n", 5));
	CHECK_INT(fate(2, out), 3);
}

int main(void)
{
	struct arena *arena = arena_new();

	arenas();
	vectors(arena);
	names(arena);
	places(arena);
	faults();
	arena_delete(arena);
	return check_done();
}
