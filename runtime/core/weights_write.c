/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: length of the header (8 bytes, little-endian), header (JSON), then the tensors
 * without gaps. Nothing is allocated: the header is made twice, once to count its bytes. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rt_log.h"
#include "base/rt_status.h"
#include "core/rt_core.h"
#include "core/weights.h"

static unsigned char buffer[WEIGHTS_BUFFER];

struct writer {
	int fd; /* -1: counts only */
	size_t used;
	int64_t total;
	int error; /* errno of the first write that failed */
};

void weights_warm(void)
{
	memset(buffer, 0, sizeof buffer);
}

static void flush(struct writer *writer)
{
	if (writer->fd >= 0 && writer->error == 0 &&
	    rt_write(writer->fd, buffer, writer->used) != 0)
		writer->error = errno;
	writer->used = 0;
}

static void put(struct writer *writer, const void *bytes, size_t count)
{
	writer->total += (int64_t)count;
	if (writer->fd < 0)
		return;
	if (writer->used + count > sizeof buffer)
		flush(writer);
	memcpy(buffer + writer->used, bytes, count);
	writer->used += count;
}

static int64_t file_bytes(const struct stored *stored)
{
	return stored->outer * stored->inner * (stored->param->type == RT_F64 ? 8 : 4);
}

static void put_entry(struct writer *writer, const struct stored *stored, int64_t offset)
{
	char line[STORED_NAME * 6 + 256];
	struct rt_text text = {.at = line, .room = sizeof line};
	rt_text_clear(&text);
	rt_text_add(&text, ",");
	rt_text_json(&text, stored->name);
	rt_text_add(&text, ":{\"dtype\":\"%s\",\"shape\":[%lld",
		    stored->param->type == RT_F64 ? "F64" : "F32", (long long)stored->outer);
	if (stored->dims == 2)
		rt_text_add(&text, ",%lld", (long long)stored->inner);
	rt_text_add(&text, "],\"data_offsets\":[%lld,%lld]}", (long long)offset,
		    (long long)(offset + file_bytes(stored)));
	put(writer, line, text.used);
}

static void put_header(struct writer *writer, const struct rt_plan *plan)
{
	static const char start[] = "{\"__metadata__\":{\"format\":\"pt\"}";
	struct stored stored;
	int64_t offset = 0;
	put(writer, start, sizeof start - 1);
	for (int64_t i = 0; stored_at(plan, i, &stored); i++) {
		put_entry(writer, &stored, offset);
		offset += file_bytes(&stored);
	}
	put(writer, "}", 1);
}

static void put_length(struct writer *writer, int64_t length)
{
	unsigned char bytes[8];
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(length >> (8 * i));
	put(writer, bytes, sizeof bytes);
}

static int put_tensor(struct writer *writer, struct rt *rt, const struct stored *stored,
		      enum weights_part part, double factor)
{
	struct stored_cursor cursor = {.rank = -1};
	int64_t count = stored->outer * stored->inner;
	for (int64_t i = 0; i < count; i++) {
		const void *at = stored_element(rt, stored, part, i, &cursor);
		if (at == NULL)
			return rt_fail("tensor `%s`: no piece holds its element %lld", stored->name,
				       (long long)i);
		double value = rt_value(at, stored_type(cursor.param, part), 0) * factor;
		float narrow = (float)value;
		if (stored->param->type == RT_F64)
			put(writer, &value, sizeof value);
		else
			put(writer, &narrow, sizeof narrow);
	}
	return 0;
}

static int put_all(struct writer *writer, struct rt *rt, enum weights_part part, double factor)
{
	struct writer counter = {.fd = -1};
	struct stored stored;
	put_header(&counter, rt->plan);
	int64_t padding = (8 - counter.total % 8) % 8;
	put_length(writer, counter.total + padding);
	put_header(writer, rt->plan);
	put(writer, "        ", (size_t)padding);
	for (int64_t i = 0; stored_at(rt->plan, i, &stored); i++)
		if (put_tensor(writer, rt, &stored, part, factor) != 0)
			return -1;
	flush(writer);
	return 0;
}

static void folder_of(const char *path, char folder[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	if (slash == NULL)
		snprintf(folder, PATH_MAX, ".");
	else
		snprintf(folder, PATH_MAX, "%.*s", (int)(slash - path) + 1, path);
}

/* The rename at the end would replace a device by a file. */
int weights_writable(const char *path)
{
	char folder[PATH_MAX];
	struct stat status;
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return rt_fail("cannot write `%s`: not a regular file", path);
	folder_of(path, folder);
	if (access(folder, W_OK | X_OK) != 0)
		return rt_fail("cannot write `%s.tmp`: %s", path, strerror(errno));
	return 0;
}

/* The name itself is durable once its folder is. */
static void sync_folder(const char *path)
{
	char folder[PATH_MAX];
	folder_of(path, folder);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

/* A link stays one: what it leads to is replaced. */
static const char *target_of(const char *path, char real[PATH_MAX])
{
	return realpath(path, real) != NULL ? real : path;
}

static bool temporary_of(const char *target, char temporary[PATH_MAX])
{
	return snprintf(temporary, PATH_MAX, "%s.tmp", target) < PATH_MAX;
}

/* The file beside the target, empty and locked: two runs with one target do not mix. -1: errno says
 * why; EWOULDBLOCK: another run is writing. A run that ends in between takes the name away. */
static int temporary_open(const char *temporary)
{
	for (int tries = 0; tries < 100; tries++) {
		struct stat here, there;
		int fd = open(temporary, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
		if (fd < 0)
			return -1;
		bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
		bool same = locked && fstat(fd, &here) == 0 && stat(temporary, &there) == 0 &&
			    here.st_ino == there.st_ino && here.st_dev == there.st_dev;
		if (same && (here.st_size == 0 || ftruncate(fd, 0) == 0))
			return fd;
		int error = errno;
		close(fd);
		errno = error;
		if (!locked || same)
			return -1;
	}
	errno = EWOULDBLOCK;
	return -1;
}

void weights_forget(const char *path)
{
	char temporary[PATH_MAX], real[PATH_MAX];
	if (!temporary_of(target_of(path, real), temporary) || access(temporary, F_OK) != 0)
		return;
	int fd = temporary_open(temporary);
	if (fd < 0)
		return;
	unlink(temporary);
	close(fd);
}

int weights_write(struct rt *rt, const char *path, enum weights_part part, double factor)
{
	char temporary[PATH_MAX], real[PATH_MAX];
	const char *target = target_of(path, real);
	if (!temporary_of(target, temporary))
		return rt_fail("cannot write `%s`: the name is too long", path);
	struct writer writer = {.fd = temporary_open(temporary)};
	if (writer.fd < 0)
		return rt_fail("cannot write `%s`: %s", temporary,
			       errno == EWOULDBLOCK ? "another run is writing it"
						    : strerror(errno));
	int failed = put_all(&writer, rt, part, factor);
	if (writer.error == 0 && fsync(writer.fd) != 0)
		writer.error = errno;
	if (!failed && writer.error == 0 && rename(temporary, target) != 0)
		writer.error = errno;
	if (failed || writer.error != 0)
		unlink(temporary);
	if (close(writer.fd) != 0 && writer.error == 0)
		writer.error = errno;
	if (writer.error != 0)
		return rt_fail("cannot write `%s`: %s", path, strerror(writer.error));
	sync_folder(target);
	return failed;
}
