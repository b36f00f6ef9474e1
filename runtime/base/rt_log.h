/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for people, and the pieces of lines for machines. */
#ifndef RT_LOG_H
#define RT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line "NAME: ..." on standard error, in one write. NAME is the program, see rt_log_name. */
void rt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rt_log_name(const char *name);

/* A text that grows inside a fixed buffer; `full` is set when something did not fit. */
struct rt_text {
	char *at;
	size_t used, room;
	bool full;
};

void rt_text_clear(struct rt_text *text);
void rt_text_add(struct rt_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* `string` as a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD. */
void rt_text_json(struct rt_text *text, const char *string);

/* A number as JSON: 17 digits, or null where it is not finite. */
void rt_text_number(struct rt_text *text, double value);

/* Writes all of it, or gives -1 with errno. */
int rt_write(int fd, const void *bytes, size_t count);

/* "1.234 GiB": bytes for people, in `out` (at least 32 bytes), which it gives back. */
const char *rt_bytes(char *out, int64_t bytes);

#endif
