/* SPDX-License-Identifier: Apache-2.0 */
/* Sum of block i to member i, where the members' memory is mapped. A buffer holds one block of
 * `count` elements a member.
 *
 *            buffer of 0    buffer of 1    buffer of 2
 *   start    a0 b0 c0       a1 b1 c1       a2 b2 c2       barrier: all are there
 *   member 0 reads a0 a1 a2 in tree order, writes A to its `to`; 1 and 2 so with b and c
 *   end      to: A          to: B          to: C          barrier: all have read
 *
 * Cost: 2 barriers; each member reads size * count elements and writes count.
 * Needs: memory of all members, read.
 */
#include "comm/coll/coll.h"

enum { PARALLEL_FROM = 1 << 15 };

int reduce_scatter_direct(const struct coll_direct *direct, void *to, int64_t count,
			  enum rt_type type)
{
	if (direct->barrier(direct->state) != 0)
		return -1;
	int64_t base = direct->me * count, end = base + count;
	int64_t chunks = (count + TREE_CHUNK - 1) / TREE_CHUNK;
#pragma omp parallel for schedule(static) if (count >= PARALLEL_FROM)
	for (int64_t chunk = 0; chunk < chunks; chunk++) {
		union tree_sum sum;
		int64_t first = base + chunk * TREE_CHUNK;
		int64_t last = first + TREE_CHUNK < end ? first + TREE_CHUNK : end;
		tree_add(direct->at, direct->size, type, COLL_SUM, first, last, &sum);
		tree_store(&sum, type, to, first - base, last - base);
	}
	return direct->barrier(direct->state);
}
