/* SPDX-License-Identifier: Apache-2.0 */
/* Plans larger than those that ../splits trains, since none of these runs: deep pipelines in
 * every schedule with few, many and odd numbers of micro-batches, ZeRO inside of replicas, all at
 * once. */
#ifndef MEMORY_DRAWS_H
#define MEMORY_DRAWS_H

#include "base/arena.h"

enum { DRAWS = 160 };

/* The text of plan i; one that planc accepts. */
char *draw_text(struct arena *arena, int i);

#endif
