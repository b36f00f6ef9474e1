#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# c_names.sh PLANC: plans whose names are words of C, its headers or the emitter's own, or that C
# cannot tell apart; the program made of each has to compile.
set -u
planc=${1:?usage: c_names.sh PLANC}
case $planc in /*) ;; *) planc=$PWD/$planc ;; esac
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 3
failed=0

# build NAME SED [PLAN]
build() {
	sed "$2" "$here/${3:-c_names}.plan" >"$1.plan"
	"$planc" build -q "$1.plan" -o "out_$1" >"$1.log" 2>&1 && return
	failed=1
	echo "FAILED $1"
	head -n 30 "$1.log"
}

build words ''
build macros 's/\<while\>/NULL/g; s/\<int\>/EOF/g; s/\<for\>/assert/g; s/\<main\>/errno/g
	s/\<static\>/INT_MAX/g; s/\<double\>/stdin/g; s/\<struct\>/linux/g; s/\<return\>/I/g'
build types 's/\<while\>/size_t/g; s/\<int\>/int64_t/g; s/\<for\>/bool/g; s/\<main\>/exp/g
	s/\<static\>/uint32_t/g; s/\<double\>/float/g; s/\<struct\>/printf/g; s/\<return\>/memcpy/g'
build own 's/\<while\>/rt_main/g; s/\<int\>/batch_size/g; s/\<for\>/layer/g; s/\<main\>/model/g
	s/\<static\>/weight/g; s/\<double\>/schedule/g; s/\<struct\>/arena/g; s/\<return\>/PLAN_H/g'
build path 's/"table"/"..\/..\/x y\\n*\/ \\"%s"/; s/"union"/"\/*"/; s/"typedef"/"\\\\"/'

# of one plan, apart from each other
build apart '' c_clash
build axes 's/ { g = replicate(2) }//; s/\<g = 2/g = 4/' c_clash
build copies 's/a_b = 2, a = 2, b = 2/tp_copies = 2, tp = 4/; s/over a_b/over tp_copies/
	s/over a \* b/over tp/' c_clash
build stages 's/data over a_b/pipeline over a_b/; s/\<RT_F64\>/rt_buffer/g' c_clash
build lanes 's/steps .*/&\n  lanes = 4/; s/micro_batch  = 2/micro_batch  = 1/' c_clash
build bf16 's/\<GROUP_a\>/uint16_t/g; s/\<N_E\>/x_above/g; s/= fp32/= mixed_bf16/' c_clash
letters='s/"start.down"/"9"/; s/"start.up"/"+"/; s/"table"/"."/; s/"out"/" "/; s/"norm"/"重み"/'
own='s/\<first\>/workspace/g; s/\<GROUP_a\>/control/g; s/\<N_E\>/carried_x_add/g'
stages='s/data over a_b/pipeline over a_b/'
build dots 's/"start.down"/"a.b"/; s/"start.up"/"a_b"/' c_clash
build pieces 's/"start.down"/"a_0"/; s/"start.up"/"a[0]"/' c_clash
build letters "$letters" c_clash
build letters_of_stages "$stages; $letters" c_clash
build buffers "$own" c_clash
build buffers_of_stages "$stages; $own" c_clash
build slices "s/data over a_b/zero 3 over a_b\\n  &/; $letters; $own" c_clash
[ "$failed" -eq 0 ] && echo passed
exit "$failed"
