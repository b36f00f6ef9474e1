#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# splits.sh PLANC COMPARE PLAN_GEN FIRST COUNT JOBS: layouts of the generator from seed FIRST on,
# JOBS at a time, each compared with its twins, until COUNT were. Says which failed and the worst
# difference by kind. With SPLITS_KEEP set, what failed stays in the temporary folder.
set -u
planc=$1 compare=$2 plan_gen=$3 first=$4 count=$5 jobs=$6
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap '[ -n "${SPLITS_KEEP:-}" ] || rm -rf "$work"' EXIT
seq 1 300 >"$work/data"
next=$first done=0

ended() { # how many layouts ended with this verdict
	find "$work" -maxdepth 1 -name '*.result' -exec head -q -n 1 {} + | grep -c "^$1"
}

# Rounds of as many layouts as are left, so that the result depends on no clock.
while [ "$done" -lt "$count" ]; do
	last=$((next + count - done - 1))
	seq "$next" "$last" | xargs -n 1 -P "$jobs" \
		sh "$here/one.sh" "$planc" "$compare" "$plan_gen" "$work"
	next=$((last + 1))
	done=$(($(ended same) + $(ended FAILED)))
	[ $((next - first)) -lt $((20 * count)) ] || break
done

failed=$(ended FAILED)
for result in "$work"/*.result; do
	[ "$(head -n 1 "$result")" = FAILED ] && cat "$result"
done
echo "seeds $first to $((next - 1)): $(ended same) layouts equal, $failed not"
sed -s -n '1s/^refused //p' "$work"/*.result | sort | uniq -c | sed 's/^ */refused: /'

# The worst by kind and precision: lines `loss: 1.2e-16, at most 1e-10`.
awk '
	FNR == 2 { precision = $3 }
	/, at most / {
		kind = $0
		sub(/:.*/, "", kind)
		value = $0
		sub(/^[^:]*: /, "", value)
		if (value + 0 >= worst[precision " " kind] + 0)
			worst[precision " " kind] = value
	}
	END { for (k in worst) print "worst " k ": " worst[k] }' "$work"/*.result | sort
[ "$failed" -eq 0 ] && [ "$done" -ge "$count" ]
