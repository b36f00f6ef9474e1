/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of one machine: processes forked by a parent that only watches them.
 *
 * Every arena is a memory file without a name, mapped by the parent before the fork, so all ranks
 * see all arenas and nothing is left behind however they end. A rank that dies or fails ends all;
 * if the parent dies, the ranks die. SIGINT, SIGTERM and SIGHUP ask for a stop at the end of the
 * step, a second one ends at once. */
#ifndef CORE_WORLD_H
#define CORE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/rt.h"

struct world_shared;

struct world {
	int ranks, rank;       /* rank: -1 in the parent */
	unsigned char **arena; /* by rank */
	int64_t *arena_bytes;
	void *comm; /* shared, zeroed: for the communicator */
	size_t comm_bytes;
	struct world_shared *shared;
	size_t shared_bytes;
};

/* Maps the arenas (`bytes[rank]`) and the control area. */
int world_open(struct world *world, int ranks, const int64_t *bytes, size_t comm_bytes);
void world_close(struct world *world);

/* Forks the ranks, runs `body` in each with its argument, watches. The exit code of the program;
 * the one message of a failed run is printed. body gives 0 or -1. */
int world_run(struct world *world, int (*body)(struct world *world, void *argument),
	      void *argument);

/* Says how far this rank is: named if it dies. */
void world_step(struct world *world, int64_t step);

/* The signal that asks for a stop, 0: none. */
int world_stop(const struct world *world);

/* The path (of an option) that a rank is writing, NULL: none; the launcher asks for it after a run.
 */
void world_writing(struct world *world, const char *path);
const char *world_unfinished(const struct world *world);

/* The shared words of all ranks. One round: each rank posts, all pass a barrier, each reads. Rounds
 * alternate between two sets, so a fast rank cannot overwrite what a slow one still reads. */
void world_post(struct world *world, uint64_t round, uint64_t word);
uint64_t world_read(const struct world *world, uint64_t round, int rank);

#endif
