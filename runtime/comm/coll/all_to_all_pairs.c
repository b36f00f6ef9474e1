/* SPDX-License-Identifier: Apache-2.0 */
/* Block j of `from` to block i of `to` at member j, by messages; its own block is copied. Round
 * k = 1 .. size - 1:
 *
 *   member i  sends block i + k to i + k,  receives block i - k from i - k   (modulo size)
 *
 * Cost: size - 1 rounds of one message out and one in, `bytes` each.
 * Needs: exchange.
 */
#include "comm/coll/coll.h"

#include <string.h>

int all_to_all_pairs(struct rt_comm *comm, struct rt_comm_group *group, const void *from, void *to,
		     int64_t bytes)
{
	unsigned char *out = (unsigned char *)(uintptr_t)from, *in = to;
	memcpy(in + group->me * bytes, out + group->me * bytes, (size_t)bytes);
	for (int round = 1; round < group->size; round++) {
		int next = (group->me + round) % group->size;
		int last = (group->me - round + group->size) % group->size;
		struct rt_message list[2] = {
			{.receive = false,
			 .peer = next,
			 .buffer = out + next * bytes,
			 .bytes = bytes},
			{.receive = true,
			 .peer = last,
			 .buffer = in + last * bytes,
			 .bytes = bytes},
		};
		if (comm->ops->exchange(comm, group, list, 2) != 0)
			return -1;
	}
	return 0;
}
