/* SPDX-License-Identifier: Apache-2.0 */
/* Block i of member i to all, by messages. Round k = 1 .. size - 1:
 *
 *   member i  sends block i to i + k,  receives block i - k from i - k   (modulo size)
 *
 * Every round is a permutation, so no member waits for two at once.
 *
 * Cost: size - 1 rounds of one message out and one in, `bytes` each.
 * Needs: exchange.
 */
#include "comm/coll/coll.h"

int all_gather_pairs(struct rt_comm *comm, struct rt_comm_group *group, void *buffer, int64_t bytes)
{
	unsigned char *at = buffer;
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
