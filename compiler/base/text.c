/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/utf8.h"

enum { FIRST_ROOM = 256, SHORT_LINE = 512 };

struct text text_new(struct arena *arena)
{
	return (struct text){.arena = arena, .line_start = true};
}

/* Room for `more` bytes and a NUL. */
static void reserve(struct text *text, size_t more)
{
	size_t room = text->room ? text->room : FIRST_ROOM;
	char *at;

	if (more >= SIZE_MAX / 4 || text->length >= SIZE_MAX / 4)
		die("out of memory");
	if (text->length + more < text->room)
		return;
	while (room <= text->length + more)
		room *= 2;
	at = arena_alloc(text->arena, room);
	if (text->length)
		memcpy(at, text->at, text->length);
	text->at = at;
	text->room = room;
}

void text_raw(struct text *text, const char *bytes, size_t length)
{
	if (!length)
		return;
	reserve(text, length);
	memcpy(text->at + text->length, bytes, length);
	text->length += length;
	text->at[text->length] = '\0';
	text->line_start = bytes[length - 1] == '\n';
}

/* Lines without text stay empty. */
static void add_lines(struct text *text, const char *line, size_t length)
{
	const char *end = line + length;

	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		if (text->line_start && *line != '\n')
			for (int i = 0; i < text->indent; i++)
				text_raw(text, "\t", 1);
		stop = stop ? stop + 1 : end;
		text_raw(text, line, (size_t)(stop - line));
		line = stop;
	}
}

void text_vadd(struct text *text, const char *format, va_list args)
{
	char brief[SHORT_LINE];
	va_list again;
	int length;

	va_copy(again, args);
	length = vsnprintf(brief, sizeof brief, format, args);
	BUG_IF(length < 0, "a format that printf refuses: %s", format);
	if ((size_t)length < sizeof brief)
		add_lines(text, brief, (size_t)length);
	else
		add_lines(text, arena_vtext(text->arena, format, again), (size_t)length);
	va_end(again);
}

void text_add(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_vadd(text, format, args);
	va_end(args);
}

/* The escape of one character below 0x20, or of a quote or backslash; NULL if it needs none. */
static const char *json_escape(unsigned char c, char room[8])
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\t':
		return "\\t";
	case '\r':
		return "\\r";
	default:
		if (c >= 0x20 && c != 0x7f)
			return NULL;
		snprintf(room, 8, "\\u%04x", c);
		return room;
	}
}

void text_json(struct text *text, const char *string)
{
	size_t left = strlen(string);

	add_lines(text, "\"", 1);
	while (left) {
		uint32_t code, bytes = utf8_decode(string, left, &code);
		char room[8];
		const char *escape = json_escape((unsigned char)*string, room);

		if (!bytes)
			text_raw(text, "\xef\xbf\xbd", 3);
		else if (escape)
			text_raw(text, escape, strlen(escape));
		else
			text_raw(text, string, bytes);
		bytes = bytes ? bytes : 1;
		string += bytes;
		left -= bytes;
	}
	text_raw(text, "\"", 1);
}

static bool write_all(int file, const char *at, size_t length)
{
	while (length) {
		ssize_t n = write(file, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		at += n;
		length -= (size_t)n;
	}
	return true;
}

/* A device, a pipe, a link: written to, never replaced. */
static bool special(const char *path)
{
	struct stat about;

	return !lstat(path, &about) && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

static bool write_file(const struct text *text, const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), fault = 0;

	if (file < 0)
		return false;
	if (!write_all(file, text->at, text->length))
		fault = errno;
	if (close(file) && !fault)
		fault = errno;
	errno = fault;
	return !fault;
}

bool text_stage(const struct text *text, const char *path, struct staged *out)
{
	*out = (struct staged){.path = path};
	if (special(path))
		return write_file(text, path);
	out->beside = arena_text(text->arena, "%s.%ld.tmp", path, (long)getpid());
	if (write_file(text, out->beside))
		return true;
	staged_drop(out);
	return false;
}

bool staged_take(const struct staged *staged)
{
	if (!staged->beside || !rename(staged->beside, staged->path))
		return true;
	staged_drop(staged);
	return false;
}

void staged_drop(const struct staged *staged)
{
	int fault = errno;

	if (staged->beside)
		unlink(staged->beside);
	errno = fault;
}

bool text_write(const struct text *text, const char *path)
{
	struct staged staged;

	return text_stage(text, path, &staged) && staged_take(&staged);
}

/* Until the end of the file, whatever its announced size: pipes have none. */
static bool read_all(struct text *text, int file)
{
	for (;;) {
		ssize_t n;

		reserve(text, 1 << 14);
		n = read(file, text->at + text->length, text->room - text->length - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return !n;
		text->length += (size_t)n;
		if (text->length > TEXT_LIMIT) {
			errno = EFBIG;
			return false;
		}
	}
}

char *text_read_open(struct arena *arena, int file, size_t *length)
{
	struct text text = text_new(arena);
	struct stat about;

	if (fstat(file, &about))
		return NULL;
	if (S_ISREG(about.st_mode) && about.st_size > 0 && about.st_size <= TEXT_LIMIT)
		reserve(&text, (size_t)about.st_size + (1 << 14));
	if (!read_all(&text, file))
		return NULL;
	text.at[text.length] = '\0';
	*length = text.length;
	return text.at;
}

char *text_read(struct arena *arena, const char *path, size_t *length)
{
	int file = open(path, O_RDONLY | O_CLOEXEC), fault;
	char *text;

	if (file < 0)
		return NULL;
	text = text_read_open(arena, file, length);
	fault = errno;
	close(file);
	errno = fault;
	return text;
}
