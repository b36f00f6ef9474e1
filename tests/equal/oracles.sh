#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# oracles.sh PLANC COMPARE: small cases of data parallel training with known answers.
set -eu
planc=$1 compare=$2
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
plan=equal/llama.plan

# 10 samples in micro-batches of 2 over 3 ranks: ranks would run 2, 2 and 1 steps. Refused, with the
# values that go.
variant uneven $plan fp32 3 - 2 's/^  global_batch .*/  global_batch = 10 seq/'
code=0
"$planc" check "$work/uneven/program.plan" >"$work/said" 2>&1 || code=$?
if [ $code -ne 1 ] || ! grep -q '^error\[E0322\]' "$work/said" ||
	! grep -q '`6 seq` and `12 seq`' "$work/said"; then
	echo "10 samples, micro-batch 2, 3 ranks: exit code $code"
	cat "$work/said"
	failed=1
fi

# A group of one rank and six micro-batches: the gradient once, as without a group at all.
build alone $plan fp64 1 - 2
build no_mesh $plan fp64 1 - 2 '/^mesh/d; /^split/d'
build one_batch $plan fp64 1 - 12
same alone no_mesh || failed=1
within_fp64 alone one_batch || failed=1

# Clipping looks at the norm of the reduced gradient: a limit 5 % above it changes nothing, and one
# far below it does. The wrong norm, sqrt(ranks) times as large, would be clipped.
build free $plan fp64 2 - 2 '/^  clip /d'
limit=$(sed -n 's/.*"grad_norm": *\([0-9.e+-]*\).*/\1/p' "$work/free/log" |
	awk '$1 > most { most = $1 } END { printf "%.6f", 1.05 * most }')
build above $plan fp64 2 - 2 "s/^  clip .*/  clip = $limit/"
build below $plan fp64 2 - 2 "s/^  clip .*/  clip = 0.01/"
same free above || failed=1
if same free below >/dev/null; then
	echo 'a clip of 0.01 changes nothing'
	failed=1
fi

# 768 weights at 1.0 (two norms of 64 in six layers), 100 steps at 6e-4: with a master copy most
# move, in bf16 alone none does, and rounded by chance they move as far on average as in fp32.
plan=equal/gpt.plan steps=100 layers=6
deep="s/^  embed .*/  embed = 64, ffn = 16/; s/lr = 1e-3/lr = 6e-4/; /^  schedule/d
s/^  layers .*/  layers = $layers/; s/^  global_batch .*/  global_batch = 2 seq/
s/dropout *= 10 %/dropout = 0 %/"
types='compute = bf16, params = bf16, gradients = bf16, optimizer = bf16, loss = fp32'
build fp32 $plan fp32 1 - 2 "$deep"
build master $plan mixed_bf16_16b 1 - 2 "$deep"
build chance $plan pure_bf16 1 - 2 "$deep"
build nearest $plan fp32 1 - 2 "$deep; s/^precision = .*/precision { $types }/"

# ones NAME: the weights of the norms, a line each
ones() {
	file=$work/$1/weights
	length=$(od -An -tu8 -N8 "$file" | tr -d ' ')
	dd if="$file" bs=1 skip=8 count="$length" 2>"$work/said" |
		sed 's/"data_offsets":\[\([0-9]*\),/\n\1\n/g; s/"h\./\n&/g' >"$work/header"
	for layer in $(seq 0 $((layers - 1))); do
		for norm in 1 2; do
			name="^\"h\.$layer\.ln_$norm\.weight\""
			from=$(grep -A 1 "$name" "$work/header" | tail -n 1)
			od -An -v -tf4 -w4 -j $((8 + length + from)) -N $((4 * 64)) "$file"
		done
	done
}
# moved NAME: how many moved; how far on average, in the direction of fp32, as a share of what they
# move there
moved() {
	ones fp32 >"$work/want"
	ones "$1" | paste "$work/want" - | awk '
		{ n += $2 != 1; far += $1 > 1 ? $1 - 1 : 1 - $1; at += $1 > 1 ? $2 - 1 : 1 - $2 }
		END { printf "%d %.2f\n", n, (far > 0 ? at / far : 0) }'
}

# moves NAME LEAST MOST: how many; on average 0.6 to 1.4 of the way unless none may
moves() {
	said=$(moved "$1")
	echo "$1: weights that moved, and how far: $said"
	echo "$said" | awk -v least="$2" -v most="$3" '
		{ exit !($1 >= least && $1 <= most && (most == 0 || ($2 > 0.6 && $2 < 1.4))) }' ||
		failed=1
}
moves fp32 768 768
moves master 385 768
moves nearest 0 0
moves chance 385 768
exit $failed
