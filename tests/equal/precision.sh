#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# precision.sh PLANC COMPARE PLAN: weights in bf16 without a master copy, and gradients and partial
# sums that are sent in another type than they are kept in, over every split. PLAN is relative to
# the tests.
set -eu
planc=$1 compare=$2 plan=$3
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$(dirname "$planc")/.." && pwd)
. "$here/lib.sh"
. "$here/rounding.sh"
steps=6
within='within node'

# types COMPUTE PARAMS GRADIENTS GRADIENT_WIRE PARTIAL_WIRE OPTIMIZER [MORE]: a block
types() {
	printf '%s' "s/^precision = .*/precision {\\n  compute = $1, params = $2, gradients = $3\\n"
	printf '%s' "  gradient_wire = $4, partial_wire = $5, optimizer = $6, loss = fp32\\n"
	printf '%s' "  ${7:-}\\n}/"
}
chance='stochastic_rounding = true'

# layout NAME RANKS LANES MICRO MESH SPLIT: in $precision
layout() {
	build "$1" "$plan" fp32 "$2" "$3" "$4" "s/^mesh .*/mesh { $5 }/
s/^split .*/split { $6 }/
s/^  vocab    = 61/  vocab    = 62/
s/^  layers  *= .*/  layers = 4/
$precision"
}

# slices SUFFIX STAGE...: ZeRO, reduced once a step on two ranks, each micro-batch on three
slices() {
	kind=$1 dp2="dp = 2 $within" dp3="dp = 3 $within"
	shift
	once='data over dp { reduce = step }' often='data over dp { reduce = micro_batch }'
	layout none$kind 2 - 1 "$dp2" 'data over dp'
	layout each$kind 3 - 2 "$dp3" "$often"
	for stage; do
		layout step$stage$kind 2 - 1 "$dp2" "$once, zero $stage over dp"
		layout each$stage$kind 3 - 2 "$dp3" "$often, zero $stage over dp"
		same none$kind step$stage$kind || failed=1
		same each$kind each$stage$kind || failed=1
	done
}

# stages SUFFIX: a pipeline with everything else, equal to one stage
stages() {
	dp="dp = 2 $within" pp="pp = 2 $within" tp="tp = 2 $within"
	often='data over dp { reduce = micro_batch }'
	layout all$1 4 - 1 "$dp, $tp" 'data over dp, tensor over tp, sequence over tp'
	layout piped$1 8 - 1 "$dp, $pp, $tp" "data over dp, zero 1 over dp, \
tensor over tp, sequence over tp, pipeline over pp { schedule = interleaved_1f1b, chunks = 2 }"
	same all$1 piped$1 || failed=1
	layout all_each$1 4 - 1 "$dp, $tp" "$often, tensor over tp"
	layout piped_each$1 8 - 1 "$dp, $pp, $tp" \
		"$often, zero 3 over dp, tensor over tp, pipeline over pp"
	same all_each$1 piped_each$1 || failed=1
}

