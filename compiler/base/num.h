/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on sizes that tells when it overflows, and the one way sizes are printed. */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* False on overflow; *out is then untouched. */
bool num_add(uint64_t a, uint64_t b, uint64_t *out);
bool num_mul(uint64_t a, uint64_t b, uint64_t *out);
/* a rounded up to a multiple of `to` (> 0). */
bool num_align(uint64_t a, uint64_t to, uint64_t *out);

/* Sticky form: once one step overflows, `overflow` stays set and the value is UINT64_MAX. */
struct num {
	uint64_t value;
	bool overflow;
};
struct num num_from(uint64_t value);
struct num num_times(struct num a, uint64_t b);
struct num num_plus(struct num a, struct num b);
struct num num_round_up(struct num a, uint64_t to);

/* Exact decimal: mantissa * 10^exponent; what a literal of the language means. */
struct decimal {
	__int128 mantissa;
	int exponent;
};
/* Reads digits, one '.', an exponent, with `_` between digits. False if it needs more than 128
 * bits or an exponent beyond +-64. */
bool decimal_parse(const char *text, uint32_t length, struct decimal *out);
/* d * scale as an integer. False if it is no integer or leaves int64. */
bool decimal_to_int(struct decimal d, uint64_t scale, int64_t *out);
double decimal_to_double(struct decimal d);

/* "12.61 GiB": GiB with `digits` decimals from 1 GiB on, else MiB, KiB, or "640 B". */
char *num_bytes(struct arena *arena, uint64_t bytes, int digits);
/* Always in GiB, "12.61 GiB". */
char *num_gib(struct arena *arena, uint64_t bytes, int digits);
/* "1 048 576". */
char *num_grouped(struct arena *arena, uint64_t value);
/* "7.00 G", "124 M", "1.05 M", "960". */
char *num_short(struct arena *arena, uint64_t value);
/* "1, 2, 4 or 8": divisors of `value` (> 0) up to `limit`. */
char *num_divisors(struct arena *arena, uint64_t value, uint64_t limit);
/* Shortest text that reads back as the same double, with the C locale's point. */
char *num_double(struct arena *arena, double value);

#endif
