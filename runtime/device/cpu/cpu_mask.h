/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout masks: what is kept, by the global number of an element. */
#ifndef CPU_CPU_MASK_H
#define CPU_CPU_MASK_H

#include "base/rt_philox.h"
#include "device/cpu/real.h"

enum { MASK_BLOCKS = 16, MASK_ELEMENTS = 4 * MASK_BLOCKS };

struct mask {
	uint64_t seed, limit; /* a word below the limit: dropped */
	uint32_t step, stream;
	REAL factor; /* of what is kept */
};

INLINE struct mask mask_start(const double *control, int64_t stream, double rate)
{
	struct mask m = {
		.seed = (uint64_t)control[RT_CONTROL_SEED],
		.limit = (uint64_t)(rate * 0x1p32),
		.step = (uint32_t)control[RT_CONTROL_STEP],
		.stream = (uint32_t)stream,
		.factor = (REAL)(1 / (1 - rate)),
	};
	return m;
}

/* keep[i] = 0 or the factor, for the elements 4 block + i, i < MASK_ELEMENTS. */
INLINE void mask_group(const struct mask *m, uint64_t block, REAL *restrict keep)
{
	uint32_t word[4][MASK_BLOCKS];
	PARALLEL_LOOP
	for (int i = 0; i < MASK_BLOCKS; i++) {
		struct rt_philox_state s = rt_philox_rounds(rt_philox_start(
			m->seed, RT_RANDOM_DROPOUT, m->step, m->stream, block + (uint64_t)i));
		word[0][i] = s.word[0];
		word[1][i] = s.word[1];
		word[2][i] = s.word[2];
		word[3][i] = s.word[3];
	}
	for (int i = 0; i < MASK_BLOCKS; i++)
		for (int j = 0; j < 4; j++)
			keep[4 * i + j] = word[j][i] >= m->limit ? m->factor : 0;
}

#endif