# measured ONE: what one rank in bf16 rounds, against variant `exact`, it in fp64
measured() {
	exact "$work/$1" "$work/exact" "$work/$1.exact" &&
		units "$work/$1" "$work/exact" "$work/$1.units" && return 0
	cat "$work/$1".*/*said
	exit 1
}

# rounds ONE GOT [GRADIENTS]: in bf16, within the bounds of README.md; other random numbers would
# move the weights further
rounds() {
	[ -f "$work/$1.units/units" ] || measured "$1"
	within "$1" "$2" 2e-3 5e-2 "${3:-1}" 3e-3 &&
		roundings "$work/$1.units/units" "$work/$1.exact" "$work/$2"
}

# apart A B: they differ in some bit
apart() {
	if same "$1" "$2" >/dev/null; then
		echo "$1 and $2 should differ"
		failed=1
	fi
}

# ---- weights in bf16, rounded by chance ------------------------------------------------------
precision='s/^precision = .*/precision = pure_bf16/'
slices '' 1 2 3
stages ''
layout lane 1 2 1 "dp = 1 $within" 'data over dp'
same none lane || failed=1
layout one 1 - 2 "tp = 1 $within" 'tensor over tp'
layout two 2 - 2 "pp = 2 $within" 'pipeline over pp'
same one two || failed=1
layout tensor 2 - 2 "tp = 2 $within" 'tensor over tp'
precision='s/^precision = .*/precision = fp64/'
layout exact 1 - 2 "tp = 1 $within" 'tensor over tp'
rounds one tensor || failed=1
precision="$(types bf16 bf16 bf16 bf16 bf16 bf16)"
layout nearest 1 - 2 "tp = 1 $within" 'tensor over tp'
apart one nearest

# A random number that goes by the place in the slice or block, or belongs to another tensor, shows.
# fault NAME OF FILE-LINES SED
fault() {
	cp -r "$work/$2" "$work/$1"
	sed -i "/rt_adamw_stochastic/,/}));/$3" "$work/$1/model.c"
	make -s -C "$work/$1" PLANC="$root" CFLAGS='-O0 -Wno-unused' >"$work/said" 2>&1 || {
		cat "$work/said"
		exit 1
	}
	train "$1"
}
fault of_the_slice step1 's/, rt_index(rt, GROUP_dp) \* [0-9]*}/, 0}/'
apart none of_the_slice
for change in 'of_the_block s/rt_index(rt, GROUP_tp)/0/' 'of_another s/size = {/size = {99 + /'; do
	fault ${change%% *} tensor "${change#* }"
	if rounds one ${change%% *} >/dev/null; then
		echo "${change%% *}: NOT FOUND"
		failed=1
	fi
done

# Products that tensor ranks add up before they are rounded, and after: the bound of the former is
# under what the latter have.
for wire in fp32 bf16; do
	precision="$(types bf16 bf16 fp32 fp32 $wire fp32)"
	layout one_$wire 1 - 2 "tp = 1 $within" 'tensor over tp'
	layout sum_$wire 2 - 2 "tp = 2 $within" 'tensor over tp'
	layout rows_$wire 2 - 2 "tp = 2 $within" 'tensor over tp, sequence over tp'
	bound=1
	[ $wire = bf16 ] || bound=1e-2
	rounds one_$wire sum_$wire $bound || failed=1
	rounds one_$wire rows_$wire $bound || failed=1
done
if rounds one_bf16 sum_bf16 1e-2 >/dev/null; then
	echo 'products in bf16 are as near as those in fp32'
	failed=1
fi
same one_fp32 one_bf16 || failed=1
apart sum_fp32 sum_bf16

# Gradients in fp32, sent in bf16, under weights that are rounded by chance.
precision="$(types bf16 bf16 fp32 bf16 bf16 bf16 "$chance")"
slices _wide 1 3

# ---- wires ---------------------------------------------------------------------------------
precision="$(types fp32 fp32 fp32 bf16 bf16 fp32)"
slices _narrow 1 3
stages _narrow
layout one_narrow 1 - 2 "tp = 1 $within" 'tensor over tp'
layout two_narrow 2 - 2 "tp = 2 $within" 'tensor over tp'
precision=
layout one_plain 1 - 2 "tp = 1 $within" 'tensor over tp'
layout two_plain 2 - 2 "tp = 2 $within" 'tensor over tp'
layout none_plain 2 - 1 "dp = 2 $within" 'data over dp'
same one_plain one_narrow || failed=1 # nothing is sent, nothing is rounded
apart two_plain two_narrow
apart none_plain none_narrow
within two_plain two_narrow 2e-3 5e-2 3e-2 1e-3 || failed=1
within none_plain none_narrow 2e-3 5e-2 3e-2 1e-3 || failed=1

precision="$(types bf16 bf16 bf16 fp32 fp32 fp32)"
slices _bf16 2
stages _bf16
replica="replica = 2 $within, shard = 2 $within"
layout whole_bf16 4 - 3 "$replica" 'data over replica * shard'
for stage in 1 3; do
	layout hybrid$stage 4 - 3 "$replica" "data over replica * shard { reduce = step }, \
zero $stage over shard"
	same whole_bf16 hybrid$stage || failed=1
done

# Weights in fp32 that are read as a copy in bf16 are weights in bf16 with a master copy.
precision="$(types bf16 fp32 fp32 fp32 bf16 fp32)"
layout copy 2 - 1 "dp = 2 $within" 'data over dp, zero 1 over dp'
precision='s/^precision = .*/precision = mixed_bf16/'
layout master 2 - 1 "dp = 2 $within" 'data over dp, zero 1 over dp'
same master copy || failed=1
exit $failed
