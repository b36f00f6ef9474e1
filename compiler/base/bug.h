/* SPDX-License-Identifier: Apache-2.0 */
/* A fault of planc itself: never a user's. Kept in release builds. */
#ifndef BASE_BUG_H
#define BASE_BUG_H

/* Runs the hook (the driver flushes diagnostics there), prints the place and how to report it on
 * stderr, ends the process with exit code 70. */
_Noreturn void bug_at(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Called once by bug_at before it prints; NULL for none. */
void bug_hook(void (*hook)(void));

/* The machine's fault (no memory, a file that cannot be written): message, exit code 3. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define BUG_IF(condition, ...)                                                                     \
	do {                                                                                       \
		if (condition)                                                                     \
			BUG(__VA_ARGS__);                                                          \
	} while (0)

#endif
