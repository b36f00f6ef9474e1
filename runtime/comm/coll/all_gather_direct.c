/* SPDX-License-Identifier: Apache-2.0 */
/* Block i of member i to all, where the members' memory is mapped.
 *
 *            buffer of 0    buffer of 1    buffer of 2
 *   start    A  .  .        .  B  .        .  .  C        barrier: all blocks are there
 *   each member reads the others' blocks, its right neighbour's first
 *   end      A  B  C        A  B  C        A  B  C        barrier: all have read
 *
 * Cost: 2 barriers; each member reads (size - 1) * bytes.
 * Needs: memory of all members, read.
 */
#include "comm/coll/coll.h"

#include <string.h>

int all_gather_direct(const struct coll_direct *direct, int64_t bytes)
{
	if (direct->barrier(direct->state) != 0)
		return -1;
	for (int step = 1; step < direct->size; step++) {
		int from = (direct->me + step) % direct->size;
		memcpy(direct->at[direct->me] + from * bytes, direct->at[from] + from * bytes,
		       (size_t)bytes);
	}
	return direct->barrier(direct->state);
}
