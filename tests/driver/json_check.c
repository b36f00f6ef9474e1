/* SPDX-License-Identifier: Apache-2.0 */
/* json_check PATH: reads one JSON document from standard input, prints the value at a path such as
 * `diagnostics.0.code`; fails if the text is no document, holds more than one, or lacks the
 * path. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *step(json_t *value, const char *name)
{
	char *end;
	unsigned long index = strtoul(name, &end, 10);

	if (json_is_array(value) && !*end)
		return json_array_get(value, index);
	return json_object_get(value, name);
}

static void print(const json_t *value)
{
	if (json_is_string(value))
		puts(json_string_value(value));
	else if (json_is_integer(value))
		printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
	else if (json_is_real(value))
		printf("%.17g\n", json_real_value(value));
	else if (json_is_boolean(value))
		puts(json_is_true(value) ? "true" : "false");
	else
		puts(json_is_array(value) ? "array" : json_is_object(value) ? "object" : "other");
}

int main(int argc, char **argv)
{
	json_error_t error;
	json_t *document = json_loadf(stdin, 0, &error), *value = document;

	if (!document) {
		fprintf(stderr, "%d:%d: %s\n", error.line, error.column, error.text);
		return 1;
	}
	for (char *at = argc > 1 ? strtok(argv[1], ".") : NULL; at && value; at = strtok(NULL, "."))
		value = step(value, at);
	if (value)
		print(value);
	else
		fputs("no such member\n", stderr);
	json_decref(document);
	return !value;
}
