/* SPDX-License-Identifier: Apache-2.0 */
/* replay COUNT FILE...: runs a fuzz target on files and on COUNT scrambled copies of each, the same
 * ones every time. Stands in for the fuzzer where there is none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static uint64_t state = 1;

/* A number below `limit` (> 0), by a linear congruence. */
static size_t below(size_t limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(state >> 33) % limit;
}

/* A few changes: a byte set, a run removed, a run copied over another place. */
static size_t scramble(char *text, size_t length)
{
	static const char bytes[] = "{}()[]=,.:;\"\\\n %/-+*<>0a\x80";

	for (size_t turns = 1 + below(4); turns && length > 1; turns--) {
		size_t at = below(length), from = below(length);
		size_t run = 1 + below(length - (at > from ? at : from));

		switch (below(3)) {
		case 0:
			text[at] = bytes[below(sizeof bytes)];
			break;
		case 1:
			run = run > 40 ? 40 : run;
			memmove(text + at, text + at + run, length - at - run);
			length -= run;
			break;
		default:
			memmove(text + at, text + from, run);
			break;
		}
	}
	return length;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

	for (int i = 2; i < argc; i++) {
		struct arena *arena = arena_new();
		size_t length;
		char *text = text_read(arena, argv[i], &length);

		if (!text) {
			perror(argv[i]);
			return 1;
		}
		LLVMFuzzerTestOneInput((const uint8_t *)text, length);
		for (long k = 0; k < count; k++) {
			char *copy = arena_copy(arena, text, length);
			size_t left = scramble(copy, length);

			LLVMFuzzerTestOneInput((const uint8_t *)copy, left);
		}
		arena_delete(arena);
	}
	printf("%d files\n", argc - 2);
	return 0;
}
