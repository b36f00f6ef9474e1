#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rounding.sh COMPARE EXACT ONE GOT: gradients of a bf16 layout, in roundings. EXACT: those of one
# rank in fp64 from the same weights; ONE: of one rank in bf16; GOT: of the layout. Files of
# --dump-gradients.
#
# bf16 rounds each value to 8 bits, and in a narrow model little of that averages out: one rank is
# up to 5e-2 of a tensor's norm away from EXACT, and a layout that rounds other partial sums is as
# far, in another direction. A bound on the distance of two bf16 gradients would have to be as wide
# as the narrowest model asks for. What is bounded is the distance from EXACT, in units of what one
# rank has: of that tensor's, or, where that is small by luck, of the whole gradient's.
set -eu
compare=$1 exact=$2 one=$3 got=$4
most=4 # measured over random layouts: 2.2 of a norm's weight of 4 elements, else below 2

# Lines `tensor: distance` of all tensors that differ; the last: that of the whole gradient.
distances() {
	"$compare" gradients "$exact" "$1" 0 | sed -n 's/^  \(.*\): \(.*\)$/\1 \2/p'
	"$compare" weights "$exact" "$1" 0 | sed -n 's/^weights: \([^,]*\),.*/whole \1/p'
}

{
	distances "$one" | sed 's/^/one /'
	distances "$got" | sed 's/^/got /'
} | awk -v most=$most '
	$1 == "one" { unit[$2] = $3 }
	$1 == "got" { distance[$2] = $3 }
	END {
		if (!("whole" in unit) || !("whole" in distance))
			exit 1
		for (t in distance) {
			by = unit[t] > unit["whole"] ? unit[t] : unit["whole"]
			if (!(by > 0) || distance[t] !~ /^[0-9]/)
				bad = t
			else if (distance[t] / by > worst) {
				worst = distance[t] / by
				name = t
			}
		}
		good = worst > 0 && worst <= most && !bad
		printf "worst tensor %s\nroundings: %.2e, at most %.0e%s\n", bad ? bad : name,
			worst, most, good ? "" : ": TOO MUCH"
		exit !good
	}'
