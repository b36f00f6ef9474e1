/* SPDX-License-Identifier: Apache-2.0 */
/* An order-free sum of doubles: a fixed-point number of 46 digits of 32 bits, each kept in an int64
 * word, so that accumulators are added word by word (also across ranks, as an i64 sum) and the
 * order of additions moves no bit. Digit 0 weighs 2^-704: squares of fp32 are covered whole. What
 * lies below 2^-704 is cut off; a value of 2^766 or more counts as infinite. The last two words
 * count infinities and NaNs. A word has room for 2^31 additions between calls of rt_exact_carry. */
#ifndef RT_EXACT_H
#define RT_EXACT_H

#include <stdint.h>

#include "rt/kernel.h"

enum {
	RT_EXACT_DIGITS = RT_EXACT_WORDS - 2,
	RT_EXACT_INFINITE = RT_EXACT_DIGITS, /* word that counts infinities */
	RT_EXACT_NAN,			     /* word that counts NaNs */
	RT_EXACT_LOW = -704		     /* exponent of digit 0 */
};

/* words[RT_EXACT_WORDS] starts as zeros. */
void rt_exact_add(int64_t *words, double value);

/* Moves carries up: each digit but the last is then in [0, 2^32). The value stays. */
void rt_exact_carry(int64_t *words);

/* The sum, rounded once to nearest even; infinity or NaN if one was added. */
double rt_exact_value(const int64_t *words);

#endif
