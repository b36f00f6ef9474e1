/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline cuts: which layers, parameters and messages are whose. */
#ifndef PART_STAGE_H
#define PART_STAGE_H

#include "part/program.h"

struct stages {
	uint32_t n, chunks;
	const struct chunk *layers;     /* by virtual stage, chunk * n + stage */
	struct rt_schedule schedule;    /* of stage 0; slots and received not set */
	const struct rt_walk *walks;    /* by stage */
	const uint8_t *regions;         /* by parameter: bit r = used in region r */
	const uint8_t (*sites)[SITES_MAX]; /* by parameter and use: its region */
};

/* False with E0901 for what no stage can hand on: a tensor beside the carried one that crosses a
 * boundary, a weight of the layers that is used outside of them. */
bool stages_cut(const struct graph *local, const uint32_t *storage, struct stages *out,
		struct work *work);

/* Regions of a stage. */
void stage_regions(const struct stages *stages, uint32_t stage, bool has[REGIONS]);
/* Stage of a region other than the repeated one. */
uint32_t stage_of_region(const struct stages *stages, enum region region);

#endif
