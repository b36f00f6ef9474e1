/* SPDX-License-Identifier: Apache-2.0 */
/* Text to raw tokens: spelling only, line ends and comments included. Used by the parser and by
 * the formatter. */
#ifndef SYNTAX_SCAN_H
#define SYNTAX_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/source.h"
#include "base/vec.h"

/* Kinds beside the token numbers of the grammar; all lie above them. */
enum raw_kind {
	RAW_COMMENT = 1000, /* without the line end; a doc comment too */
	RAW_OPEN_STRING,    /* a string that is not closed on its line */
	RAW_BAD_NUMBER,
	RAW_SEMICOLON,
	RAW_PERCENT,
	RAW_STRAY /* a run of bytes the language has no use for */
};

/* Offsets count from the start of the text. */
struct raw {
	uint32_t lo, hi;
	int kind;
};

struct scan {
	struct arena *arena;
	VEC(struct raw) raw; /* ends in kind 0 */
};

/* All tokens of a source in order. Never fails: bytes of no use become RAW_STRAY. Defined in the
 * grammar folder; linear in time and memory. */
void scan_source(const struct source *source, struct scan *scan);

/* Offset of the first byte that is NUL or breaks UTF-8, or the length if there is none. */
uint32_t scan_utf8(const char *text, uint32_t length);

/* True if the text is a unit of units.def. */
bool scan_unit(const char *text, uint32_t length);

#endif
