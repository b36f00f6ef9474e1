/* SPDX-License-Identifier: Apache-2.0 */
/* The root's buffer to all, where the members' memory is mapped.
 *
 *   barrier: the root's bytes are there     every other member reads them
 *   barrier: all have read
 *
 * Cost: 2 barriers; each member but the root reads `bytes`.
 * Needs: memory of the root, read.
 */
#include "comm/coll/coll.h"

#include <string.h>

int broadcast_direct(const struct coll_direct *direct, int64_t bytes, int root)
{
	if (direct->barrier(direct->state) != 0)
		return -1;
	if (direct->me != root)
		memcpy(direct->at[direct->me], direct->at[root], (size_t)bytes);
	return direct->barrier(direct->state);
}
