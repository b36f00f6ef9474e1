#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train.sh PLANC JSON_LINES EXAMPLES: the plans for CPU cores, built and trained for a few steps on
# the same text.
set -u
planc=$1 json_lines=$2 examples=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir data
seq 1 20000 | sed 's/$/ and then/' >data/text.txt
failed=0

fault() {
	failed=$((failed + 1))
	echo "$name: $1"
}

# train FILE: FILE.log, FILE.weights and a line of losses in FILE.losses
train() {
	name=${1##*/}
	name=${name%.plan}
	"$planc" build -q "$1" -o "$name.out" >said 2>&1 || {
		fault "not built: $(head -n 3 said)"
		return
	}
	program=$(sed -n 's/^plan \([a-z0-9_]*\).*/\1/p' "$1")
	"$name.out/$program" --quiet --steps 3 --log "$name.log" --save "$name.weights" \
		>said 2>&1 || fault "ended with $?: $(head -n 3 said)"
	grep -q '"ranks":{"arena":\(\[[0-9,]*\]\),"resident":\1,' "$name.log" ||
		fault 'a rank does not hold the bytes predicted'
	"$json_lines" "$name.log" step loss | awk '{ printf "%s ", $2 }' >"$name.losses"
	awk '{ exit !(NF == 3 && $3 < $1) }' "$name.losses" ||
		fault "losses do not fall: $(cat "$name.losses")"
}

# equal A B: the same weights to the bit
equal() {
	name=$1
	cmp "$1.weights" "$2.weights" || fault "not the bits of $2"
}

# near A B BOUND: losses of each step
near() {
	name=$1
	cat "$1.losses" >both
	echo >>both
	cat "$2.losses" >>both
	awk -v bound="$3" '
		NR == 1 { for (i = 1; i <= 3; i++) first[i] = $i }
		NR == 2 {
			for (i = 1; i <= 3; i++) {
				far = $i > first[i] ? $i - first[i] : first[i] - $i
				worst = far > worst ? far : worst
			}
		}
		END {
			printf "losses %.1e apart, at most %s: ", worst, bound
			exit !(worst <= bound)
		}' both || fault "other losses than $2"
	echo "$1, $2"
}

for plan in "$examples"/*.plan; do
	! grep -q 'cpu\.core' "$plan" || train "$plan"
done
for n in 1 2; do
	sed "s/= 4 of/= $n of/; s/dp = 4/dp = $n/" "$examples/data.plan" >data$n.plan
	train data$n.plan
	equal data$n data
done
equal zero1 data
equal zero3 zero2
for other in zero2 tensor pipeline; do
	near $other data 1e-5
done
near mixed data 1e-1
near four-ways mixed 1e-3
[ $failed -eq 0 ]
