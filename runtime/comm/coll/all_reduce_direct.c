/* SPDX-License-Identifier: Apache-2.0 */
/* Sum or maximum over the group, in place, where the members' memory is mapped. Member i owns part
 * i of the elements and is the only one to touch that part of any buffer between the two barriers.
 *
 *            buffer of 0    buffer of 1    buffer of 2
 *   start    a0 b0 c0       a1 b1 c1       a2 b2 c2       barrier: all are there
 *   member 0 reads a0 a1 a2, adds them in tree order, writes A to all three;
 *   member 1 does so with b, member 2 with c             barrier: all have written
 *   end      A  B  C        A  B  C        A  B  C
 *
 * Cost: 2 barriers; each member reads and writes `count` elements, whatever the size of the group.
 * Needs: memory of all members, read and write.
 */
#include "comm/coll/coll.h"
#include "rt/volume.h"

enum { PARALLEL_FROM = 1 << 15 };

static void add_range(const struct coll_direct *direct, enum rt_type type, enum coll_op op,
		      int64_t first, int64_t last)
{
	union tree_sum sum;
	tree_add(direct->at, direct->size, type, op, first, last, &sum);
	for (int member = 0; member < direct->size; member++)
		tree_store(&sum, type, direct->at[member], first, last);
}

int all_reduce_direct(const struct coll_direct *direct, int64_t count, enum rt_type type,
		      enum coll_op op)
{
	if (direct->barrier(direct->state) != 0)
		return -1;
	int64_t first = rt_part(count, direct->me, direct->size);
	int64_t last = rt_part(count, direct->me + 1, direct->size);
	int64_t chunks = (last - first + TREE_CHUNK - 1) / TREE_CHUNK;
#pragma omp parallel for schedule(static) if (last - first >= PARALLEL_FROM)
	for (int64_t chunk = 0; chunk < chunks; chunk++) {
		int64_t from = first + chunk * TREE_CHUNK;
		int64_t to = from + TREE_CHUNK < last ? from + TREE_CHUNK : last;
		add_range(direct, type, op, from, to);
	}
	return direct->barrier(direct->state);
}
