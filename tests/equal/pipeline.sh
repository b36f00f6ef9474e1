#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pipeline.sh PLANC COMPARE PLAN: the same training in stages, alone and with every other split,
# equal to the bit to one stage with the same other splits. PLAN is relative to the tests.
set -eu
planc=$1 compare=$2 plan=$3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
steps=5

trees=-
# layout NAME RANKS LAYERS MICRO MESH SPLIT [SED]
layout() {
	build "$1" "$plan" fp32 "$2" "$trees" "$4" "s/^  layers  *= .*/  layers = $3/
s/^mesh .*/mesh { $5 }/
s/^split .*/split { $6 }/
s/^  vocab    = 61/  vocab    = 62/
s/^  v    = 61/  v    = 62/
${7:-}"
}

within='within node'
one=
# to NAME: compared with the last layout of one stage
to() { same "$one" "$1" || failed=1; }

# Micro-batches fewer than stages, as many, more, and no multiple of them.
tied='s/tied_embeddings = true/tied_embeddings = false/'
for micro in 12 4 1; do
	layout one_$micro 1 4 $micro "pp = 1 $within" 'pipeline over pp'
	one=one_$micro
	layout two_$micro 2 4 $micro "pp = 2 $within" 'pipeline over pp { schedule = gpipe }'
	to two_$micro
	layout three_$micro 3 4 $micro "pp = 3 $within" 'pipeline over pp { layers = spread }'
	to three_$micro
	layout four_$micro 4 4 $micro "pp = 4 $within" 'pipeline over pp'
	to four_$micro
	layout chunks_$micro 2 4 $micro "pp = 2 $within" \
		'pipeline over pp { schedule = interleaved_1f1b, chunks = 2 }'
	to chunks_$micro
done
layout listed 3 4 4 "pp = 3 $within" 'pipeline over pp { layers = [1, 2, 1] }'
one=one_4
to listed
layout untied_one 1 4 2 "pp = 1 $within" 'pipeline over pp' "$tied"
one=untied_one
layout untied_two 2 4 2 "pp = 2 $within" 'pipeline over pp' "$tied"
to untied_two

# Several lanes are under way at once, each chunk is at another one.
trees=4
layout lanes_one 1 4 1 "pp = 1 $within" 'pipeline over pp'
one=lanes_one
layout lanes_two 2 4 1 "pp = 2 $within" 'pipeline over pp'
to lanes_two
layout lanes_gpipe 3 4 1 "pp = 3 $within" 'pipeline over pp { schedule = gpipe, layers = spread }'
to lanes_gpipe
layout lanes_chunks 4 4 1 "dp = 2 $within, pp = 2 $within" \
	'data over dp, zero 1 over dp, pipeline over pp { schedule = interleaved_1f1b, chunks = 2 }'
to lanes_chunks
trees=-

# With the other splits.
layout five_one 1 5 2 "pp = 1 $within" 'pipeline over pp'
one=five_one
layout five_spread 2 5 2 "pp = 2 $within" \
	'pipeline over pp { schedule = interleaved_1f1b, chunks = 2, layers = spread }'
to five_spread
layout data_one 2 4 1 "dp = 2 $within" 'data over dp'
one=data_one
layout data_three 6 4 1 "dp = 2 $within, pp = 3 $within" \
	'data over dp, pipeline over pp { layers = spread }'
to data_three
layout zero_two 4 4 1 "pp = 2 $within, dp = 2 $within" \
	'pipeline over pp, data over dp, zero 1 over dp'
to zero_two
layout each_one 2 4 1 "dp = 2 $within" 'data over dp { reduce = micro_batch }'
one=each_one
layout zero_3 4 4 1 "pp = 2 $within, dp = 2 $within" \
	'pipeline over pp, data over dp { reduce = micro_batch }, zero 3 over dp'
to zero_3
layout tensor_one 2 4 2 "tp = 2 $within" 'tensor over tp'
one=tensor_one
layout tensor_two 4 4 2 "pp = 2 $within, tp = 2 $within" 'pipeline over pp, tensor over tp'
to tensor_two
layout sequence_one 2 4 2 "tp = 2 $within" 'tensor over tp, sequence over tp'
one=sequence_one
layout sequence_two 4 4 2 "pp = 2 $within, tp = 2 $within" \
	'pipeline over pp { schedule = gpipe }, tensor over tp, sequence over tp'
to sequence_two
layout all_one 4 4 1 "dp = 2 $within, tp = 2 $within" \
	'data over dp, tensor over tp, sequence over tp'
one=all_one
layout all_two 8 4 1 "dp = 2 $within, pp = 2 $within, tp = 2 $within" \
	"data over dp, zero 1 over dp, tensor over tp, sequence over tp, \
pipeline over pp { schedule = interleaved_1f1b, chunks = 2 }"
to all_two
exit $failed
