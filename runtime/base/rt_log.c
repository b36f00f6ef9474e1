/* SPDX-License-Identifier: Apache-2.0 */
/* Lines are put together first and written once: ranks share the descriptor. */
#include "base/rt_log.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 2048 };

static const char *program = "planc";

void rt_log_name(const char *name)
{
	program = name;
}

int rt_write(int fd, const void *bytes, size_t count)
{
	const char *at = bytes;
	while (count > 0) {
		ssize_t wrote = write(fd, at, count);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return -1;
		at += wrote;
		count -= (size_t)wrote;
	}
	return 0;
}

static void add_list(struct rt_text *text, const char *format, va_list args)
{
	size_t room = text->room - text->used;
	int length = vsnprintf(text->at + text->used, room, format, args);
	if (length < 0 || (size_t)length >= room) {
		text->full = true;
		text->at[text->used] = '\0';
		return;
	}
	text->used += (size_t)length;
}

void rt_text_clear(struct rt_text *text)
{
	text->used = 0;
	text->full = false;
	text->at[0] = '\0';
}

void rt_text_add(struct rt_text *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add_list(text, format, args);
	va_end(args);
}

void rt_log(const char *format, ...)
{
	char line[LINE];
	struct rt_text text = {.at = line, .room = sizeof line - 1};
	rt_text_add(&text, "%s: ", program);
	va_list args;
	va_start(args, format);
	add_list(&text, format, args);
	va_end(args);
	for (size_t i = 0; i < text.used; i++)
		if ((unsigned char)line[i] < ' ') /* of a file's name */
			line[i] = '?';
	line[text.used++] = '\n';
	rt_write(STDERR_FILENO, line, text.used);
}

/* Length of the UTF-8 sequence at `s`, 0 where there is none. Overlong forms and surrogates are
 * none. */
static int sequence(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	int length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (int i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
		return 0;
	if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

void rt_text_json(struct rt_text *text, const char *string)
{
	rt_text_add(text, "\"");
	for (const unsigned char *s = (const unsigned char *)string; *s != '\0';) {
		int length = sequence(s);
		if (length == 0)
			rt_text_add(text, "\\ufffd");
		else if (*s == '"' || *s == '\\')
			rt_text_add(text, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			rt_text_add(text, "\\u%04x", *s);
		else
			rt_text_add(text, "%.*s", length, (const char *)s);
		s += length > 0 ? length : 1;
	}
	rt_text_add(text, "\"");
}

void rt_text_number(struct rt_text *text, double value)
{
	if (isfinite(value))
		rt_text_add(text, "%.17g", value);
	else
		rt_text_add(text, "null");
}

const char *rt_bytes(char *out, int64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	int unit = 0;
	while (fabs(value) >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	snprintf(out, 32, unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
	return out;
}
