/* SPDX-License-Identifier: Apache-2.0 */
#include "core/files.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rt_status.h"
#include "core/data.h"
#include "core/rt_options.h"

static bool same_node(const char *a, const char *b)
{
	struct stat left, right;
	return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

/* "folder/" or "." of a path; gives the name in it. */
static const char *split(const char *path, char folder[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int length = slash != NULL ? (int)(slash - path) + 1 : 1;
	snprintf(folder, PATH_MAX, "%.*s", length, slash != NULL ? path : ".");
	return slash != NULL ? slash + 1 : path;
}

/* Also of files that are not there yet. */
static bool same_file(const char *a, const char *b)
{
	char left[PATH_MAX], right[PATH_MAX];
	struct stat status;
	if (a == NULL || b == NULL)
		return false;
	if (stat(a, &status) == 0 && !S_ISREG(status.st_mode)) /* a device or a pipe */
		return false;
	return same_node(a, b) ||
	       (strcmp(split(a, left), split(b, right)) == 0 && same_node(left, right));
}

static int check_data(const char *option, const char *path, const struct data *data)
{
	for (int i = 0; path != NULL && i < 2; i++)
		for (int k = 0; k < data->sets[i].nfiles; k++)
			if (same_file(path, data->sets[i].files[k].path))
				return rt_fail("option `--%s`: `%s` is a file of the data", option,
					       path);
	return 0;
}

int files_check(const struct rt_options *options, const struct data *data)
{
	enum { LOG, GRADIENTS, SAVE, INIT };
	const struct {
		const char *name, *path;
	} files[] = {{"log", options->log},
		     {"dump-gradients", options->dump_gradients},
		     {"save", options->save},
		     {"init", options->init}};
	for (int i = LOG; i < INIT; i++) {
		RT_TRY(check_data(files[i].name, files[i].path, data));
		for (int k = i + 1; k <= (i == SAVE ? SAVE : INIT); k++)
			if (same_file(files[i].path, files[k].path))
				return rt_fail("options `--%s` and `--%s` name one file, `%s`",
					       files[i].name, files[k].name, files[i].path);
	}
	return 0;
}
