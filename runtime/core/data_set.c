/* SPDX-License-Identifier: Apache-2.0 */
/* Files of tokens. bytes: every byte is a token. tokens: uint16, little-endian, either bare or
 * after the 1024-byte header of llm.c: 256 int32, of them magic number, version, count, then zeros.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rt_status.h"
#include "core/data.h"

enum { HEADER = 1024, MAGIC = 20240520, VERSION = 1 };

static int32_t word(const struct data_file *file, int index)
{
	const unsigned char *at = file->at + 4 * index;
	return (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
			 (uint32_t)at[3] << 24);
}

/* A header has zeros from word 3 on; text never has. */
static bool has_header(const struct data_file *file)
{
	if (file->bytes < HEADER)
		return file->bytes >= 4 && word(file, 0) == MAGIC;
	if (word(file, 0) == MAGIC)
		return true;
	for (int i = 3; i < HEADER / 4; i++)
		if (word(file, i) != 0)
			return false;
	return word(file, 0) != 0;
}

static int read_header(struct data_file *file)
{
	if (file->bytes < HEADER)
		return rt_fail("data file `%s`: ends inside its header, at offset %lld", file->path,
			       (long long)file->bytes);
	if (word(file, 0) != MAGIC)
		return rt_fail("data file `%s`: magic number %d at offset 0, not %d", file->path,
			       word(file, 0), MAGIC);
	if (word(file, 1) != VERSION)
		return rt_fail("data file `%s`: version %d at offset 4, not %d", file->path,
			       word(file, 1), VERSION);
	if (word(file, 2) != (file->bytes - HEADER) / 2)
		return rt_fail("data file `%s`: a count of %d at offset 8, but %lld tokens follow",
			       file->path, word(file, 2), (long long)(file->bytes - HEADER) / 2);
	file->header = HEADER;
	return 0;
}

static int count_tokens(const struct data_set *set, struct data_file *file)
{
	if (set->kind == RT_DATA_BYTES) {
		file->count = file->bytes;
		return 0;
	}
	if (has_header(file) && read_header(file) != 0)
		return -1;
	if (file->bytes % 2 != 0)
		return rt_fail(
			"data file `%s`: an odd number of bytes, half a token at offset %lld",
			file->path, (long long)file->bytes - 1);
	file->count = (file->bytes - file->header) / 2;
	return 0;
}

static int map_file(struct data_file *file, int fd)
{
	struct stat status;
	if (fstat(fd, &status) != 0)
		return rt_fail("data file `%s`: %s", file->path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return rt_fail("data file `%s`: not a regular file", file->path);
	if (status.st_size == 0)
		return rt_fail("data file `%s`: empty, no token at offset 0", file->path);
	void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return rt_fail("data file `%s`: %s", file->path, strerror(errno));
	file->at = at;
	file->bytes = status.st_size;
	return 0;
}

static int open_file(struct data_set *set, struct data_file *file, const char *path)
{
	file->path = strdup(path);
	if (file->path == NULL)
		return rt_fail("out of memory for the data file `%s`", path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return rt_fail("data file `%s`: %s", path, strerror(errno));
	int failed = map_file(file, fd);
	close(fd);
	if (failed || count_tokens(set, file) != 0)
		return -1;
	file->first = set->tokens;
	set->tokens += file->count;
	return 0;
}

static int open_files(struct data_set *set, const glob_t *paths)
{
	set->files = calloc(paths->gl_pathc, sizeof *set->files);
	if (set->files == NULL)
		return rt_fail("out of memory for %zu data files", paths->gl_pathc);
	for (size_t i = 0; i < paths->gl_pathc; i++)
		if (open_file(set, &set->files[set->nfiles++], paths->gl_pathv[i]) != 0)
			return -1;
	return 0;
}

int data_set_open(struct data_set *set, const struct rt_data *from, int64_t vocab)
{
	memset(set, 0, sizeof *set);
	set->kind = from->kind;
	set->vocab = vocab;
	glob_t paths = {0};
	int found = from->glob != NULL ? glob(from->glob, 0, NULL, &paths) : GLOB_NOMATCH;
	int failed = 0;
	if (found == GLOB_NOMATCH)
		failed = rt_fail("no data file matches `%s`", from->glob != NULL ? from->glob : "");
	else if (found != 0)
		failed = rt_fail("cannot read the folder of `%s`", from->glob);
	else
		failed = open_files(set, &paths);
	globfree(&paths);
	return failed;
}

void data_release(const struct data *data)
{
	for (int k = 0; k < 2; k++) {
		const struct data_set *set = &data->sets[k];
		for (int i = 0; i < set->nfiles; i++)
			madvise((void *)(uintptr_t)set->files[i].at, (size_t)set->files[i].bytes,
				MADV_DONTNEED);
	}
}

void data_set_close(struct data_set *set)
{
	for (int i = 0; i < set->nfiles; i++) {
		if (set->files[i].at != NULL)
			munmap((void *)(uintptr_t)set->files[i].at, (size_t)set->files[i].bytes);
		free(set->files[i].path);
	}
	free(set->files);
	memset(set, 0, sizeof *set);
}

static const struct data_file *file_of(const struct data_set *set, int64_t index)
{
	int low = 0, high = set->nfiles - 1;
	while (low < high) {
		int middle = (low + high + 1) / 2;
		if (set->files[middle].first <= index)
			low = middle;
		else
			high = middle - 1;
	}
	return &set->files[low];
}

static int32_t token_of(const struct data_set *set, const struct data_file *file, int64_t index)
{
	int64_t at = index - file->first;
	if (set->kind == RT_DATA_BYTES)
		return file->at[at];
	const unsigned char *two = file->at + file->header + 2 * at;
	return two[0] | two[1] << 8;
}

int32_t data_token(const struct data_set *set, int64_t index)
{
	return token_of(set, file_of(set, index), index);
}

static int bad_token(const struct data_set *set, const struct data_file *file, int64_t index,
		     int32_t token)
{
	int64_t width = set->kind == RT_DATA_BYTES ? 1 : 2;
	int64_t offset = file->header + width * (index - file->first);
	return rt_fail("data file `%s`: token %d at offset %lld, the vocabulary has %lld",
		       file->path, token, (long long)offset, (long long)set->vocab);
}

/* Tokens first .. first + count into `out` unless NULL; stops at the first outside the vocabulary.
 */
static int read_tokens(const struct data_set *set, int64_t first, int64_t count, int32_t *out)
{
	const struct data_file *file = file_of(set, first);
	for (int64_t i = 0; i < count; i++) {
		while (first + i >= file->first + file->count)
			file++;
		int32_t token = token_of(set, file, first + i);
		if (token >= set->vocab)
			return bad_token(set, file, first + i, token);
		if (out != NULL)
			out[i] = token;
	}
	return 0;
}

int data_set_check(const struct data_set *set)
{
	int64_t kinds = set->kind == RT_DATA_BYTES ? 256 : 65536;
	return set->vocab >= kinds ? 0 : read_tokens(set, 0, set->tokens, NULL);
}

int data_window(const struct data_view *view, int64_t window, int64_t length, int32_t *inputs,
		int32_t *targets)
{
	int64_t first = view->first + window * length;
	if (inputs != NULL && read_tokens(view->set, first, length, inputs) != 0)
		return -1;
	return targets != NULL ? read_tokens(view->set, first + 1, length, targets) : 0;
}
