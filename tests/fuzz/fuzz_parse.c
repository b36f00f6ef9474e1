/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: the parser neither crashes nor hangs. Bytes that are a plan: the printed tree reads
 * back as itself, formatting keeps the tree and is at rest after one go. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "../parse/case.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void expect_same(const char *a, const char *b)
{
	if (!a || strcmp(a, b) != 0) {
		fprintf(stderr, "differ:\n%s\n----\n%s\n", a ? a : "(refused)", b);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct arena *arena = arena_new();
	struct work work = case_work(arena);
	const char *text = (const char *)bytes;
	struct node *file = case_parse(&work, "input", text, length);
	const char *printed = case_print(&work, file);

	case_messages(&work);
	if (!work.diags->errors) {
		const char *once = case_format(&work, text, length);

		file = case_parse(&work, "printed", printed, strlen(printed));
		expect_same(case_print(&work, file), printed);
		expect_same(once, once ? once : "");
		file = case_parse(&work, "formatted", once, strlen(once));
		expect_same(case_print(&work, file), printed);
		expect_same(case_format(&work, once, strlen(once)), once);
	}
	arena_delete(arena);
	return 0;
}
