/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/ratio.h"

#define LOWEST ((__int128)((unsigned __int128)1 << 127))

static __int128 divisor(__int128 a, __int128 b)
{
	if (a < 0)
		a = -a;
	while (b) {
		__int128 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static struct ratio lowest(__int128 top, __int128 bottom)
{
	__int128 by = divisor(top, bottom);

	if (by > 1) {
		top /= by;
		bottom /= by;
	}
	return (struct ratio){top, bottom};
}

static bool times(__int128 a, __int128 b, __int128 *out)
{
	/* The lowest number has no opposite, so it counts as an overflow too. */
	return !__builtin_mul_overflow(a, b, out) && *out != LOWEST;
}

struct ratio ratio_from(int64_t value)
{
	return (struct ratio){value, 1};
}

bool ratio_of(struct decimal d, uint64_t scale, uint64_t per, struct ratio *out)
{
	struct ratio value = {d.mantissa, 1}, by = lowest(scale, per);

	for (int k = 0; k < d.exponent; k++)
		if (!times(value.top, 10, &value.top))
			return false;
	for (int k = 0; k > d.exponent; k--) {
		if (!times(value.bottom, 10, &value.bottom))
			return false;
		value = lowest(value.top, value.bottom);
	}
	return ratio_mul(value, by, out);
}

bool ratio_add(struct ratio a, struct ratio b, struct ratio *out)
{
	__int128 by = divisor(a.bottom, b.bottom), left, right, top, bottom;

	if (!times(a.top, b.bottom / by, &left) || !times(b.top, a.bottom / by, &right) ||
	    !times(a.bottom, b.bottom / by, &bottom) || __builtin_add_overflow(left, right, &top))
		return false;
	if (top == LOWEST)
		return false;
	*out = lowest(top, bottom);
	return true;
}

bool ratio_mul(struct ratio a, struct ratio b, struct ratio *out)
{
	struct ratio x = lowest(a.top, b.bottom), y = lowest(b.top, a.bottom);
	__int128 top, bottom;

	if (!times(x.top, y.top, &top) || !times(x.bottom, y.bottom, &bottom))
		return false;
	*out = lowest(top, bottom);
	return true;
}

bool ratio_div(struct ratio a, struct ratio b, struct ratio *out)
{
	struct ratio over = {b.bottom, b.top};

	if (over.bottom < 0)
		over = (struct ratio){-over.top, -over.bottom};
	return ratio_mul(a, over, out);
}

struct ratio ratio_negate(struct ratio a)
{
	return (struct ratio){-a.top, a.bottom};
}

bool ratio_whole(struct ratio a)
{
	return a.bottom == 1;
}

bool ratio_to_int(struct ratio a, int64_t *out)
{
	if (a.bottom != 1 || a.top > INT64_MAX || a.top < INT64_MIN)
		return false;
	*out = (int64_t)a.top;
	return true;
}

/* Rounded once where both parts have at most 53 bits, which every literal of use has. */
double ratio_to_double(struct ratio a)
{
	return (double)a.top / (double)a.bottom;
}

int ratio_compare(struct ratio a, struct ratio b)
{
	__int128 left, right;

	if (times(a.top, b.bottom, &left) && times(b.top, a.bottom, &right))
		return (left > right) - (left < right);
	return (ratio_to_double(a) > ratio_to_double(b)) -
	       (ratio_to_double(a) < ratio_to_double(b));
}
