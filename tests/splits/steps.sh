#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# steps.sh EXACT ONE GOT LOSS NORM: logs of a training in bf16, in roundings: EXACT in fp64 from the
# same weights, ONE on one rank, GOT of the layout. What rounding does to a step grows with the
# steps and is larger in narrow models, so a layout is held to what one rank has: in no step may it
# be four times as far from EXACT as one rank was so far, nor, where that is little, further than
# LOSS and NORM, relatively.
set -eu
figures() { # step, loss, gradient norm
	sed -n 's/^{"step":\([0-9]*\),"loss":\([^,]*\),"grad_norm":\([^,]*\),.*/\1 \2 \3/p' "$2" |
		sed "s/^/$1 /"
}
{
	figures exact "$1"
	figures one "$2"
	figures got "$3"
} | awk -v loss="$4" -v norm="$5" '
	function far(a, b) { return a > b ? a - b : b - a }
	function worse(k, step,  own, unit, by) {
		own = far(value["one", k, step], value["exact", k, step])
		if (own > most[k])
			most[k] = own
		unit = bound[k] * value["exact", k, step] / 4
		unit = most[k] > unit ? most[k] : unit
		by = unit > 0 ? far(value["got", k, step], value["exact", k, step]) / unit : 0
		if (!(by <= worst[k]))
			worst[k] = by
	}
	{
		value[$1, 1, $2] = $3
		value[$1, 2, $2] = $4
		steps[$1]++
		if ($3 !~ /^[0-9]/ || $4 !~ /^[0-9]/)
			bad = 1
	}
	END {
		name[1] = "loss"
		name[2] = "gradient norm"
		bound[1] = loss
		bound[2] = norm
		if (!steps["got"] || steps["got"] != steps["one"] || steps["got"] != steps["exact"])
			bad = 1
		for (k = 1; k <= 2; k++) {
			worst[k] = most[k] = 0
			for (step = 0; step < steps["got"]; step++)
				worse(k, step)
			bad += !(worst[k] <= 4)
			end = bad ? ": TOO MUCH" : ""
			printf "%s: %.2f, at most 4 roundings%s\n", name[k], worst[k], end
		}
		exit bad != 0
	}'
