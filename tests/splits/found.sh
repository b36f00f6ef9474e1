#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# found.sh PLANC COMPARE PLAN_GEN: seeds of layouts that a longer run once found unequal, each with
# what was wrong; they stay equal.
set -u
planc=$1 compare=$2 plan_gen=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# found SEED TRAIT...: TRAIT is part of what the seed draws, so that a generator that draws other
# plans is noticed
found() {
	seed=$1
	shift
	sh "$here/one.sh" "$planc" "$compare" "$plan_gen" "$work" "$seed"
	for trait; do
		grep -qF -- "$trait" "$work/$seed.result" || {
			echo "seed $seed draws another plan: no \`$trait\`"
			failed=1
		}
	done
	[ "$(head -n 1 "$work/$seed.result")" = same ] || failed=1
	cat "$work/$seed.result"
}

# Key/value heads in copies on the inner of two tensor axes: rows were gathered over the outer axis
# while the inner one still cut them, and came in another order.
found 1004131 'tensor over ta * tb' 'kv_heads 2 times' 'sequence'
# A tensor whose last block of 64 has 25 to 31 elements, or as many more as 16 divides: zeros behind
# it, as a slice has them, moved a bit of the norm.
found 1008007 'zero 2 over dp' 'dp 3 tp 2'
# A vocabulary of 63: where the processor has tiles, oneDNN 2.6.3 gets bf16 sums of 32 and 31 terms
# wrong, or ends in SIGILL.
found 1074003 'gpt, precision = mixed_bf16_16b' 'tp 1' '7 of 7 seq'
found 1122001 'llama, precision { compute = bf16' '10 of 10 seq' 'threads 2'
exit $failed
