/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as programs write it, read from front to end. A fault is kept and ends every loop; texts lie
 * in the arena. */
#ifndef REHEARSE_SCAN_JSON_H
#define REHEARSE_SCAN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct scan {
	const char *at;
	struct arena *arena;
	bool faulty; /* the text is no JSON, or not what was asked for */
};

struct scan scan_new(const char *text, size_t length, struct arena *arena);

/* Every member of an object, its value then being next:
 * scan_open(s, '{'); while ((key = scan_key(s))) ...; which reads the closing bracket too. */
void scan_open(struct scan *scan, char bracket);
const char *scan_key(struct scan *scan);
/* Every element of a list: scan_open(s, '['); while (scan_element(s)) ...; */
bool scan_element(struct scan *scan);

/* The value that is next. A number where there is null: NaN. */
const char *scan_text(struct scan *scan);
double scan_number(struct scan *scan);
void scan_skip(struct scan *scan);

/* Nothing but blanks is left. */
bool scan_done(struct scan *scan);

#endif
