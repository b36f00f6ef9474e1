/* SPDX-License-Identifier: Apache-2.0 */
/* The fullest instant of each phase. */
#ifndef PLACE_PEAK_H
#define PLACE_PEAK_H

#include "place/layout.h"

/* Fills `home->peak` and `home->arena` from `home->persistent` and the bytes that each segment
 * needs behind it (multiples of 64). Of a phase the segment that needs most is taken (the first
 * among equals), and in it the step with the most bytes alive. No sum may leave 64 bits:
 * place_build has seen to that. */
void peak_find(const struct program *program, const uint64_t *heights, struct home *home);

#endif
