/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of member i to all, where the members' memory is mapped; `outer` rows of one block a
 * member.
 *
 *            0              1              2
 *   from     a0 a1          b0 b1          c0 c1           barrier: all blocks are there
 *   each member reads the others' blocks, its own first, then its right neighbour's
 *   to       a0 b0 c0       a0 b0 c0       a0 b0 c0        barrier: all have read
 *            a1 b1 c1       a1 b1 c1       a1 b1 c1
 *
 * Cost: 2 barriers; each member reads (size - 1) * outer * bytes.
 * Needs: memory of all members, read.
 */
#include "comm/coll/coll.h"

#include <string.h>

enum { PARALLEL_FROM = 1 << 18 };

int all_gather_direct(const struct coll_direct *direct, void *to, int64_t outer, int64_t bytes)
{
	unsigned char *out = to;
	if (direct->barrier(direct->state) != 0)
		return -1;
#pragma omp parallel for schedule(static) if (outer * bytes >= PARALLEL_FROM)
	for (int64_t row = 0; row < outer; row++) {
		for (int step = 0; step < direct->size; step++) {
			int from = (direct->me + step) % direct->size;
			unsigned char *here = out + (row * direct->size + from) * bytes;
			const unsigned char *there = direct->at[from] + row * bytes;
			if (here != there)
				memcpy(here, there, (size_t)bytes);
		}
	}
	return direct->barrier(direct->state);
}
