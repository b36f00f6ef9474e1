/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RATE_H
#define CORE_RATE_H

#include <stdint.h>

#include "rt/rt.h"

/* Learning rate of optimizer step `step` of `steps`: (step + 1) / warmup of lr while that is below
 * 1, then constant, or a straight line, or half a cosine down to final_share * lr at the last step.
 */
double rate_at(const struct rt_train *train, int64_t step, int64_t steps);

/* 1 - beta^t, t >= 1. */
double rate_correction(double beta, int64_t t);

#endif
