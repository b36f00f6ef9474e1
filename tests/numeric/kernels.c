/* SPDX-License-Identifier: Apache-2.0 */
/* kernels [NAME..]: tests of the rows of kernels.def, all or those named. A row without a test does
 * not link. */
#include <stdio.h>
#include <string.h>

#include "harness.h"

static const struct {
	const char *name;
	void (*test)(void);
} tests[] = {
#define LIB(name) {#name, test_##name},
#define LOOP(name, block, ins, outs, sizes, scalars) {#name, test_##name},
#include "rt/kernels.def"
#undef LIB
#undef LOOP
	{"exact", test_exact},
	{"random", test_random},
	{"matmul_rests", test_matmul_rests},
	{"workspace", test_workspace},
};

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			return true;
	}
	return argc < 2;
}

int main(int argc, char **argv)
{
	devices_open();
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		int before = failures;
		if (!wanted(tests[i].name, argc, argv))
			continue;
		tests[i].test();
		printf("%s: %s\n", tests[i].name, failures == before ? "ok" : "FAILED");
	}
	devices_close();
	return failures != 0;
}
