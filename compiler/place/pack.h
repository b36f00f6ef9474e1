/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks with live ranges to offsets. */
#ifndef PLACE_PACK_H
#define PLACE_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct block {
	uint64_t bytes, align; /* align > 0 */
	uint32_t from, to;     /* steps, inclusive */
	uint32_t index;	       /* unique: the last word among equals */
	uint64_t offset;       /* result */
};

/* First fit, largest first, then by `from`, then by `index`: the result depends on nothing else.
 * Reorders the blocks, sets their offsets, gives the height of the pile. False on overflow. */
bool pack(struct block *blocks, uint32_t count, struct arena *scratch, uint64_t *height);

#endif
