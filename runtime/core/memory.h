/* SPDX-License-Identifier: Apache-2.0 */
/* Memory as it is, beside what was predicted. */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include <stdint.h>

struct rt;
struct rt_text;

struct memory_use {
	int64_t arena;	 /* resident bytes of the arena of this rank */
	int64_t outside; /* resident bytes of this process, neither shared memory nor data files */
	int64_t anonymous; /* the part of it that is no file */
	int64_t heap;	   /* bytes the allocator has handed out */
};

/* What the ranks post of it: bytes. */
struct rank_memory {
	int64_t arena, outside;
};

/* Allocates nothing. */
void memory_measure(const struct rt *rt, struct memory_use *use);

/* The table for people, and the same as the inside of a JSON object, added to `text`. Arena and
 * outside are measured; the items are the prediction alone. Of a pipeline the worst arena of each
 * stage is told. `ranks`: what each rank posted. */
void memory_table(const struct rt *rt, const struct memory_use *use,
		  const struct rank_memory *ranks, struct rt_text *text);
void memory_json(const struct rt *rt, const struct memory_use *use,
		 const struct rank_memory *ranks, struct rt_text *text);

/* Of all ranks: for people, those whose arena is not what was predicted; as a member of a JSON
 * object, predicted, resident and outside by rank. */
void memory_ranks_table(const struct rt *rt, const struct rank_memory *ranks,
			struct rt_text *text);
void memory_ranks_json(const struct rt *rt, const struct rank_memory *ranks,
		       struct rt_text *text);

#endif
