#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# zero_mesh.sh PLANC COMPARE PLAN: slices over the data ranks together with tensor ranks, lanes
# and replicas of the slices; weights in slices that are read, written and sampled from. PLAN is
# relative to the tests.
set -eu
planc=$1 compare=$2 plan=$3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
steps=6

# mesh AXES SPLIT: the sed script that sets them; \n begins a line
mesh() {
	printf '%s' "s/^mesh .*/mesh { $1 }/; s/^split .*/split { $2 }/"
}
tensor="tensor over tp dims [heads, kv_heads, ffn]"
case $plan in *gpt*) tensor="tensor over tp" ;; esac
both='dp = 2 within node\n  tp = 2 within node'
build tp $plan fp64 4 - 2 "$(mesh "$both" "data over dp\\n  $tensor")"
for stage in 1 2 3; do
	data='data over dp { reduce = step }'
	build tp_one$stage $plan fp64 4 - 2 \
		"$(mesh "$both" "$data\\n  zero $stage over dp\\n  $tensor")"
	same tp tp_one$stage || failed=1
done
build tp2 $plan fp64 4 - 2 "$(mesh "$both" "data over dp\\n  zero 2 over dp\\n  $tensor")"
build tp3 $plan fp64 4 - 2 "$(mesh "$both" "data over dp\\n  zero 3 over dp\\n  $tensor")"
within_fp64 tp tp2 || failed=1
same tp2 tp3 || failed=1

# Lanes of a rank have accumulators of their own, in slices too.
build lanes $plan fp64 2 4 1
build lanes2 $plan fp64 2 4 1 "$(mesh 'dp = 2 within node' 'data over dp\n  zero 2 over dp')"
build lanes3 $plan fp64 2 4 1 "$(mesh 'dp = 2 within node' 'data over dp\n  zero 3 over dp')"
build lanes_step3 $plan fp64 2 4 1 \
	"$(mesh 'dp = 2 within node' 'data over dp { reduce = step }\n  zero 3 over dp')"
same lanes lanes_step3 || failed=1
within_fp64 lanes lanes2 || failed=1
same lanes2 lanes3 || failed=1

# Replicas of the slices: the sum goes over both, in the order of the whole tree.
hybrid='replica = 2 within node\n  shard = 2 within node'
build whole $plan fp64 4 - 3
for stage in 1 2 3; do
	build hybrid$stage $plan fp64 4 - 3 \
		"$(mesh "$hybrid" "data over replica * shard\\n  zero $stage over shard")"
	same whole hybrid$stage || failed=1
done

# A file of whole weights goes in and out, a sample is the same, replicas are alike.
cp -r "$work/whole" "$work/again"
cp -r "$work/hybrid3" "$work/again3"
for name in again again3; do
	train $name --init "$work/hybrid3/weights" --check-replicas 2 --log-tensors \
		--sample 12 8 --temperature 0 >"$work/$name.said"
done
same again again3 || failed=1
cmp "$work/again.said" "$work/again3.said" || failed=1
exit $failed
