#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# diff.sh PLANC COMPARE: what `planc diff` says of the trained result is what training shows: "same
# bits" are the same bits, "within rounding" keeps the bounds, "another training" does not.
set -eu
planc=$1 compare=$2 plan=equal/llama.plan
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
steps=6

# mesh AXES SPLIT: the sed script that sets them; \n begins a line
mesh() {
	printf '%s' "s/^mesh .*/mesh { $1 }/; s/^split .*/split { $2 }/"
}

# A wire of bf16 rounds as bf16 does.
within_bf16() { within "$1" "$2" 2e-3 5e-2 3e-2 1; }

# pair SAYS A B [BOUNDS]: the verdict of diff, and what the two programs trained
pair() {
	said=$("$planc" diff -q "$work/$2/program.plan" "$work/$3/program.plan" |
		sed -n 's/^trained result: //p')
	echo "$2, $3: $said"
	[ "$said" = "$1" ] || {
		echo "diff says \`$said\` of $2 and $3, expected \`$1\`"
		"$planc" diff -q "$work/$2/program.plan" "$work/$3/program.plan"
		failed=1
	}
	case $said in
	'same bits') same "$2" "$3" || failed=1 ;;
	'within rounding') "${4:-within_fp64}" "$2" "$3" || failed=1 ;;
	*)
		if within_fp64 "$2" "$3" >"$work/apart"; then
			echo "$2 and $3 are the same training"
			failed=1
		fi
		;;
	esac
}

# one NAME SED: one rank, micro-batches of one
one() {
	build "$1" $plan fp64 1 - 1 "$2"
}

dp2='dp = 2 within node'
build one $plan fp64 1 - 1
build one_lanes $plan fp64 1 4 1

# ---- the same bits
one names 's/mesh { dp/mesh { lane/; s/over dp/over lane/; s/^model small/model tiny/'
pair 'same bits' one names
one kept 's/^split/memory { reserve = 1 MiB }\n&/; s/memory = 256/memory = 300/'
pair 'same bits' one kept
one stages "$(mesh 'pp = 2 within node' 'pipeline over pp'); s/1 of cpu/2 of cpu/"
pair 'same bits' one stages
gpipe='pipeline over pp { schedule = gpipe }'
one gpipe "$(mesh 'pp = 2 within node' "$gpipe"); s/1 of cpu/2 of cpu/"
pair 'same bits' stages gpipe
one block 's/^split/memory { recompute = block }\n&/'
pair 'same bits' one block
one mlp 's/^split/memory { recompute = selective(mlp) }\n&/'
pair 'same bits' block mlp
build lanes_dp2 $plan fp64 2 4 1
pair 'same bits' one_lanes lanes_dp2
build lanes_dp4 $plan fp64 4 4 1
pair 'same bits' lanes_dp2 lanes_dp4
build dp2 $plan fp64 2 - 1
build step1 $plan fp64 2 - 1 "$(mesh "$dp2" 'data over dp\n  zero 1 over dp')"
pair 'same bits' dp2 step1
build step3 $plan fp64 2 - 1 \
	"$(mesh "$dp2" 'data over dp { reduce = step }\n  zero 3 over dp { prefetch = 2 }')"
pair 'same bits' step1 step3
build each2 $plan fp64 2 - 1 "$(mesh "$dp2" 'data over dp\n  zero 2 over dp')"
build each3 $plan fp64 2 - 1 "$(mesh "$dp2" 'data over dp\n  zero 3 over dp { gather = step }')"
pair 'same bits' each2 each3
build single $plan fp64 2 - 6
build single2 $plan fp64 2 - 6 "$(mesh "$dp2" 'data over dp\n  zero 2 over dp')"
pair 'same bits' single single2
build dp4 $plan fp64 4 - 1
four='rp = 2 within node\n  dp = 2 within node'
build inner $plan fp64 4 - 1 "$(mesh "$four" 'data over rp * dp\n  zero 1 over dp')"
pair 'same bits' dp4 inner

# ---- within rounding
build outer $plan fp64 4 - 1 "$(mesh "$four" 'data over rp * dp\n  zero 1 over rp')"
pair 'within rounding' dp4 outer
pair 'within rounding' inner outer
pair 'within rounding' one one_lanes
pair 'within rounding' one dp2
build dp3 $plan fp64 3 - 1
pair 'within rounding' one dp3
build micro $plan fp64 1 - 3
pair 'within rounding' one micro
pair 'within rounding' dp2 each2
tensor='tensor over tp dims [heads, kv_heads, ffn]'
one tensor "$(mesh 'tp = 2 within node' "$tensor"); s/1 of cpu/2 of cpu/"
pair 'within rounding' one tensor
one sequence "$(mesh 'tp = 2 within node' "$tensor\\n  sequence over tp"); s/1 of cpu/2 of cpu/"
pair 'within rounding' tensor sequence
one padded 's/^  vocab .*/&\n  vocab_pad_to = 16/'
pair 'within rounding' one padded
one threads 's/{ memory = 256 MiB }/{ memory = 256 MiB, cores = 2 }/'
pair 'within rounding' one threads

wire() {
	printf '%s' "s/^precision = .*/precision { compute = fp32, params = fp32, gradients = fp32,"
	printf '%s' " optimizer = fp32, loss = fp32, $1 = bf16 }/"
}
build dp2_fp32 $plan fp32 2 - 1
build dp2_wire $plan fp32 2 - 1 "$(wire gradient_wire)"
pair 'within rounding' dp2_fp32 dp2_wire within_bf16
build cut_fp32 $plan fp32 2 - 1 "$(mesh 'tp = 2 within node' "$tensor")"
build cut_wire $plan fp32 2 - 1 "$(mesh 'tp = 2 within node' "$tensor"); $(wire partial_wire)"
pair 'within rounding' cut_fp32 cut_wire within_bf16
build one_fp32 $plan fp32 1 - 1
build one_wire $plan fp32 1 - 1 "$(wire gradient_wire)"
pair 'same bits' one_fp32 one_wire

# ---- another training
while read -r name change; do
	one "$name" "$change"
	pair 'another training' one "$name"
done <<END
seed s/seed .*= 3/seed = 4/
rate s/lr = 1e-3/lr = 2e-3/
decay s/weight_decay = 0.1/weight_decay = 0.2/
moment s/0.99\]/0.95]/
clip s/clip .*= 0.5/clip = 0.25/
length s/seq_len .*= 16/seq_len = 8/
batch s/global_batch .*= 12/global_batch = 24/
warm s/warmup = 5/warmup = 2/
width s/ffn .*= 36/ffn = 40/
tied s/tied_embeddings = false/tied_embeddings = true/
steps s/^  steps .*/  steps = 7/
share s/^  seed.*/&\n  validate { every = 100, share = 20 % }/
END
pair 'another training' one one_fp32
exit $failed
