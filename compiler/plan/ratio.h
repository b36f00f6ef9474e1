/* SPDX-License-Identifier: Apache-2.0 */
/* Exact arithmetic on fractions of 128 bits. Every function is false if a result does not fit. */
#ifndef PLAN_RATIO_H
#define PLAN_RATIO_H

#include <stdbool.h>

#include "base/num.h"
#include "plan/value.h"

/* d * scale / per; scale and per > 0. */
bool ratio_of(struct decimal d, uint64_t scale, uint64_t per, struct ratio *out);
struct ratio ratio_from(int64_t value);
bool ratio_add(struct ratio a, struct ratio b, struct ratio *out);
bool ratio_mul(struct ratio a, struct ratio b, struct ratio *out);
/* b is not zero. */
bool ratio_div(struct ratio a, struct ratio b, struct ratio *out);
struct ratio ratio_negate(struct ratio a);
bool ratio_whole(struct ratio a);
bool ratio_to_int(struct ratio a, int64_t *out); /* whole and in range */
double ratio_to_double(struct ratio a);
int ratio_compare(struct ratio a, struct ratio b);

#endif
