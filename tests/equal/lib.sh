# SPDX-License-Identifier: Apache-2.0
# lib.sh: what the scripts of this folder share. Sourced with $planc, $compare and $here set.
# A variant of a plan has a name; its program, log, gradients and weights lie in $work/NAME.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
# The emitted text computes nothing itself, so how it is optimized moves no bit, and lines of the
# runtime are not looked up. Scopes of its many short-lived arguments are most of what sanitizers
# cost here; tests/driver and tests/examples build as users do, with all of it.
own=$(cat "$(dirname "$planc")/../lib/planc/cc.txt")
fast='-O0 -Wl,-S -fno-sanitize-address-use-after-scope'
printf '#!/bin/sh\nexec %s "$@" %s\n' "$own" "$fast" >"$work/cc"
chmod +x "$work/cc"
export CC="$work/cc"

steps=10 # an epoch of 68 windows ends in step 5

# Digits and line ends: 68 windows of 16 tokens, 12 a step.
seq 1 300 >"$work/data"

# variant NAME PLAN PRECISION RANKS LANES MICRO [SED]: writes the plan. LANES `-`: not set.
variant() {
	mkdir "$work/$1"
	lanes=
	[ "$5" = - ] || lanes="lanes = $5"
	sed -e "s/^precision = .*/precision = $3/" -e "s/^plan .*/plan program/" \
		-e "s/[0-9]* of cpu.core/$4 of cpu.core/" \
		-e "s/= [0-9]* within node/= $4 within node/" \
		-e "s/^  global_batch .*/  global_batch = 12 seq/" \
		-e "s/^  steps .*/  steps = $steps/" \
		-e "s/^  micro_batch .*/  micro_batch = $6 seq\\n  $lanes/" -e "${7:-}" \
		"$here/../$2" >"$work/$1/program.plan"
}

# train NAME [OPTION...]: log, gradients and weights
train() {
	at=$work/$1
	shift
	"$at/program" --quiet --data "$work/data" --log "$at/log" --save "$at/weights" \
		--dump-gradients "$at/gradients" "$@" || {
		echo "the program ended with exit code $?"
		failed=1
	}
}

# build NAME PLAN PRECISION RANKS LANES MICRO [SED]: the variant, built and trained
build() {
	variant "$@"
	"$planc" build -q "$work/$1/program.plan" -o "$work/$1" || {
		echo "$1: not built"
		exit 1
	}
	train "$1"
}

# same A B: every loss, norm, gradient and weight to the bit
same() {
	if "$compare" log "$work/$1/log" "$work/$2/log" 0 0 >"$work/said" &&
		cmp "$work/$1/gradients" "$work/$2/gradients" >>"$work/said" &&
		cmp "$work/$1/weights" "$work/$2/weights" >>"$work/said"; then
		echo "$1 = $2"
		return 0
	fi
	echo "$1 and $2 differ:"
	cat "$work/said"
	return 1
}

# within A B LOSS NORM GRADIENTS WEIGHTS: the bounds of README.md
within() {
	if {
		"$compare" log "$work/$1/log" "$work/$2/log" "$3" "$4" &&
			"$compare" gradients "$work/$1/gradients" "$work/$2/gradients" "$5" &&
			"$compare" weights "$work/$1/weights" "$work/$2/weights" "$6"
	} >"$work/said" 2>&1; then
		echo "$1 ~ $2: $(tr '\n' ' ' <"$work/said")"
		return 0
	fi
	echo "$1 and $2 are too far apart:"
	cat "$work/said"
	return 1
}

within_fp64() { within "$1" "$2" 1e-10 1e-10 1e-9 1e-8; }
within_fp32() { within "$1" "$2" 1e-5 1e-4 1e-5 2e-5; }
