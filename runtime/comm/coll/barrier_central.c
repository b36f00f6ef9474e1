/* SPDX-License-Identifier: Apache-2.0 */
/* All wait for all, over one counter in shared memory.
 *
 *   arrived    1, 2, .. size -> 0       whoever comes last sets it back and
 *   generation g .............. g + 1   moves the generation, which the others wait for
 *
 * Cost: one atomic addition a member, one wake-up for all.
 * Needs: shared memory.
 */
#include "comm/coll/coll.h"
#include "comm/wait.h"

int barrier_central(struct barrier_central *barrier, int size, double seconds)
{
	uint32_t generation = atomic_load_explicit(&barrier->generation, memory_order_acquire);
	uint32_t before = atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel);
	if (before + 1 < (uint32_t)size)
		return wait_change(&barrier->generation, generation, seconds);
	atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
	wait_signal(&barrier->generation);
	return WAIT_CHANGED;
}
