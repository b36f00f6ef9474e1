/* SPDX-License-Identifier: Apache-2.0 */
/* json_lines FILE KEY..: every line is a JSON object, else exit code 1. Prints the values of lines
 * that have all keys ("a.b": of an object inside), one line each; no such line: exit code 1. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_t *find(const json_t *object, const char *key)
{
	char part[128];
	for (const char *dot; (dot = strchr(key, '.')) != NULL; key = dot + 1) {
		snprintf(part, sizeof part, "%.*s", (int)(dot - key), key);
		object = json_object_get(object, part);
	}
	return json_object_get(object, key);
}

static int print(const json_t *object, int count, char **keys)
{
	for (int i = 0; i < count; i++)
		if (find(object, keys[i]) == NULL)
			return 0;
	for (int i = 0; i < count; i++) {
		char *text = json_dumps(find(object, keys[i]), JSON_ENCODE_ANY | JSON_COMPACT);
		printf("%s%s", text, i + 1 < count ? " " : "\n");
		free(text);
	}
	return 1;
}

int main(int argc, char **argv)
{
	static char line[1 << 20];
	FILE *file = argc > 2 ? fopen(argv[1], "r") : NULL;
	int number = 0, printed = 0;
	if (file == NULL)
		return 2;
	while (fgets(line, sizeof line, file) != NULL) {
		json_error_t error;
		json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
		number++;
		if (!json_is_object(object)) {
			fprintf(stderr, "%s:%d: %s\n", argv[1], number, error.text);
			return 1;
		}
		printed += print(object, argc - 2, argv + 2);
		json_decref(object);
	}
	fclose(file);
	return printed > 0 ? 0 : 1;
}
