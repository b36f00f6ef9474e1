#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stages.sh PLANC COMPARE PLAN: what a program does beside its steps, in stages with every other
# split: validation, samples, weights in and out, checks of replicas, norms of tensors. All figures
# are those of one stage with the same other splits, to the last digit. PLAN is relative to the
# tests.
set -eu
planc=$1 compare=$2 plan=$3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
steps=5

# layout NAME RANKS LANES MICRO MESH SPLIT: trained twice, the second time from the first one's
# weights
layout() {
	build "$1" "$plan" fp32 "$2" "$3" "$4" "s/^  layers  *= .*/  layers = 4/
s/^mesh .*/mesh { $5 }/
s/^split .*/split { $6 }/
s/^  vocab    = 61/  vocab    = 62/
s/^  v    = 61/  v    = 62/
s/^  seed .*/  seed = 11\\n  validate { every = 2, batches = 1, share = 20 % }/" >/dev/null
	cp "$work/$1/weights" "$work/$1/first"
	cp "$work/$1/gradients" "$work/$1/first_gradients"
	train "$1" --init "$work/$1/first" --check-replicas 1 --log-tensors --save-every 2 \
		--sample 12 6 --temperature 0.5 >"$work/$1/text" </dev/null
	[ "$(wc -l <"$work/$1/text")" -ge 4 ] || failed=1
	arenas "$1" || failed=1
	figures "$work/$1/log" >"$work/$1/figures"
}

# arenas NAME: each stage has in memory what was predicted for it
arenas() {
	grep '"event":"memory"' "$work/$1/log" |
		grep -o '"predicted":[0-9]*,"resident":[0-9]*' >"$work/$1/arenas" || return 0
	awk -F '[:,]' '$2 != $4 || $2 == 0 { print "stage " NR - 1 ": " $0; bad = 1 }
		END { exit bad }' "$work/$1/arenas"
}

# figures LOG: all but the clock's and the arena's
figures() {
	grep -v -e '"event":"start"' -e '"event":"memory"' -e '"event":"end"' "$1" |
		sed 's/"tokens_per_s":[^,]*,"seconds":[^,}]*//'
}

# to NAME: compared with $one
to() {
	same "$one" "$1" || failed=1
	for what in first first_gradients figures text; do
		cmp "$work/$one/$what" "$work/$1/$what" || failed=1
	done
	rm -r "${work:?}/$1"
}

grep_for() {
	grep -q -- "$1" "$work/$one/figures" || {
		echo "the log has no $1"
		failed=1
	}
}

within='within node'
interleaved='pipeline over pp { schedule = interleaved_1f1b, chunks = 2 }'
gpipe='pipeline over pp { schedule = gpipe, layers = spread }'
layout alone 1 - 2 "pp = 1 $within" 'pipeline over pp'
one=alone
grep_for '"event":"validation"'
grep_for '"tensors":{"'
layout gpipe 3 - 2 "pp = 3 $within" "$gpipe"
[ "$(wc -l <"$work/gpipe/arenas")" -eq 3 ] || failed=1
to gpipe
layout chunks 2 - 2 "pp = 2 $within" "$interleaved"
to chunks
layout four 4 - 2 "pp = 4 $within" 'pipeline over pp'
to four

layout tensor 2 - 2 "tp = 2 $within" 'tensor over tp, sequence over tp'
one=tensor
layout tensor_gpipe 6 - 2 "tp = 2 $within, pp = 3 $within" \
	"tensor over tp, sequence over tp, $gpipe"
to tensor_gpipe

# Lanes, and ZeRO with one reduction a step: the bits of no ZeRO.
layout ranks 2 4 1 "dp = 2 $within" 'data over dp'
one=ranks
for stage in 1 2 3; do
	layout "ranks_$stage" 4 4 1 "pp = 2 $within, dp = 2 $within" \
		"data over dp { reduce = step }, zero $stage over dp, $interleaved"
	to "ranks_$stage"
done

data='data over dp { reduce = micro_batch }'
layout each 4 - 1 "dp = 2 $within, tp = 2 $within" "$data, tensor over tp"
one=each
layout each_0 8 - 1 "dp = 2 $within, tp = 2 $within, pp = 2 $within" \
	"$data, tensor over tp, $gpipe"
to each_0
layout each_2 8 - 1 "pp = 2 $within, dp = 2 $within, tp = 2 $within" \
	"$data, zero 2 over dp, tensor over tp, pipeline over pp"
to each_2
layout each_3 8 - 1 "dp = 2 $within, pp = 2 $within, tp = 2 $within" \
	"$data, zero 3 over dp { gather = step }, tensor over tp, $interleaved"
to each_3
exit $failed
