/* SPDX-License-Identifier: Apache-2.0 */
/* Checked sizes, exact decimals, printed sizes. */
#include "base/num.h"

#include <math.h>

#include "check.h"

static void checked(void)
{
	uint64_t out = 7;

	CHECK(num_add(1, 2, &out) && out == 3);
	CHECK(!num_add(UINT64_MAX, 1, &out));
	CHECK(!num_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
	CHECK_INT(out, 3);
	CHECK(num_mul(UINT64_C(1) << 32, 3, &out) && out == UINT64_C(3) << 32);
	CHECK(num_align(0, 256, &out) && out == 0);
	CHECK(num_align(257, 256, &out) && out == 512);
	CHECK(num_align(UINT64_MAX - 255, 256, &out) && out == UINT64_MAX - 255);
	CHECK(!num_align(UINT64_MAX - 254, 256, &out));
}

static void sticky(void)
{
	struct num n = num_times(num_from(6), 7);

	CHECK(n.value == 42 && !n.overflow);
	n = num_round_up(num_plus(n, num_from(1)), 16);
	CHECK(n.value == 48 && !n.overflow);
	n = num_times(n, UINT64_MAX);
	CHECK(n.value == UINT64_MAX && n.overflow);
	n = num_round_up(num_plus(num_times(n, 0), num_from(0)), 4);
	CHECK(n.value == UINT64_MAX && n.overflow);
	CHECK(num_plus(num_from(1), n).overflow);
}

static int parse(const char *text, long long mantissa, int exponent)
{
	struct decimal d = {.mantissa = -1};

	if (!decimal_parse(text, (uint32_t)strlen(text), &d))
		return d.mantissa == -1 ? 0 : -1;
	return d.mantissa == mantissa && d.exponent == exponent ? 1 : 2;
}

static void parsing(void)
{
	static const char *const bad[] = {
		"",   "_1", "1_",   "1__0", "1._5", ".5",    "1.",    "1e",   "1e+",
		"e1", "1x", "1.2.3", "+1",  "-1",   "1e65",  "1e99999999999", "1e-65",
		"1000000000000000000000000000000000000000",
		"0.0000000000000000000000000000000000000000000000000000000000000000001",
	};

	CHECK_INT(parse("0", 0, 0), 1);
	CHECK_INT(parse("1_000", 1000, 0), 1);
	CHECK_INT(parse("1.50", 15, -1), 1);
	CHECK_INT(parse("8.00", 8, 0), 1);
	CHECK_INT(parse("1.005", 1005, -3), 1);
	CHECK_INT(parse("1e-5", 1, -5), 1);
	CHECK_INT(parse("2.5E+3", 25, 2), 1);
	CHECK_INT(parse("0e9", 0, 0), 1);
	CHECK_INT(parse("0.000", 0, 0), 1);
	CHECK_INT(parse("1e64", 1, 64), 1);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK_INT(parse(bad[i], 0, 0), 0);
}

/* The integer that `text` * scale is, or -1. */
static long long integer(const char *text, uint64_t scale)
{
	struct decimal d;
	int64_t out = -7;

	if (!decimal_parse(text, (uint32_t)strlen(text), &d))
		return -2;
	return decimal_to_int(d, scale, &out) ? out : -1;
}

static void integers(void)
{
	CHECK_INT(integer("1.5", UINT64_C(1) << 30), 1610612736);
	CHECK_INT(integer("0.1", 10), 1);
	CHECK_INT(integer("0.1", UINT64_C(1) << 30), -1);
	CHECK_INT(integer("0.0000000000000000000000000000000000000001", 1), -1);
	CHECK_INT(integer("9223372036854775807", 1), INT64_MAX);
	CHECK_INT(integer("9223372036854775808", 1), -1);
	CHECK_INT(integer("1e64", UINT64_MAX), -1);
	CHECK_INT(integer("0", UINT64_MAX), 0);
	CHECK_INT(integer("12.5", 1000000000), 12500000000);
	CHECK_INT(integer("170141183460469231731687303715884105727", 2), -1);
}

static double real(const char *text)
{
	struct decimal d = {0};

	CHECK(decimal_parse(text, (uint32_t)strlen(text), &d));
	return decimal_to_double(d);
}

static void doubles(struct arena *arena)
{
	CHECK_DOUBLE(real("0.1"), 0.1);
	CHECK_DOUBLE(real("3e-4"), 3e-4);
	CHECK_DOUBLE(real("0"), 0);
	CHECK_DOUBLE(real("1e-64"), 1e-64);
	CHECK_DOUBLE(real("9007199254740993"), 9007199254740992.0);
	CHECK_DOUBLE(decimal_to_double((struct decimal){.mantissa = -25, .exponent = -1}), -2.5);
	CHECK_TEXT(num_double(arena, 0.1), "0.1");
	CHECK_TEXT(num_double(arena, 3e-4), "0.0003");
	CHECK_TEXT(num_double(arena, 1e-5), "1e-05");
	CHECK_TEXT(num_double(arena, 0.1 + 0.2), "0.30000000000000004");
	CHECK_TEXT(num_double(arena, 5e-324), "4.94065645841247e-324");
	CHECK_TEXT(num_double(arena, -0.0), "-0");
	CHECK_TEXT(num_double(arena, 1e300), "1e+300");
	CHECK_TEXT(num_double(arena, INFINITY), "inf");
	CHECK_TEXT(num_double(arena, -INFINITY), "-inf");
	CHECK_TEXT(num_double(arena, NAN), "nan");
}

static void printed(struct arena *arena)
{
	CHECK_TEXT(num_bytes(arena, 0, 2), "0 B");
	CHECK_TEXT(num_bytes(arena, 640, 2), "640 B");
	CHECK_TEXT(num_bytes(arena, 1536, 1), "1.5 KiB");
	CHECK_TEXT(num_bytes(arena, UINT64_C(3) << 20, 2), "3.00 MiB");
	CHECK_TEXT(num_bytes(arena, UINT64_C(13539884400), 2), "12.61 GiB");
	CHECK_TEXT(num_gib(arena, UINT64_C(1) << 29, 2), "0.50 GiB");
	CHECK_TEXT(num_gib(arena, UINT64_MAX, 0), "17179869184 GiB");
	CHECK_TEXT(num_grouped(arena, 0), "0");
	CHECK_TEXT(num_grouped(arena, 999), "999");
	CHECK_TEXT(num_grouped(arena, 1048576), "1 048 576");
	CHECK_TEXT(num_grouped(arena, UINT64_MAX), "18 446 744 073 709 551 615");
	CHECK_TEXT(num_short(arena, 960), "960");
	CHECK_TEXT(num_short(arena, 1000), "1.00 k");
	CHECK_TEXT(num_short(arena, 1048576), "1.05 M");
	CHECK_TEXT(num_short(arena, 124439808), "124 M");
	CHECK_TEXT(num_short(arena, UINT64_C(7000000000)), "7.00 G");
	CHECK_TEXT(num_short(arena, UINT64_C(8030261248)), "8.03 G");
	CHECK_TEXT(num_short(arena, 11600000), "11.6 M");
	CHECK_TEXT(num_short(arena, 9995), "10.0 k");
	CHECK_TEXT(num_short(arena, 999499), "999 k");
	CHECK_TEXT(num_short(arena, 999500), "1.00 M");
	CHECK_TEXT(num_short(arena, UINT64_MAX), "18.4 E");
}

static void divisors(struct arena *arena)
{
	CHECK_TEXT(num_divisors(arena, 8, 8), "1, 2, 4 or 8");
	CHECK_TEXT(num_divisors(arena, 8, 4), "1, 2 or 4");
	CHECK_TEXT(num_divisors(arena, 1, 100), "1");
	CHECK_TEXT(num_divisors(arena, 36, 36), "1, 2, 3, 4, 6, 9, 12, 18 or 36");
	CHECK_TEXT(num_divisors(arena, 50257, 8), "1");
	CHECK_TEXT(num_divisors(arena, UINT64_C(18446744073709551557), UINT64_MAX),
		   "1 or 18446744073709551557");
	CHECK_TEXT(num_divisors(arena, 720720, 1000),
		   "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 21, 22, 24, "
		   "26, 28, 30, ...");
}

int main(void)
{
	struct arena *arena = arena_new();

	checked();
	sticky();
	parsing();
	integers();
	doubles(arena);
	printed(arena);
	divisors(arena);
	arena_delete(arena);
	return check_done();
}
