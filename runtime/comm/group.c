/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/comm.h"

int group_index(const struct rt_axis *axes, uint32_t naxes, uint32_t mask, int rank)
{
	int64_t index = 0, weight = 1, left = rank;
	for (uint32_t i = naxes; i-- > 0; left /= axes[i].size) {
		if (!(mask >> i & 1))
			continue;
		index += left % axes[i].size * weight;
		weight *= axes[i].size;
	}
	return (int)index;
}

int group_rank(const struct rt_axis *axes, uint32_t naxes, uint32_t mask, int index)
{
	int64_t rank = 0, weight = 1, left = index;
	for (uint32_t i = naxes; i-- > 0; weight *= axes[i].size) {
		if (!(mask >> i & 1))
			continue;
		rank += left % axes[i].size * weight;
		left /= axes[i].size;
	}
	return (int)rank;
}

/* Coordinates are digits of the rank, the last axis the lowest. */
int group_members(const struct rt_axis *axes, uint32_t naxes, uint32_t mask, int rank, int *out)
{
	int64_t ranks = 1;
	for (uint32_t i = 0; i < naxes; i++)
		ranks *= axes[i].size;
	int count = 0;
	for (int64_t other = 0; other < ranks; other++) {
		int64_t a = rank, b = other;
		bool same = true;
		for (uint32_t i = naxes; i-- > 0;) {
			if (!(mask >> i & 1) && a % axes[i].size != b % axes[i].size)
				same = false;
			a /= axes[i].size;
			b /= axes[i].size;
		}
		if (same)
			out[count++] = (int)other;
	}
	return count;
}
