/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_draw.h"

/* Text and what follows it. */
const struct way ways[] = {
#define WAY(way_kind, way_weight, ...)                                                             \
	{.kind = way_kind, .weight = way_weight, .text = __VA_ARGS__},
#include "ways.def"
#undef WAY
};

const int nways = sizeof ways / sizeof *ways;
