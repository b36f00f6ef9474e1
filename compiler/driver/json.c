/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/json.h"

#include "base/bug.h"
#include "base/num.h"

struct json json_new(struct text *out)
{
	return (struct json){.out = out};
}

/* The comma before a member and its name. */
static void member(struct json *json, const char *key)
{
	if (json->filled[json->depth])
		text_add(json->out, ", ");
	json->filled[json->depth] = true;
	if (!key)
		return;
	text_json(json->out, key);
	text_add(json->out, ": ");
}

static void begin(struct json *json, const char *key, char start, char end)
{
	member(json, key);
	text_add(json->out, "%c", start);
	json->depth++;
	BUG_IF(json->depth == JSON_DEPTH, "JSON of more than %d levels", JSON_DEPTH);
	json->filled[json->depth] = false;
	json->ends[json->depth] = end;
}

void json_object(struct json *json, const char *key)
{
	begin(json, key, '{', '}');
}

void json_list(struct json *json, const char *key)
{
	begin(json, key, '[', ']');
}

void json_end(struct json *json)
{
	BUG_IF(!json->depth, "JSON that ends twice");
	text_add(json->out, "%c", json->ends[json->depth]);
	if (!--json->depth)
		text_add(json->out, "\n");
}

void json_text(struct json *json, const char *key, const char *value)
{
	member(json, key);
	text_json(json->out, value);
}

void json_number(struct json *json, const char *key, uint64_t value)
{
	member(json, key);
	text_add(json->out, "%llu", (unsigned long long)value);
}

void json_real(struct json *json, const char *key, double value)
{
	member(json, key);
	text_add(json->out, "%s", num_double(json->out->arena, value));
}

void json_bool(struct json *json, const char *key, bool value)
{
	member(json, key);
	text_add(json->out, "%s", value ? "true" : "false");
}

void json_members(struct json *json, const char *members)
{
	member(json, NULL);
	text_add(json->out, "%s", members);
}
