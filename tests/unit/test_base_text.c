/* SPDX-License-Identifier: Apache-2.0 */
/* Output text, JSON strings and whole files. */
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static void indentation(struct arena *arena)
{
	struct text text = text_new(arena);

	text_add(&text, "a\n");
	text.indent = 1;
	text_add(&text, "b%d\n\nc", 1);
	text_add(&text, "d\n");
	text_raw(&text, "raw\n", 4);
	text.indent = 0;
	text_add(&text, "%s", "");
	text_add(&text, "e");
	CHECK_TEXT(text.at, "a\n\tb1\n\n\tcd\nraw\ne");
	CHECK_INT(text.length, strlen(text.at));
}

static void growing(struct arena *arena)
{
	struct text text = text_new(arena);
	char *line = arena_alloc(arena, 5001);

	memset(line, 'y', 5000);
	for (int i = 0; i < 100; i++)
		text_add(&text, "%s\n", line);
	CHECK_INT(text.length, 500100);
	CHECK_INT(text.at[500099], '\n');
	CHECK_INT(text.at[500100], '\0');
}

static void json(struct arena *arena)
{
	struct text text = text_new(arena);

	text_json(&text, "a\"\\\n\t\r\x01\x7f\xc3\xa9\xff\xed\xa0\x80/");
	CHECK_TEXT(text.at, "\"a\\\"\\\\\\n\\t\\r\\u0001\\u007f\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd"
			    "\xef\xbf\xbd\xef\xbf\xbd/\"");
}

static void files(struct arena *arena)
{
	char folder[] = "test_base_text.XXXXXX";
	struct text text = text_new(arena);
	const char *path, *link;
	struct stat about;
	size_t length = 0;
	char *back;

	CHECK(mkdtemp(folder) != NULL);
	path = arena_text(arena, "%s/f", folder);
	text_raw(&text, "x\0y\n", 4);
	CHECK(text_write(&text, path));
	back = text_read(arena, path, &length);
	CHECK(back && length == 4 && !memcmp(back, "x\0y\n", 5));
	CHECK(stat(arena_text(arena, "%s.tmp", path), &about) != 0);
	text = text_new(arena);
	CHECK(text_write(&text, path));
	back = text_read(arena, path, &length);
	CHECK(back && length == 0 && back[0] == '\0');
	CHECK(!text_write(&text, folder));
	CHECK(errno != 0);
	CHECK(stat(arena_text(arena, "%s.tmp", folder), &about) != 0);
	CHECK(!text_write(&text, arena_text(arena, "%s/no/f", folder)));
	CHECK_INT(errno, ENOENT);
	link = arena_text(arena, "%s/null", folder);
	CHECK(!symlink("/dev/null", link) && text_write(&text, link));
	CHECK(!lstat(link, &about) && S_ISLNK(about.st_mode));
	unlink(link);
	CHECK(!text_read(arena, folder, &length));
	CHECK_INT(errno, EISDIR);
	CHECK(!text_read(arena, arena_text(arena, "%s/none", folder), &length));
	CHECK_INT(errno, ENOENT);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	struct arena *arena = arena_new();

	indentation(arena);
	growing(arena);
	json(arena);
	files(arena);
	arena_delete(arena);
	return check_done();
}
