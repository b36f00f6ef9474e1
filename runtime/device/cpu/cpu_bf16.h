/* SPDX-License-Identifier: Apache-2.0 */
/* The upper half of a float. */
#ifndef CPU_CPU_BF16_H
#define CPU_CPU_BF16_H

#include <stdint.h>
#include <string.h>

struct bf16 {
	uint16_t bits;
};

static inline float bf16_value(struct bf16 x)
{
	uint32_t bits = (uint32_t)x.bits << 16;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t bf16_float_bits(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* The nearer neighbour, of two equally near ones the even one; NaN stays NaN. */
static inline struct bf16 bf16_nearest(float x)
{
	uint32_t bits = bf16_float_bits(x), half = 0x7fff + (bits >> 16 & 1);
	uint32_t quiet = bits >> 16 | 0x40, near = (bits + half) >> 16;
	return (struct bf16){(uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : near)};
}

/* One of the two neighbours: away from zero with a chance in proportion to what is cut off.
 * `random` is a word of 16 random bits. What bf16 can hold stays; infinity and NaN stay. */
static inline struct bf16 bf16_stochastic(float x, uint32_t random)
{
	uint32_t bits = bf16_float_bits(x), some = (bits + (random & 0xffff)) >> 16;
	uint32_t quiet = bits >> 16 | (bits & 0xffff ? 0x40 : 0);
	return (struct bf16){(uint16_t)((bits & 0x7fffffff) >= 0x7f800000 ? quiet : some)};
}

#endif
