#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# zero.sh PLANC COMPARE PLAN: the same training with nothing, the optimizer, gradients or weights in
# slices over the data ranks. PLAN is relative to the tests.
set -eu
planc=$1 compare=$2 plan=$3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
steps=6

# split STAGE [DATA [ZERO]]: the sed script that sets it; settings of data and of zero
split() {
	printf '%s' "s/data over dp/data over dp { ${2:-} }\\n  zero $1 over dp { ${3:-} }/"
}

# To the bit at every number of ranks: one micro-batch a rank, or reduced once a step.
for ranks in 2 3 4; do
	one=$((12 / ranks))
	build none$ranks $plan fp32 $ranks - $one
	build one1$ranks $plan fp32 $ranks - $one "$(split 1)"
	build one2$ranks $plan fp32 $ranks - $one "$(split 2)"
	build one3$ranks $plan fp32 $ranks - $one "$(split 3)"
	same none$ranks one1$ranks || failed=1
	same none$ranks one2$ranks || failed=1
	same none$ranks one3$ranks || failed=1
done
build many $plan fp64 2 - 1
build many1 $plan fp64 2 - 1 "$(split 1)"
build step2 $plan fp64 2 - 1 "$(split 2 'reduce = step')"
build step3 $plan fp64 2 - 1 "$(split 3 'reduce = step' 'prefetch = 0')"
same many many1 || failed=1
same many step2 || failed=1
same many step3 || failed=1

# Reduced after every micro-batch: within bounds of the above, and all alike.
build each0 $plan fp64 2 - 1 's/data over dp/data over dp { reduce = micro_batch }/'
build each1 $plan fp64 2 - 1 "$(split 1 'reduce = micro_batch')"
build each2 $plan fp64 2 - 1 "$(split 2)"
build each3 $plan fp64 2 - 1 "$(split 3)"
build held3 $plan fp64 2 - 1 "$(split 3 '' 'gather = step')"
within_fp64 many each0 || failed=1
same each0 each1 || failed=1
same each0 each2 || failed=1
same each0 each3 || failed=1
same each0 held3 || failed=1

# Weights in bf16 beside master copies; a gather is of bf16, a reduction of fp32.
build mixed $plan mixed_bf16 3 - 2 's/data over dp/data over dp { reduce = micro_batch }/'
for stage in 1 2 3; do
	build mixed$stage $plan mixed_bf16 3 - 2 "$(split $stage 'reduce = micro_batch')"
	same mixed mixed$stage || failed=1
done

# Numbers of ranks that divide no tensor.
for ranks in 5 7; do
	batch="s/^  global_batch .*/  global_batch = $((2 * ranks)) seq/"
	build odd$ranks $plan fp64 $ranks - 2 "$batch"
	build odd2$ranks $plan fp64 $ranks - 1 "$batch; $(split 2)"
	build odd3$ranks $plan fp64 $ranks - 1 "$batch; $(split 3)"
	within_fp64 odd$ranks odd2$ranks || failed=1
	same odd2$ranks odd3$ranks || failed=1
done
exit $failed
