/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

enum { MOST_DIVISORS = 24, FURTHEST_DIVISOR = 1 << 20, MOST_DIGITS = 9 };

bool num_add(uint64_t a, uint64_t b, uint64_t *out)
{
	uint64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*out = sum;
	return true;
}

bool num_mul(uint64_t a, uint64_t b, uint64_t *out)
{
	uint64_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return false;
	*out = product;
	return true;
}

bool num_align(uint64_t a, uint64_t to, uint64_t *out)
{
	uint64_t over;

	BUG_IF(!to, "alignment to 0");
	over = a % to;
	if (!over) {
		*out = a;
		return true;
	}
	return num_add(a, to - over, out);
}

static struct num sticky(bool fits, uint64_t value)
{
	if (!fits)
		return (struct num){.value = UINT64_MAX, .overflow = true};
	return (struct num){.value = value};
}

struct num num_from(uint64_t value)
{
	return sticky(true, value);
}

struct num num_times(struct num a, uint64_t b)
{
	uint64_t value = 0;
	bool fits = !a.overflow && num_mul(a.value, b, &value);

	return sticky(fits, value);
}

struct num num_plus(struct num a, struct num b)
{
	uint64_t value = 0;
	bool fits = !a.overflow && !b.overflow && num_add(a.value, b.value, &value);

	return sticky(fits, value);
}

struct num num_round_up(struct num a, uint64_t to)
{
	uint64_t value = 0;
	bool fits = !a.overflow && num_align(a.value, to, &value);

	return sticky(fits, value);
}

static uint64_t power_of_ten(int digits)
{
	uint64_t power = 1;

	while (digits-- > 0)
		power *= 10;
	return power;
}

/* value / unit with `digits` decimals as a whole number of its last digit. */
static unsigned __int128 rounded(uint64_t value, uint64_t unit, int digits)
{
	return ((unsigned __int128)value * power_of_ten(digits) + unit / 2) / unit;
}

/* value / unit with `digits` decimals, half away from zero; exact. */
static char *ratio(struct arena *arena, uint64_t value, uint64_t unit, int digits, const char *name)
{
	uint64_t power;
	unsigned __int128 scaled;

	BUG_IF(digits < 0 || digits > MOST_DIGITS, "%d decimals", digits);
	power = power_of_ten(digits);
	scaled = rounded(value, unit, digits);
	if (!digits)
		return arena_text(arena, "%llu %s", (unsigned long long)scaled, name);
	return arena_text(arena, "%llu.%0*llu %s", (unsigned long long)(scaled / power), digits,
			  (unsigned long long)(scaled % power), name);
}

char *num_bytes(struct arena *arena, uint64_t bytes, int digits)
{
	if (bytes >= UINT64_C(1) << 30)
		return num_gib(arena, bytes, digits);
	if (bytes >= UINT64_C(1) << 20)
		return ratio(arena, bytes, UINT64_C(1) << 20, digits, "MiB");
	if (bytes >= UINT64_C(1) << 10)
		return ratio(arena, bytes, UINT64_C(1) << 10, digits, "KiB");
	return arena_text(arena, "%llu B", (unsigned long long)bytes);
}

char *num_gib(struct arena *arena, uint64_t bytes, int digits)
{
	return ratio(arena, bytes, UINT64_C(1) << 30, digits, "GiB");
}

char *num_grouped(struct arena *arena, uint64_t value)
{
	char digits[24], grouped[32];
	int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
	int k = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			grouped[k++] = ' ';
		grouped[k++] = digits[i];
	}
	return arena_copy(arena, grouped, (size_t)k);
}

/* Three significant digits; what rounds up to 1000 takes the next unit. */
char *num_short(struct arena *arena, uint64_t value)
{
	static const char *const names[] = {"", "k", "M", "G", "T", "P", "E"};
	uint64_t unit = 1;
	int i = 0, digits = 2;

	for (; i < 6 && rounded(value, unit, 0) >= 1000; i++)
		unit *= 1000;
	if (!i)
		return arena_text(arena, "%llu", (unsigned long long)value);
	while (digits && rounded(value, unit, digits) >= 1000)
		digits--;
	return ratio(arena, value, unit, digits, names[i]);
}

/* Divisors of `value` up to `limit` in order, at most `room`; returns how many. Looks at candidates
 * up to FURTHEST_DIVISOR and at what they leave, so a huge prime costs no time. */
static uint32_t divisors(uint64_t value, uint64_t limit, uint64_t *out, uint32_t room)
{
	uint64_t last = 0;
	uint32_t n = 0;

	limit = limit < value ? limit : value;
	for (uint64_t i = 1; n < room && i <= limit && i <= value / i; i++) {
		if (i > FURTHEST_DIVISOR)
			break;
		if (value % i)
			continue;
		out[n++] = i;
		last = i;
	}
	for (uint64_t i = last; n < room && i >= 1; i--)
		if (value % i == 0 && value / i > i && value / i <= limit)
			out[n++] = value / i;
	return n;
}

char *num_divisors(struct arena *arena, uint64_t value, uint64_t limit)
{
	uint64_t found[MOST_DIVISORS + 1];
	uint32_t n = divisors(value, limit, found, MOST_DIVISORS + 1);
	bool more = n > MOST_DIVISORS;
	char *list = arena_text(arena, "%llu", n ? (unsigned long long)found[0] : 1);

	n = more ? MOST_DIVISORS : n;
	for (uint32_t i = 1; i < n; i++)
		list = arena_text(arena, "%s%s%llu", list, i + 1 == n && !more ? " or " : ", ",
				  (unsigned long long)found[i]);
	return more ? arena_text(arena, "%s, ...", list) : list;
}

/* Bytes of the locale's decimal point become one '.'. */
static void point(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (strchr("0123456789+-e", *from))
			*to++ = *from;
		else if (to == text || to[-1] != '.')
			*to++ = '.';
	}
	*to = '\0';
}

char *num_double(struct arena *arena, double value)
{
	char text[64];

	if (value != value)
		return arena_text(arena, "nan");
	if (value - value != 0)
		return arena_text(arena, value < 0 ? "-inf" : "inf");
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	point(text);
	return arena_text(arena, "%s", text);
}
