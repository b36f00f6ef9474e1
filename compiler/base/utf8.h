/* SPDX-License-Identifier: Apache-2.0 */
/* One character of UTF-8 text at a time, and how it looks on a terminal. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `text` (1 to 4), its number in *code; 0 if the bytes are no UTF-8
 * (overlong, surrogate, over U+10FFFF, cut off) or `length` is 0. */
uint32_t utf8_decode(const char *text, size_t length, uint32_t *code);

struct glyph {
	char text[12];   /* what is shown, NUL-terminated */
	uint32_t bytes;  /* bytes of the input it stands for, from 1 */
	uint32_t cells;  /* columns on a terminal */
};

/* The character at `text` (`length` > 0) as it is safe to show: a tab as four spaces, control and
 * direction characters as `\x1b` or `\u{202e}`, a byte that is no UTF-8 as `\xff`. */
struct glyph utf8_glyph(const char *text, size_t length);

#endif
