/* SPDX-License-Identifier: Apache-2.0 */
/* What the algorithms of runtime/comm/coll move: how a sum is cut into parts, and bytes between two
 * members of a group. Used by the algorithms themselves and by planc, which prints the bytes of a
 * step before it runs. */
#ifndef RT_VOLUME_H
#define RT_VOLUME_H

#include <stdint.h>

enum { RT_PART_BLOCK = 64 };

/* First of `count` elements that belong to `part` of `parts`: cut at multiples of 64, where a cut
 * falls moves no bit. */
static inline int64_t rt_part(int64_t count, int64_t part, int64_t parts)
{
	int64_t blocks = count / RT_PART_BLOCK + (count % RT_PART_BLOCK != 0);
	/* blocks * part / parts, without a product that could leave 64 bits */
	int64_t at = (blocks / parts * part + blocks % parts * part / parts) * RT_PART_BLOCK;
	return at < count ? at : count;
}

/* Elements of an all_reduce of `count` that go from one member to another one: member `a` reads its
 * part of what `b` has and writes the sum there, as does `b`; the same both ways. */
static inline int64_t rt_all_reduce_volume(int64_t count, int64_t a, int64_t b, int64_t members)
{
	return rt_part(count, a + 1, members) - rt_part(count, a, members) +
	       rt_part(count, b + 1, members) - rt_part(count, b, members);
}

#endif
