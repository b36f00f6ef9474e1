/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that work together. A communicator is one a rank; it holds the groups of the plan, in the
 * plan's order, the same on every rank. rt_all_reduce of rt/rt.h (select.c) goes through it.
 *
 * Every buffer of a collective lies in the arena of the rank, at the same offset on each rank of
 * the group. Calls block until the buffer may be used again. All give 0, or -1 after rt_fail; -1
 * without a message of their own where another rank failed first. */
#ifndef COMM_COMM_H
#define COMM_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "rt/rt.h"

struct rt_comm;

/* What a rank calls. The members of a group compare these, so that a mismatch is an error, not a
 * hang or a wrong sum. */
struct rt_comm_call {
	const char *name; /* the same address in every rank: they are forks of one process */
	int64_t count, unit;
	uint64_t sequence;
};

/* One group as this rank sees it. */
struct rt_comm_group {
	const char *name;
	int me, size;		  /* index of this rank, number of members */
	int *ranks;		  /* rank of each member, ascending */
	struct rt_comm_call call; /* the one under way, or the last; sequence counts them */
	void *state;		  /* of the backend */
};

enum coll_op { COLL_SUM, COLL_MAX };

struct rt_message {
	bool receive;
	int peer; /* index in the group */
	void *buffer;
	int64_t bytes; /* both ends say the same */
};

/* Slots of a backend. The first five are set; one of the others may be NULL, its default stands
 * beside it. `timeout` of group: seconds until the self-test gives up. */
struct rt_comm_ops {
	const char *name;
	int (*open)(struct rt_comm *comm);
	void (*close)(struct rt_comm *comm);
	/* Gets one group ready. No communication. */
	int (*group)(struct rt_comm *comm, struct rt_comm_group *group);
	/* All messages progress side by side and the call ends when all are through; nothing is
	 * buffered. Messages between two ranks match in the order of their lists. */
	int (*exchange)(struct rt_comm *comm, struct rt_comm_group *group,
			const struct rt_message *messages, int count);
	/* Every member waits for every other; `seconds` > 0: at most so long. */
	int (*barrier)(struct rt_comm *comm, struct rt_comm_group *group, double seconds);
	/* NULL: an error, sums need a stated order */
	int (*all_reduce)(struct rt_comm *comm, struct rt_comm_group *group, void *buffer,
			  int64_t count, enum rt_type type, enum coll_op op);
	/* Sum of block `me` of `size` blocks of `count` elements, into `to`, which may be that
	 * block. NULL: an error */
	int (*reduce_scatter)(struct rt_comm *comm, struct rt_comm_group *group, const void *from,
			      void *to, int64_t count, enum rt_type type);
	/* from: [outer, bytes], to: [outer, size, bytes]. `from` may be the own block of `to` if
	 * outer is 1. NULL: all_gather_pairs over exchange */
	int (*all_gather)(struct rt_comm *comm, struct rt_comm_group *group, const void *from,
			  void *to, int64_t outer, int64_t bytes);
	/* From member `root`. NULL: broadcast_pairs over exchange */
	int (*broadcast)(struct rt_comm *comm, struct rt_comm_group *group, void *buffer,
			 int64_t bytes, int root);
	/* Block j of `from` goes to block `me` of `to` at member j. NULL: all_to_all_pairs */
	int (*all_to_all)(struct rt_comm *comm, struct rt_comm_group *group, const void *from,
			  void *to, int64_t bytes);
};

struct rt_comm {
	const struct rt_comm_ops *ops;
	int rank, ranks;
	unsigned char *const *arena; /* of each rank as mapped here */
	const int64_t *arena_bytes;
	void *shared; /* zeroed, mapped by all ranks: shm_comm_bytes */
	struct rt_comm_group *groups;
	int ngroups;
	void *state; /* of the backend */
};

extern const struct rt_comm_ops shm_comm_ops;

/* Bytes of `shared` for so many ranks and groups. */
size_t shm_comm_bytes(int ranks, int ngroups);

/* Makes the groups of the axes (outermost first, the last varies fastest) for comm->rank, and one
 * more at the end that holds all ranks; opens the backend. comm_close gives everything back. */
int comm_open(struct rt_comm *comm, const struct rt_axis *axes, uint32_t naxes,
	      const struct rt_group *groups, uint32_t ngroups);
void comm_close(struct rt_comm *comm);

/* Index of `rank` in its group of the axes of `mask`. */
int group_index(const struct rt_axis *axes, uint32_t naxes, uint32_t mask, int rank);

/* The first rank (coordinates 0 on all other axes) whose index there is `index`. */
int group_rank(const struct rt_axis *axes, uint32_t naxes, uint32_t mask, int index);

/* Members of the group of `rank` that differ in the axes of `mask` only, ascending; their number.
 * `out` holds as many as there are ranks. */
int group_members(const struct rt_axis *axes, uint32_t naxes, uint32_t mask, int rank, int *out);

/* One barrier and one small sum in every group; names group and rank that do not answer within
 * `seconds`. Uses the first bytes of the arena and clears them. */
int comm_test(struct rt_comm *comm, double seconds);

/* Validated, recorded, then the backend's slot or the default. `group` indexes comm->groups. */
int comm_all_reduce(struct rt_comm *comm, int group, void *buffer, int64_t count,
		    enum rt_type type);
int comm_all_reduce_max(struct rt_comm *comm, int group, void *buffer, int64_t count,
			enum rt_type type);
int comm_reduce_scatter(struct rt_comm *comm, int group, const void *from, void *to, int64_t count,
			enum rt_type type);
int comm_all_gather(struct rt_comm *comm, int group, const void *from, void *to, int64_t outer,
		    int64_t bytes);
int comm_slice(struct rt_comm *comm, int group, const void *from, void *to, int64_t outer,
	       int64_t bytes);
int comm_broadcast(struct rt_comm *comm, int group, void *buffer, int64_t bytes, int root);
int comm_all_to_all(struct rt_comm *comm, int group, const void *from, void *to, int64_t bytes);
int comm_exchange(struct rt_comm *comm, int group, const struct rt_message *messages, int count);
int comm_barrier(struct rt_comm *comm, int group);

int64_t rt_type_bytes(enum rt_type type);

/* Provided by core: the communicator of a rank. */
struct rt_comm *rt_comm_of(struct rt *rt);

#endif
