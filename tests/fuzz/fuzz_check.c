/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a plan: all passes and the emitter neither crash nor hang, what each pass makes
 * verifies, each message can be printed. Imports come from the built-in library only. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "../mutate/whole.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct whole whole;
	struct text text;

	whole_open(&whole);
	whole_check(&whole, "input", (const char *)bytes, length);
	whole_messages(&whole);
	text = text_new(whole.keep);
	diags_json(whole.work.diags, &text);
	if (whole.compiled.plan && !whole.work.diags->errors) {
		plan_print(whole.compiled.plan, &whole.work, &text);
		plan_expand(whole.compiled.plan, &whole.work, &text);
	}
	whole_close(&whole);
	return 0;
}
