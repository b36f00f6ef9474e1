/* SPDX-License-Identifier: Apache-2.0 */
/* Literals as exact decimals: 0.1 stays one tenth until a unit makes it whole bytes. */
#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGEST_EXPONENT = 64 };

struct reader {
	const char *at, *end;
	struct decimal value;
	int zeros; /* zeros after the point that no other digit has followed yet */
};

static bool is_digit(const struct reader *reader)
{
	return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

static bool push(struct decimal *value, int digit)
{
	return !__builtin_mul_overflow(value->mantissa, (__int128)10, &value->mantissa) &&
	       !__builtin_add_overflow(value->mantissa, (__int128)digit, &value->mantissa);
}

/* One digit after the point. Zeros wait, so that 1.50 is 15 * 10^-1. */
static bool push_fraction(struct reader *reader, int digit)
{
	if (!digit) {
		reader->zeros++;
		return true;
	}
	for (; reader->zeros >= 0; reader->zeros--) {
		if (!push(&reader->value, reader->zeros ? 0 : digit))
			return false;
		reader->value.exponent--;
	}
	reader->zeros = 0;
	return true;
}

/* Digits with single `_` between them. */
static bool read_digits(struct reader *reader, bool fraction)
{
	if (!is_digit(reader))
		return false;
	while (is_digit(reader)) {
		int digit = *reader->at++ - '0';

		if (fraction ? !push_fraction(reader, digit) : !push(&reader->value, digit))
			return false;
		if (reader->at < reader->end && *reader->at == '_') {
			reader->at++;
			if (!is_digit(reader))
				return false;
		}
	}
	return true;
}

/* Adds the written exponent; one over 9999 cannot lead back into the range. */
static bool read_exponent(struct reader *reader)
{
	int exponent = 0, sign = 1;

	if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-'))
		sign = *reader->at++ == '-' ? -1 : 1;
	if (!is_digit(reader))
		return false;
	while (is_digit(reader)) {
		exponent = 10 * exponent + (*reader->at++ - '0');
		if (exponent > 9999)
			return false;
	}
	reader->value.exponent += sign * exponent;
	return true;
}

bool decimal_parse(const char *text, uint32_t length, struct decimal *out)
{
	struct reader reader = {.at = text, .end = text + length};

	if (!read_digits(&reader, false))
		return false;
	if (reader.at < reader.end && *reader.at == '.') {
		reader.at++;
		if (!read_digits(&reader, true))
			return false;
	}
	if (reader.at < reader.end && (*reader.at == 'e' || *reader.at == 'E')) {
		reader.at++;
		if (!read_exponent(&reader))
			return false;
	}
	if (reader.at != reader.end)
		return false;
	if (!reader.value.mantissa)
		reader.value.exponent = 0;
	if (reader.value.exponent > LARGEST_EXPONENT || reader.value.exponent < -LARGEST_EXPONENT)
		return false;
	*out = reader.value;
	return true;
}

/* Takes one factor `prime` out of either; false if neither has it. */
static bool take_out(__int128 *mantissa, uint64_t *scale, int prime)
{
	if (*mantissa % prime == 0)
		*mantissa /= prime;
	else if (*scale % (uint64_t)prime == 0)
		*scale /= (uint64_t)prime;
	else
		return false;
	return true;
}

bool decimal_to_int(struct decimal d, uint64_t scale, int64_t *out)
{
	if (!d.mantissa || !scale) {
		*out = 0;
		return true;
	}
	for (; d.exponent < 0; d.exponent++)
		if (!take_out(&d.mantissa, &scale, 2) || !take_out(&d.mantissa, &scale, 5))
			return false;
	for (; d.exponent > 0; d.exponent--)
		if (__builtin_mul_overflow(d.mantissa, (__int128)10, &d.mantissa))
			return false;
	if (__builtin_mul_overflow(d.mantissa, (__int128)scale, &d.mantissa))
		return false;
	if (d.mantissa > INT64_MAX || d.mantissa < INT64_MIN)
		return false;
	*out = (int64_t)d.mantissa;
	return true;
}

/* Through strtod, which rounds correctly; the text holds no decimal point, so no locale matters. */
double decimal_to_double(struct decimal d)
{
	char text[64];
	char *at = text + 48;
	unsigned __int128 left = (unsigned __int128)d.mantissa;

	if (d.mantissa < 0)
		left = -left;
	snprintf(at, 16, "e%d", d.exponent);
	do {
		*--at = (char)('0' + (int)(left % 10));
		left /= 10;
	} while (left);
	if (d.mantissa < 0)
		*--at = '-';
	return strtod(at, NULL);
}
