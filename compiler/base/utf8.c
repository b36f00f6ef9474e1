/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Bytes that a lead byte announces, and the bits of the number it holds itself. */
static uint32_t lead(unsigned char byte, uint32_t *bits)
{
	uint32_t bytes = 0;

	if (byte < 0x80)
		bytes = 1;
	else if (byte >= 0xc2 && byte < 0xe0)
		bytes = 2;
	else if (byte >= 0xe0 && byte < 0xf0)
		bytes = 3;
	else if (byte >= 0xf0 && byte < 0xf5)
		bytes = 4;
	*bits = bytes == 1 ? byte : byte & (0x7fu >> bytes);
	return bytes;
}

uint32_t utf8_decode(const char *text, size_t length, uint32_t *code)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t bits = 0, bytes;

	if (!length)
		return 0;
	bytes = lead((unsigned char)text[0], &bits);
	if (!bytes || bytes > length)
		return 0;
	for (uint32_t i = 1; i < bytes; i++) {
		unsigned char next = (unsigned char)text[i];

		if ((next & 0xc0) != 0x80)
			return 0;
		bits = bits << 6 | (next & 0x3f);
	}
	if (bits < smallest[bytes] || bits > 0x10ffff || (bits >= 0xd800 && bits < 0xe000))
		return 0;
	*code = bits;
	return bytes;
}

struct range {
	uint32_t first, last;
};

static bool within(uint32_t code, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

#define WITHIN(code, table) within((code), (table), sizeof(table) / sizeof *(table))

/* Characters that would move, hide or reorder what stands beside them. */
static const struct range hidden[] = {
	{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x061c, 0x061c},
	{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff},
	{0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

static const struct range combining[] = {
	{0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
	{0xfe20, 0xfe2f},
};

static const struct range wide[] = {
	{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
	{0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static uint32_t cells_of(uint32_t code)
{
	if (WITHIN(code, combining))
		return 0;
	return WITHIN(code, wide) ? 2 : 1;
}

struct glyph utf8_glyph(const char *text, size_t length)
{
	struct glyph glyph = {.cells = 1};
	uint32_t code = 0;

	glyph.bytes = utf8_decode(text, length, &code);
	if (code == '\t') {
		memset(glyph.text, ' ', 4);
		glyph.cells = 4;
	} else if (!glyph.bytes || (code < 0x80 && WITHIN(code, hidden))) {
		glyph.bytes = 1;
		glyph.cells = (uint32_t)snprintf(glyph.text, sizeof glyph.text, "\\x%02x",
						 (unsigned char)text[0]);
	} else if (WITHIN(code, hidden)) {
		glyph.cells = (uint32_t)snprintf(glyph.text, sizeof glyph.text, "\\u{%x}", code);
	} else {
		memcpy(glyph.text, text, glyph.bytes);
		glyph.cells = cells_of(code);
	}
	return glyph;
}
