#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# data.sh PLANC COMPARE PLAN: the same training, split over 1, 2, 3 and 4 data ranks, in
# micro-batches of several sizes, on one thread and two. PLAN is relative to the tests.
set -eu
planc=$1 compare=$2 plan=$3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

# To the bit: ranks and lanes are powers of two and the lanes are equal.
build four_lanes_dp1 "$plan" fp32 1 4 1
build four_lanes_dp2 "$plan" fp32 2 4 1
build four_lanes_dp4 "$plan" fp32 4 4 1
same four_lanes_dp1 four_lanes_dp2 || failed=1
same four_lanes_dp1 four_lanes_dp4 || failed=1
build two_lanes_dp1 "$plan" fp32 1 2 2
build two_lanes_dp2 "$plan" fp32 2 - 2
same two_lanes_dp1 two_lanes_dp2 || failed=1

# The same plan twice, and on two threads a rank.
build once "$plan" fp64 1 - 1
cp -r "$work/once" "$work/again"
train again
same once again || failed=1
cp -r "$work/once" "$work/two_threads"
train two_threads --threads 2
same once two_threads || failed=1

# Within bounds: what changes the order of a sum.
build dp3 "$plan" fp64 3 - 1
build dp4 "$plan" fp64 4 - 3
build micro_4 "$plan" fp64 1 - 4
build micro_12 "$plan" fp64 1 - 12
for other in dp3 dp4 micro_4 micro_12; do
	within_fp64 once $other || failed=1
done
build dp3_fp32 "$plan" fp32 3 - 2
within_fp32 four_lanes_dp1 dp3_fp32 || failed=1
exit $failed
