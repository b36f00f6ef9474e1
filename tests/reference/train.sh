#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train.sh PLANC COMPARE CASE: builds CASE.plan in fp64 and in fp32, trains it from the weights of
# the reference, and holds loss, gradient norm, the gradients of step 0 and the weights of step 20
# against data/CASE.*, by the bounds of README.md.
set -eu
planc=$1 compare=$2 case=$3
here=$(cd "$(dirname "$0")" && pwd)
want=$here/data/$case
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# train PRECISION NAME OPTION...: leaves NAME.log and what the options ask for
train() {
	precision=$1 name=$2
	shift 2
	"$work/$precision/$case" --quiet --data "$want.bin" --init "$want.init.safetensors" \
		--log "$work/$name.log" "$@"
}

failed=0
# check PRECISION LOSS NORM GRADIENTS WEIGHTS
check() {
	echo "== $case in $1"
	sed "s/^precision = fp64/precision = $1/" "$here/$case.plan" >"$work/$case.plan"
	"$planc" build -q "$work/$case.plan" -o "$work/$1"
	train "$1" first --steps 1 --dump-gradients "$work/gradients"
	train "$1" whole --save "$work/weights"
	"$compare" log "$want.log" "$work/first.log" "$2" "$3" || failed=1
	"$compare" gradients "$want.gradients.safetensors" "$work/gradients" "$4" || failed=1
	"$compare" log "$want.log" "$work/whole.log" "$2" "$3" || failed=1
	"$compare" weights "$want.weights.safetensors" "$work/weights" "$5" || failed=1
}

check fp64 1e-9 1e-9 1e-9 1e-8
check fp32 1e-5 1e-4 1e-5 2e-5
exit $failed
