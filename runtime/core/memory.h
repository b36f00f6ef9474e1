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

/* Allocates nothing. */
void memory_measure(const struct rt *rt, struct memory_use *use);

/* Bytes that the parameter table gives to an item of the memory table, or -1: `weights`,
 * `gradients` and `optimizer` are counted here, independently of the compiler's sum. Parts of the
 * gradients (a tied weight's second accumulator, buckets) are not in that table: as predicted. */
int64_t memory_counted(const struct rt *rt, const char *item);

/* The table for people, and the same as one JSON object. */
void memory_print(const struct rt *rt, const struct memory_use *use);
void memory_json(const struct rt *rt, const struct memory_use *use, struct rt_text *text);

#endif
