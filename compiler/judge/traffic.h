/* SPDX-License-Identifier: Apache-2.0 */
/* What one rank sends and receives in a step of training: each collective of its program as often
 * as the turns call it, by the algorithms of the runtime (rt/volume.h), and the messages of the
 * pipeline. */
#ifndef JUDGE_TRAFFIC_H
#define JUDGE_TRAFFIC_H

#include "judge/ranks.h"

enum { TRAFFIC_MESSAGE = COLLECTIVE_HAND + 1 };

/* Calls of one kind over one group in one phase. */
struct traffic_line {
	uint32_t kind;       /* enum collective, or TRAFFIC_MESSAGE */
	uint32_t group;
	enum phase phase;
	uint64_t calls;      /* a step; messages: those sent and those received */
	uint64_t out, in;    /* bytes */
};

/* Bytes of one group over one kind of link. */
struct traffic_link {
	uint32_t group;
	bool between;        /* nodes; else inside one */
	uint64_t out, in;
};

struct traffic {
	const struct program *program; /* of the rank's stage */
	uint64_t rank;
	const struct traffic_line *lines;
	uint32_t nlines;
	const struct traffic_link *links;
	uint32_t nlinks;
	uint64_t out, in;
};

/* Of a rank; `head` is the program of stage 0. Sums saturate. */
void traffic_of(const struct program *head, uint64_t rank, struct traffic *out,
		struct arena *arena);

/* "all_gather", "message" */
const char *traffic_kind(uint32_t kind);

/* Bytes of one call between members `me` and `peer` of a group of `members`. */
struct traffic_pair {
	uint64_t out, in;
};
struct traffic_pair traffic_pair(const struct step *step, uint64_t members, uint64_t me,
				 uint64_t peer);

/* Bytes that the first member of the group sends in one call; 0 for what is no collective, and for
 * what one stage hands to another. */
uint64_t traffic_step_bytes(const struct program *program, const struct step *step);

#endif
