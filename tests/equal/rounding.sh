#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rounding.sh: a training in bf16 is measured in roundings of one rank. Sourced with $compare and
# $work set; $work/data is the data.
#
# bf16 rounds each value to 8 bits, and in a narrow model little of that averages out: one rank is
# up to 3e-1 of a tensor's norm away from fp64, and a layout that rounds other partial sums is as
# far, in another direction. A bound on the distance of two bf16 trainings would have to be as wide
# as the narrowest model asks for. What is bounded is the distance from fp64, in units of what one
# rank has. One training of one rank is no unit: it is near fp64 by luck in one tensor of a hundred,
# and where a relu stands at its edge, roundings decide whether a token passes it. So one rank
# trains from sixteen places: some a step apart, where it stands at the same edges, some as far as
# moves every weight by a rounding or more, else all of them have the same luck.
most_roundings=3
steps_between='1 1 1 1 1 1 1 1 16 16 16 16 16 16 16 16'

# figures NAME LOG: loss and norm of each step, losses of held-out data
figures() {
	sed -n -e 's/^{"step":\([0-9]*\),"loss":\([^,]*\),"grad_norm":\([^,]*\),.*/loss \1 \2\
norm \1 \3/p' -e 's/.*"step":\([0-9]*\).*"validation_loss":\([^,}]*\).*/validation \1 \2/p' "$2" |
		sed "s/^/$1 /"
}

# distances EXACT GOT: of two folders with log and gradients. Lines `KIND PLACE DISTANCE`, relative:
# loss, norm and validation by step, gradient by tensor that differs and `whole`.
distances() {
	{
		figures exact "$1/log"
		figures got "$2/log"
	} | awk '
		$1 == "exact" { want[$2 " " $3] = $4 }
		$1 == "got" {
			off = $4 / want[$2 " " $3] - 1
			print $2, $3, off < 0 ? -off : off
			n++
		}
		END { exit !n || n != length(want) }' || return 1
	"$compare" gradients "$1/gradients" "$2/gradients" 0 |
		sed -n 's/^  \(.*\): \(.*\)$/gradient \1 \2/p'
	"$compare" weights "$1/gradients" "$2/gradients" 0 |
		sed -n 's/^weights: \([^,]*\),.*/gradient whole \1/p'
}

# start ONE FILE: the weights that ONE, a folder with a program, starts from
start() {
	"$1/program" --quiet --data "$work/data" --steps 0 --save "$2" >"$2.said" 2>&1
}

# run_from START PROGRAM FOLDER: log and gradients
run_from() {
	"$2" --quiet --data "$work/data" --init "$1" --log "$3/log" \
		--dump-gradients "$3/gradients" >"$3/said" 2>&1
}

# exact ONE WIDE FOLDER: log and gradients of WIDE, ONE in fp64, from the weights ONE starts from
exact() {
	mkdir -p "$3"
	start "$1" "$3/at" && run_from "$3/at" "$2/program" "$3"
}

# next ONE WIDE FOLDER STEPS: FOLDER/at so many steps on, rounded as ONE keeps its weights
next() {
	{
		"$2/program" --quiet --data "$work/data" --init "$3/at" --steps "$4" \
			--save "$3/next" &&
			"$1/program" --quiet --data "$work/data" --init "$3/next" --steps 0 \
				--save "$3/at"
	} >"$3/said" 2>&1
}

# units ONE WIDE FOLDER: ONE on one rank in bf16 and WIDE, it in fp64, train from the same weights,
# at each place. FOLDER/units: the largest distance of each kind and place.
units() {
	mkdir -p "$3/one" "$3/wide"
	start "$1" "$3/at" || return 1
	for between in $steps_between; do
		run_from "$3/at" "$1/program" "$3/one" || return 1
		run_from "$3/at" "$2/program" "$3/wide" || return 1
		distances "$3/wide" "$3/one" || return 1
		next "$1" "$2" "$3" "$between" || return 1
	done >"$3/distances"
	awk '
		!($1 " " $2 in unit) { order[++n] = $1 " " $2 }
		$3 !~ /^[0-9]/ { bad = 1 }
		unit[$1 " " $2] < $3 { unit[$1 " " $2] = $3 }
		END {
			for (i = 1; i <= n; i++)
				print order[i], unit[order[i]]
			exit bad
		}' "$3/distances" >"$3/units"
}

# roundings UNITS EXACT GOT: the worst of each kind in units; fails over $most_roundings. EXACT is
# in fp64, from the weights that GOT starts from. What rounding does grows with the steps, so a step
# is measured by the largest unit so far, and a tensor by its own unit or, if that is more, by that
# of the whole gradient.
roundings() {
	distances "$2" "$3" >"$3/distances" || return 1
	awk -v most=$most_roundings '
		function larger(a, b) { return a > b ? a : b }
		FNR == NR && $1 == "gradient" { unit[$1 " " $2] = $3 }
		FNR == NR && $1 != "gradient" {
			unit[$1 " " $2] = so_far[$1] = larger($3, so_far[$1])
		}
		FNR == NR { next }
		{
			by = unit[$1 " " $2]
			if ($1 == "gradient")
				by = larger(by, unit["gradient whole"])
			ratio = by > 0 ? $3 / by : 0
			if (!(by > 0) || $3 !~ /^[0-9]/ || ratio > most)
				bad[$1] = 1
			if (!($1 in worst) || ratio > worst[$1]) {
				worst[$1] = ratio
				name[$1] = $2
			}
		}
		END {
			all = "loss norm gradient"
			n = split(("validation" in worst) ? all " validation" : all, kind, " ")
			for (i = 1; i <= n; i++) {
				k = kind[i]
				good = (k in worst) && !bad[k]
				printf "%s: %.2f, at most %d roundings, at %s%s\n", k,
					worst[k], most, name[k], good ? "" : ": TOO MUCH"
				failed += !good
			}
			exit failed > 0
		}' "$1" "$3/distances"
}
