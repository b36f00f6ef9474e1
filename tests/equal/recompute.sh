#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# recompute.sh PLANC COMPARE PLAN: what backward computes again changes no bit, alone and with
# every split; the layout gets smaller and is what the program allocates. Attention that stores its
# probabilities is the same function as attention that does not. PLAN is relative to the tests.
set -eu
planc=$1 compare=$2 plan=$3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
steps=5

# layout NAME RANKS PRECISION MICRO MESH SPLIT MEMORY [SED]
layout() {
	build "$1" "$plan" "$3" "$2" "$in_lanes" "$4" "s/^  layers  *= .*/  layers = 4/
s/^  n   = 3/  n   = 4/
s/^mesh .*/mesh { $5 }/
s/^split .*/split { $6 }\\nmemory { $7, $attend }/
s/^  vocab    = 61/  vocab    = 62/
s/v = 61/v = 62/
s/^  eps = 1e-5/  eps = 1e-5, drop = 10 %/
${8:-}"
}

# bytes NAME: the arena, if what was allocated is what was predicted
bytes() {
	number='{"arena":\([0-9]*\),.*'
	predicted=$(sed -n "s/.*\"predicted\":$number/\1/p" "$work/$1/log")
	[ "$predicted" = "$(sed -n "s/.*\"allocated\":$number/\1/p" "$work/$1/log")" ] &&
		echo "$predicted"
}

# smaller NAME THAN
smaller() {
	this=$(bytes "$1") other=$(bytes "$2")
	[ "$this" -lt "$other" ] && echo "$1: $this bytes, $2: $other" && return 0
	echo "$1 holds $this bytes, $2 $other"
	return 1
}

# split NAME RANKS PRECISION MICRO MESH SPLIT [SED]: without recompute, with each form of it
split() {
	layout "$1" "$2" "$3" "$4" "$5" "$6" 'recompute = none' "${7:-}"
	for form in block $forms; do
		name=$1_$(echo "$form" | tr -cd 'a-z')
		layout "$name" "$2" "$3" "$4" "$5" "$6" "recompute = $form" "${7:-}"
		same "$1" "$name" || failed=1
		smaller "$name" "$1" || failed=1
	done
}

within='within node' in_lanes=- attend='attention = tiled'
feed='selective(mlp)' mix='selective(attention)' core='selective(attention.core)'
case $plan in
*third*) feed='selective(feed)' mix='selective(mix)' core='selective(mix.inner)' ;;
esac
# dims of the model that a tensor axis cuts
dims='[heads, kv_heads, ffn, vocab]' rows=ffn
case $plan in
*gpt*) dims='[heads, ffn, vocab]' ;;
*third*) dims='[b, d, v]' rows=d ;;
esac
data='data over dp' tensor="tensor over tp dims $dims"

forms="$feed $mix"
split alone 1 fp32 4 "dp = 1 $within" "$data"
split sequence 2 fp32 2 "tp = 2 $within" "$tensor, sequence over tp"
split all 8 fp32 1 "dp = 2 $within, pp = 2 $within, tp = 2 $within" \
	"$data, zero 3 over dp, $tensor, sequence over tp, pipeline over pp"
forms=$feed
split pipe 2 fp32 2 "pp = 2 $within" 'pipeline over pp { schedule = gpipe }'
forms=$mix
split zero 2 fp32 1 "dp = 2 $within" "$data, zero 3 over dp"
split chunks 2 mixed_bf16_16b 2 "pp = 2 $within" \
	'pipeline over pp { schedule = interleaved_1f1b, chunks = 2 }'
forms=
in_lanes=4
split lanes 1 fp64 1 "dp = 1 $within" "$data"
in_lanes=-
forms=$mix
wire='precision { compute = bf16, params = bf16, gradients = fp32, partial_wire = fp32'
split wire 2 mixed_bf16 2 "tp = 2 $within" "$tensor, sequence over tp" \
	"s/^precision = .*/$wire, optimizer = fp32, loss = fp32 }/"

# One stage of two; the same bits, and the first stage, which holds the most, gets smaller.
layout first 2 fp32 1 "pp = 2 $within" 'pipeline over pp' 'recompute = block on stage 0'
layout both 2 fp32 1 "pp = 2 $within" 'pipeline over pp' \
	"recompute = block on stage 1, recompute = $core on stage 0"
layout none 2 fp32 1 "pp = 2 $within" 'pipeline over pp' 'recompute = none'
same none first || failed=1
same none both || failed=1
smaller first none || failed=1

# Probabilities kept, or made again.
one="dp = 1 $within" two="tp = 2 $within"
for precision in fp64 fp32; do
	layout tiled_$precision 1 $precision 4 "$one" "$data" 'recompute = none'
done
attend='attention = stored'
for precision in fp64 fp32; do
	split stored_$precision 1 $precision 4 "$one" "$data"
	forms=$core
	within_$precision tiled_$precision stored_$precision || failed=1
	smaller tiled_$precision stored_$precision || failed=1
done
split stored_half 1 mixed_bf16 2 "$one" "$data"
split stored_sequence 2 fp64 4 "$two" "$tensor, sequence over tp"
within_fp64 stored_fp64 stored_sequence || failed=1
# no head is cut: probabilities are kept in rows
split stored_rows 2 fp64 4 "$two" "tensor over tp dims [$rows], sequence over tp"
within_fp64 stored_fp64 stored_rows || failed=1
split stored_all 8 fp32 1 "dp = 2 $within, pp = 2 $within, tp = 2 $within" \
	"$data, zero 3 over dp, $tensor, sequence over tp, pipeline over pp"
exit $failed
