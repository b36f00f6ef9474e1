/* SPDX-License-Identifier: Apache-2.0 */
/* Put in front of an emitted program (CC="cc -include count_calls.h -Wl,--wrap=comm_exchange"):
 * every call of a collective and every message of the pipeline writes a line into the file $CALLS,
 * "KIND GROUP BYTES" with the group's number and the bytes that the call is about. */
#ifndef COUNT_CALLS_H
#define COUNT_CALLS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "comm/comm.h"
#include "rt/rt.h"

static inline void count_call(const char *kind, int group, int64_t count, int bytes)
{
	char line[128];
	int length = snprintf(line, sizeof line, "%s %d %lld\n", kind, group,
			      (long long)count * bytes);
	int file = open(getenv("CALLS"), O_WRONLY | O_APPEND);

	if (file < 0 || write(file, line, (size_t)length) != length)
		abort();
	close(file);
}

static inline int count_bytes(enum rt_type type)
{
	static const int bytes[] = {
#define RT_TYPE(name, size, text) [RT_##name] = size,
#include "rt/types.def"
#undef RT_TYPE
	};

	return bytes[type];
}

#define rt_all_reduce(rt, stream, group, at, count, type, order)                                   \
	(count_call("all_reduce", group, count, count_bytes(type)),                                \
	 rt_all_reduce(rt, stream, group, at, count, type, order))
#define rt_all_reduce_max(rt, stream, group, at, count, type)                                      \
	(count_call("all_reduce_max", group, count, count_bytes(type)),                            \
	 rt_all_reduce_max(rt, stream, group, at, count, type))
#define rt_reduce_scatter(rt, stream, group, from, to, count, type, order)                         \
	(count_call("reduce_scatter", group, count, count_bytes(type)),                            \
	 rt_reduce_scatter(rt, stream, group, from, to, count, type, order))
#define rt_all_gather(rt, stream, group, from, to, outer, inner, type)                             \
	(count_call("all_gather", group, (outer) * (inner), count_bytes(type)),                    \
	 rt_all_gather(rt, stream, group, from, to, outer, inner, type))
#define rt_hand(rt, stream, group, from, to, at, count, type)                                      \
	(count_call("hand_over", group, count, count_bytes(type)),                                 \
	 rt_hand(rt, stream, group, from, to, at, count, type))

int __real_comm_exchange(struct rt_comm *comm, int group, const struct rt_message *messages,
			 int count);
int __wrap_comm_exchange(struct rt_comm *comm, int group, const struct rt_message *messages,
			 int count);

__attribute__((weak)) int __wrap_comm_exchange(struct rt_comm *comm, int group,
					       const struct rt_message *messages, int count)
{
	for (int i = 0; i < count; i++)
		if (!messages[i].receive)
			count_call("message", group, messages[i].bytes, 1);
	return __real_comm_exchange(comm, group, messages, count);
}

#endif
