/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as it is written: objects, lists, members in the order of the calls. */
#ifndef DRIVER_JSON_H
#define DRIVER_JSON_H

#include <stdint.h>

#include "base/text.h"

enum { JSON_DEPTH = 16 };

struct json {
	struct text *out;
	int depth;
	bool filled[JSON_DEPTH]; /* something stands before, at this depth */
	char ends[JSON_DEPTH];
};

struct json json_new(struct text *out);
/* key NULL: an element of a list, or the whole document. json_end closes what was opened last; the
 * document ends in a newline. */
void json_object(struct json *json, const char *key);
void json_list(struct json *json, const char *key);
void json_end(struct json *json);
void json_text(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, uint64_t value);
void json_real(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
/* Members that are JSON already, with commas between them. */
void json_members(struct json *json, const char *members);

#endif
