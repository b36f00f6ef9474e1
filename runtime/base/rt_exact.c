/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/exact.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { DIGIT = 32, TOP = RT_EXACT_LOW + DIGIT * RT_EXACT_DIGITS - 2 };

/* Of an IEEE 754 double: |value| = mantissa x 2^exponent. */
enum { MANTISSA = 52, EXPONENTS = 0x7ff, BIAS = 1075 };

struct parts {
	bool negative;
	int field; /* of the exponent as it is stored */
	uint64_t mantissa;
};

static struct parts parts_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	struct parts parts = {
		.negative = bits >> 63,
		.field = (int)(bits >> MANTISSA) & EXPONENTS,
		.mantissa = bits & (((uint64_t)1 << MANTISSA) - 1),
	};
	if (parts.field > 0)
		parts.mantissa |= (uint64_t)1 << MANTISSA;
	return parts;
}

static void add_digits(int64_t *words, uint64_t bits, int at, int64_t sign)
{
	int word = at / DIGIT, shift = at % DIGIT;
	uint64_t low = (bits & 0xffffffffu) << shift, high = (bits >> DIGIT) << shift;
	uint64_t digits[3] = {low & 0xffffffffu, (low >> DIGIT) + (high & 0xffffffffu),
			      high >> DIGIT};
	for (int i = 0; i < 3 && word + i < RT_EXACT_DIGITS; i++)
		words[word + i] += sign * (int64_t)digits[i];
}

void rt_exact_add(int64_t *words, double value)
{
	struct parts parts = parts_of(value);
	int exponent = (parts.field > 0 ? parts.field : 1) - BIAS, at = exponent - RT_EXACT_LOW;
	if (isnan(value))
		words[RT_EXACT_NAN]++;
	else if (exponent + MANTISSA + 1 > TOP)
		words[RT_EXACT_INFINITE]++;
	else if (at >= 0)
		add_digits(words, parts.mantissa, at, parts.negative ? -1 : 1);
	else if (at > -64)
		add_digits(words, parts.mantissa >> -at, 0, parts.negative ? -1 : 1);
}

void rt_exact_carry(int64_t *words)
{
	for (int i = 0; i + 1 < RT_EXACT_DIGITS; i++) {
		int64_t low = words[i] & 0xffffffff;
		words[i + 1] += (words[i] - low) / ((int64_t)1 << DIGIT);
		words[i] = low;
	}
}

/* A non-negative carried number: its three highest digits hold the 53 bits and at least 11 more;
 * every lower bit that is set is folded into the last one, so that the one rounding is right. */
static double rounded(const int64_t *digits)
{
	int top = RT_EXACT_DIGITS - 1;
	while (top > 0 && digits[top] == 0)
		top--;
	unsigned __int128 head = 0;
	for (int i = top; i > top - 3; i--)
		head = head << DIGIT | (uint64_t)(i >= 0 ? digits[i] : 0);
	int shift = 0;
	while (head >> shift > UINT64_MAX)
		shift++;
	bool rest = head >> shift << shift != head;
	for (int i = 0; !rest && i < top - 2; i++)
		rest = digits[i] != 0;
	uint64_t bits = (uint64_t)(head >> shift);
	return ldexp((double)(bits | rest), DIGIT * (top - 2) + shift + RT_EXACT_LOW);
}

double rt_exact_value(const int64_t *words)
{
	int64_t carried[RT_EXACT_WORDS];
	memcpy(carried, words, sizeof(carried));
	if (words[RT_EXACT_NAN] != 0)
		return NAN;
	if (words[RT_EXACT_INFINITE] != 0)
		return INFINITY;
	rt_exact_carry(carried);
	bool negative = carried[RT_EXACT_DIGITS - 1] < 0;
	if (negative) {
		for (int i = 0; i < RT_EXACT_DIGITS; i++)
			carried[i] = -carried[i];
		rt_exact_carry(carried);
	}
	return negative ? -rounded(carried) : rounded(carried);
}
