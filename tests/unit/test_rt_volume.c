/* SPDX-License-Identifier: Apache-2.0 */
/* What a sum moves between members: parts cover all elements once, both directions agree, and the
 * group moves 2 * (members - 1) times the elements in all. */
#include "rt/volume.h"

#include "check.h"

static void check_parts(int64_t count, int64_t members)
{
	int64_t all = 0;

	CHECK_INT(rt_part(count, 0, members), 0);
	CHECK_INT(rt_part(count, members, members), count);
	for (int64_t a = 0; a < members; a++) {
		CHECK(rt_part(count, a, members) <= rt_part(count, a + 1, members));
		CHECK(rt_part(count, a, members) == count ||
		      rt_part(count, a, members) % RT_PART_BLOCK == 0);
		for (int64_t b = 0; b < members; b++) {
			if (a == b)
				continue;
			CHECK_INT(rt_all_reduce_volume(count, a, b, members),
				  rt_all_reduce_volume(count, b, a, members));
			all += rt_all_reduce_volume(count, a, b, members);
		}
	}
	CHECK_INT(all, 2 * (members - 1) * count);
}

int main(void)
{
	static const int64_t counts[] = {0, 1, 63, 64, 65, 1000, 4096, 100003, INT64_C(1) << 40};

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		for (int64_t members = 1; members <= 9; members++)
			check_parts(counts[i], members);
	/* four parts of 64, and a product that would leave 64 bits */
	CHECK_INT(rt_all_reduce_volume(256, 0, 3, 4), 128);
	CHECK_INT(rt_part(INT64_MAX - 63, 512, 1024), INT64_C(4611686018427387840));
	return check_done();
}
