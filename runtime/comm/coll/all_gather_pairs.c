/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of member i to all, by messages; row by row. Round k = 1 .. size - 1 of a row:
 *
 *   member i  sends block i to i + k,  receives block i - k from i - k   (modulo size)
 *
 * Every round is a permutation, so no member waits for two at once.
 *
 * Cost: outer * (size - 1) rounds of one message out and one in, `bytes` each.
 * Needs: exchange.
 */
#include "comm/coll/coll.h"

#include <string.h>

static int gather_row(struct rt_comm *comm, struct rt_comm_group *group, unsigned char *at,
		      int64_t bytes)
{
	for (int round = 1; round < group->size; round++) {
		int to = (group->me + round) % group->size;
		int from = (group->me - round + group->size) % group->size;
		struct rt_message list[2] = {
			{.receive = false,
			 .peer = to,
			 .buffer = at + group->me * bytes,
			 .bytes = bytes},
			{.receive = true,
			 .peer = from,
			 .buffer = at + from * bytes,
			 .bytes = bytes},
		};
		if (comm->ops->exchange(comm, group, list, 2) != 0)
			return -1;
	}
	return 0;
}

int all_gather_pairs(struct rt_comm *comm, struct rt_comm_group *group, const void *from, void *to,
		     int64_t outer, int64_t bytes)
{
	for (int64_t row = 0; row < outer; row++) {
		unsigned char *at = (unsigned char *)to + row * group->size * bytes;
		const unsigned char *own = (const unsigned char *)from + row * bytes;
		if (own != at + group->me * bytes)
			memcpy(at + group->me * bytes, own, (size_t)bytes);
		if (gather_row(comm, group, at, bytes) != 0)
			return -1;
	}
	return 0;
}
