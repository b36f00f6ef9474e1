#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rounding.sh COMPARE EXACT ONE GOT: how far a bf16 layout is from its twin, in roundings. Folders
# with `log` and `gradients`: EXACT of one rank in fp64 from the same weights, ONE of one rank in
# bf16, GOT of the layout. Prints loss, gradient norm and first gradients, with their bounds.
#
# bf16 rounds each value to 8 bits, and in a narrow model little of that averages out: one rank is
# up to 5e-2 of a tensor's norm away from EXACT, and a layout that rounds other partial sums is as
# far, in another direction. Where weights are in bf16 too, the norm of a later step is up to two
# thirds off. A bound on the distance of two bf16 trainings would have to be as wide as the narrowest
# model asks for. What is bounded is the distance from EXACT, in units of what one rank has: of that
# tensor's, or, where that is small by luck, of the whole gradient's. Loss and norm may also be as
# far as those of wide models are: 2e-3 and 5e-2.
set -eu
compare=$1 exact=$2 one=$3 got=$4
most=4 # measured over random layouts: 2.2 of a norm's weight of 4 elements, else below 2

# Lines `KEY distance`: loss and norm, all tensors that differ, the whole gradient.
distances() {
	"$compare" log "$exact/log" "$1/log" 0 0 |
		sed -n -e 's/^loss: \([^,]*\),.*/=loss \1/p' -e 's/^gradient norm: \([^,]*\),.*/=norm \1/p'
	"$compare" gradients "$exact/gradients" "$1/gradients" 0 | sed -n 's/^  \(.*\): \(.*\)$/\1 \2/p'
	"$compare" weights "$exact/gradients" "$1/gradients" 0 |
		sed -n 's/^weights: \([^,]*\),.*/=whole \1/p'
}

{
	distances "$one" | sed 's/^/one /'
	distances "$got" | sed 's/^/got /'
} | awk -v most=$most '
	function verdict(what, value, bound, good) {
		good = value ~ /^[0-9]/ && value + 0 <= bound
		printf "%s: %.2e, at most %.0e%s\n", what, value, bound, good ? "" : ": TOO MUCH"
		return good
	}
	function larger(a, b) {
		return a > b ? a : b
	}
	$1 == "one" { unit[$2] = $3 }
	$1 == "got" { distance[$2] = $3 }
	END {
		split("=loss =norm =whole", needed, " ")
		for (i in needed)
			if (!(needed[i] in unit) || !(needed[i] in distance))
				exit 1
		good = verdict("loss", distance["=loss"], larger(2e-3, most * unit["=loss"]))
		good = verdict("gradient norm", distance["=norm"],
			larger(5e-2, most * unit["=norm"])) && good
		worst = -1
		for (t in distance) {
			if (t == "=loss" || t == "=norm")
				continue
			by = larger(unit[t], unit["=whole"])
			off = by > 0 && distance[t] ~ /^[0-9]/ ? distance[t] / by : 1e9
			if (off > worst) {
				worst = off
				name = t
			}
		}
		printf "worst tensor %s\n", name
		exit !(verdict("roundings", worst "", most) && good)
	}'
