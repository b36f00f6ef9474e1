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
	bool head_alone;                /* turns_head_alone */
	const uint8_t *regions;         /* by parameter: bit r = used in region r */
	const uint8_t (*sites)[SITES_MAX]; /* by parameter and use: its region */
	/* Tensors that pass by the layers, and their gradients: from the first stage to the last,
	 * and back. By storage, in the order in which they are read first. */
	const uint32_t *past[2];
	uint32_t npast[2];
};

/* Cuts the graph of a rank. storage: by tensor, the one whose buffer it shares. */
void stages_cut(const struct graph *local, const uint32_t *storage, struct stages *out,
		struct work *work);

/* Whether a tensor, by storage, is one of those. */
bool stage_past(const struct stages *stages, bool backward, uint32_t tensor);

/* Regions of a stage. */
void stage_regions(const struct stages *stages, uint32_t stage, bool has[REGIONS]);
/* Stage of a region other than the repeated one. */
uint32_t stage_of_region(const struct stages *stages, enum region region);

#endif
