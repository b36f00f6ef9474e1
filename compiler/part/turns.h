/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of all stages of a pipeline, and the proof that they go through. */
#ifndef PART_TURNS_H
#define PART_TURNS_H

#include "base/arena.h"
#include "rt/schedule.h"

/* What each stage does, [s->stages], by the functions that the program runs. */
struct rt_walk *turns_walks(const struct rt_schedule *s, struct arena *arena);

/* Whether the last stage takes each micro-batch back right after it came to the head: then what
 * the head keeps is needed once, not once a slot. `last`: what that stage does. */
bool turns_head_alone(const struct rt_schedule *s, const struct rt_walk *last);

/* NULL if all stages come to their end with nothing buffered: each send meets its receive, both
 * ends speak of the same message, operands are there before their turn, no copy is overwritten
 * while it is needed, backward ascends. Else what is wrong, in words. */
const char *turns_fault(const struct rt_schedule *s, const struct rt_walk *walks,
			   struct arena *arena);

#endif
