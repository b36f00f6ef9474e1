#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# splits.sh PLANC COMPARE PLAN_GEN MODELS EACH FIRST PART PARTS JOBS: of the layouts that plan_gen
# selects, EACH of MODELS models from FIRST on, those of every model whose turn is PART of PARTS,
# JOBS at a time, each compared with its twins. Says which failed and the worst difference by kind.
# With SPLITS_KEEP set, what failed stays in the temporary folder.
set -u
planc=$1 compare=$2 plan_gen=$3 models=$4 each=$5 first=$6 part=$7 parts=$8 jobs=$9
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap '[ -n "${SPLITS_KEEP:-}" ] || rm -rf "$work"' EXIT
seq 1 300 >"$work/data"

# Neighbouring turns, so that each part has models of all lengths.
"$plan_gen" select "$models" "$each" "$first" |
	awk -v share=$((models / parts * each)) -v part="$part" \
		'int((NR - 1) / share) == part' >"$work/seeds"
count=$(wc -l <"$work/seeds")
xargs -n 1 -P "$jobs" sh "$here/one.sh" "$planc" "$compare" "$plan_gen" "$work" <"$work/seeds"

ended() { # how many layouts ended with this verdict
	find "$work" -maxdepth 1 -name '*.result' -exec head -q -n 1 {} + | grep -c "^$1"
}
for result in "$work"/*.result; do
	[ "$(head -n 1 "$result")" = FAILED ] && cat "$result"
done
same=$(ended same)
echo "$count layouts: $same equal, $(ended FAILED) not"
sed -s -n '1s/^refused //p' "$work"/*.result | sort | uniq -c | sed 's/^ */refused: /'

# The worst by precision and kind: lines `fp64 loss: 1.2e-16, at most 1e-10`.
awk '
	/, at most / {
		kind = $0
		sub(/:.*/, "", kind)
		value = $0
		sub(/^[^:]*: /, "", value)
		if (value + 0 >= worst[kind] + 0)
			worst[kind] = value
	}
	END { for (k in worst) print "worst " k ": " worst[k] }' "$work"/*.result | sort
[ "$count" -gt 0 ] && [ "$same" -eq "$count" ]
