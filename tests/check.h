/* SPDX-License-Identifier: Apache-2.0 */
/* Checks for unit tests: each prints place and both values when it fails; the test goes on.
 * A test ends with `return check_done();`. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdio.h>
#include <string.h>

static int check_failures;

static inline void check_text(const char *file, int line, const char *what, const char *got,
			      const char *want)
{
	if (got && want ? !strcmp(got, want) : got == want)
		return;
	check_failures++;
	fprintf(stderr, "%s:%d: %s\n---- got\n%s\n---- want\n%s\n----\n", file, line, what,
		got ? got : "(null)", want ? want : "(null)");
}

static inline void check_number(const char *file, int line, const char *what, long long got,
				long long want)
{
	if (got == want)
		return;
	check_failures++;
	fprintf(stderr, "%s:%d: %s: got %lld, want %lld\n", file, line, what, got, want);
}

static inline void check_double(const char *file, int line, const char *what, double got,
				double want)
{
	if (got == want || (got != got && want != want))
		return;
	check_failures++;
	fprintf(stderr, "%s:%d: %s: got %.17g, want %.17g\n", file, line, what, got, want);
}

static inline void check_that(const char *file, int line, const char *what, int holds)
{
	if (holds)
		return;
	check_failures++;
	fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
}

#define CHECK(condition) check_that(__FILE__, __LINE__, #condition, !!(condition))
#define CHECK_INT(got, want)                                                                       \
	check_number(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define CHECK_TEXT(got, want) check_text(__FILE__, __LINE__, #got, (got), (want))
#define CHECK_DOUBLE(got, want) check_double(__FILE__, __LINE__, #got, (got), (want))

/* Exit code of the test. */
static inline int check_done(void)
{
	if (check_failures)
		fprintf(stderr, "%d failed\n", check_failures);
	return check_failures ? 1 : 0;
}

/* Ends a test that cannot run here, with the reason. */
#define CHECK_SKIP(reason)                                                                         \
	do {                                                                                       \
		puts("skipped: " reason);                                                          \
		return 77;                                                                         \
	} while (0)

#endif
