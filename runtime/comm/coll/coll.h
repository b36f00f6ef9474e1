/* SPDX-License-Identifier: Apache-2.0 */
/* Algorithms, one a file. The direct ones want a group whose members' memory can be read and
 * written from here; the pairs ones want exchange alone. */
#ifndef COMM_COLL_H
#define COMM_COLL_H

#include <stdatomic.h>
#include <stdint.h>

#include "comm/comm.h"

enum { COLL_MAX_RANKS = 256 };

/* A buffer of a group with direct memory. */
struct coll_direct {
	int me, size;
	unsigned char *at[COLL_MAX_RANKS]; /* the buffer of each member, as mapped here */
	int (*barrier)(void *state);	   /* 0, or -1 */
	void *state;
};

int all_reduce_direct(const struct coll_direct *direct, int64_t count, enum rt_type type,
		      enum coll_op op);
int reduce_scatter_direct(const struct coll_direct *direct, void *to, int64_t count,
			  enum rt_type type);
int all_gather_direct(const struct coll_direct *direct, void *to, int64_t outer, int64_t bytes);
int broadcast_direct(const struct coll_direct *direct, int64_t bytes, int root);

int all_gather_pairs(struct rt_comm *comm, struct rt_comm_group *group, const void *from, void *to,
		     int64_t outer, int64_t bytes);
int broadcast_pairs(struct rt_comm *comm, struct rt_comm_group *group, void *buffer, int64_t bytes,
		    int root);
int all_to_all_pairs(struct rt_comm *comm, struct rt_comm_group *group, const void *from, void *to,
		     int64_t bytes);

/* Counter and generation of a barrier, zero at first. */
struct barrier_central {
	_Atomic uint32_t arrived, generation;
};

/* enum wait_end of comm/wait.h. */
int barrier_central(struct barrier_central *barrier, int size, double seconds);

/* The balanced tree, element by element: from[0 .. size) are arrays of the type; elements first ..
 * last of each are taken together into `sum` (wide: f32 for f32 and bf16, i64 for i32, else the
 * type itself), whose element 0 belongs to `first`. last - first <= TREE_CHUNK. */
enum { TREE_CHUNK = 256 };
union tree_sum {
	float f32[TREE_CHUNK];
	double f64[TREE_CHUNK];
	int64_t i64[TREE_CHUNK];
};
void tree_add(unsigned char *const *from, int size, enum rt_type type, enum coll_op op,
	      int64_t first, int64_t last, union tree_sum *sum);

/* Rounds the sum once, to `type`, into elements first .. last of `to`. */
void tree_store(const union tree_sum *sum, enum rt_type type, unsigned char *to, int64_t first,
		int64_t last);

#endif
