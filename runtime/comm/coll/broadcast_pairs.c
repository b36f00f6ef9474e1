/* SPDX-License-Identifier: Apache-2.0 */
/* The root's buffer to all, by messages along a binomial tree. With p = (me - root) modulo size:
 *
 *   p = 0 ------------> 4        distance 4
 *   0 ------> 2   4 --> 6        distance 2
 *   0 -> 1  2 -> 3  4 -> 5  6    distance 1
 *
 * A member receives at the lowest set bit of p and sends at all lower ones.
 *
 * Cost: ceil(log2(size)) rounds of `bytes`.
 * Needs: exchange.
 */
#include "comm/coll/coll.h"

static int pass(struct rt_comm *comm, struct rt_comm_group *group, const struct rt_message *message)
{
	return comm->ops->exchange(comm, group, message, 1);
}

int broadcast_pairs(struct rt_comm *comm, struct rt_comm_group *group, void *buffer, int64_t bytes,
		    int root)
{
	int size = group->size, place = (group->me - root + size) % size, distance = 1;
	while (distance < size && !(place & distance))
		distance *= 2;
	struct rt_message message = {.buffer = buffer, .bytes = bytes};
	if (place != 0) {
		message.receive = true;
		message.peer = (place - distance + root) % size;
		if (pass(comm, group, &message) != 0)
			return -1;
	}
	message.receive = false;
	for (distance /= 2; distance > 0; distance /= 2) {
		if (place + distance >= size)
			continue;
		message.peer = (place + distance + root) % size;
		if (pass(comm, group, &message) != 0)
			return -1;
	}
	return 0;
}
