/* SPDX-License-Identifier: Apache-2.0 */
/* Pure functions of the core: the order of samples, the learning rate, members of groups. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comm/comm.h"
#include "core/data.h"
#include "core/rate.h"

static int failed;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			failed = 1;                                                                \
		}                                                                                  \
	} while (0)

/* Each epoch visits each window once; epochs and seeds differ. */
static void test_permutation(int64_t windows)
{
	static unsigned char seen[5000];
	int64_t moved = 0, other = 0, seeds = 0;
	for (int64_t epoch = 0; epoch < 3; epoch++) {
		memset(seen, 0, sizeof seen);
		for (int64_t n = 0; n < windows; n++) {
			int64_t window = data_order(11, epoch * windows + n, windows);
			CHECK(window >= 0 && window < windows && !seen[window]);
			seen[window] = 1;
			moved += window != n;
			other += window != data_order(11, (epoch + 1) * windows + n, windows);
			seeds += window != data_order(12, epoch * windows + n, windows);
		}
	}
	if (windows >= 64)
		CHECK(moved > windows && other > windows && seeds > windows);
}

static int near(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fabs(b);
}

static void test_rate(void)
{
	struct rt_train train = {.lr = 0.5, .final_share = 0.1, .warmup = 4, .when = RT_CONSTANT};
	CHECK(near(rate_at(&train, 0, 104), 0.125));
	CHECK(near(rate_at(&train, 3, 104), 0.5));
	CHECK(near(rate_at(&train, 4, 104), 0.5));
	CHECK(near(rate_at(&train, 103, 104), 0.5));
	train.when = RT_LINEAR;
	CHECK(near(rate_at(&train, 4, 105), 0.5));
	CHECK(near(rate_at(&train, 54, 105), 0.275));
	CHECK(near(rate_at(&train, 104, 105), 0.05));
	train.when = RT_COSINE;
	CHECK(near(rate_at(&train, 4, 105), 0.5));
	CHECK(near(rate_at(&train, 54, 105), 0.275));
	CHECK(near(rate_at(&train, 104, 105), 0.05));
	train.warmup = 0;
	CHECK(near(rate_at(&train, 0, 1), 0.5));
	CHECK(near(rate_correction(0.9, 2), 0.19));
}

static void test_groups(void)
{
	struct rt_axis axes[3] = {{"replica", 2}, {"shard", 3}, {"tensor", 2}};
	int out[12];
	CHECK(group_members(axes, 3, 1, 7, out) == 2 && out[0] == 1 && out[1] == 7);
	CHECK(group_members(axes, 3, 2, 7, out) == 3 && out[0] == 7 && out[1] == 9 && out[2] == 11);
	CHECK(group_members(axes, 3, 4, 7, out) == 2 && out[0] == 6 && out[1] == 7);
	CHECK(group_members(axes, 3, 7, 7, out) == 12 && out[5] == 5);
	CHECK(group_members(axes, 3, 0, 7, out) == 1 && out[0] == 7);
}

/* Lanes as a binary counter: each merge joins two neighbours of equal length, the last one ends at
 * level 0 with all lanes. */
static void test_lanes(uint32_t lanes)
{
	uint32_t first[8] = {0}, length[8] = {0};
	for (uint32_t lane = 0; lane < lanes; lane++) {
		uint32_t level = rt_lane_level(lane);
		CHECK(length[level] == 0);
		first[level] = lane;
		length[level] = 1;
		for (uint32_t i = 0; i < rt_lane_merges(lane); i++) {
			level--;
			CHECK(length[level] == length[level + 1]);
			CHECK(first[level] + length[level] == first[level + 1]);
			length[level] += length[level + 1];
			length[level + 1] = 0;
		}
	}
	CHECK(length[0] == lanes);
}

int main(void)
{
	static const int64_t windows[] = {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097};
	for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
		test_permutation(windows[i]);
	test_rate();
	test_groups();
	for (uint32_t lanes = 1; lanes <= 64; lanes *= 2)
		test_lanes(lanes);
	return failed;
}
