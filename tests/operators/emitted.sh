#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# emitted.sh PLANC TEST_EMITTED FOLDER CASE OPTION...: FOLDER/CASE.plan as text that a compiler
# compiled, and interpreted from the same representation: equal bits of gradients, loss, norm and
# weights. OPTION: NAME=VALUE, for -P.
set -eu
planc=$1 test_emitted=$2 plan=$3/$4.plan case=$4
shift 4
options=''
for option in "$@"; do
	options="$options -P $option"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$test_emitted" make "$plan" "$work" "$@"
# shellcheck disable=SC2086
"$planc" build -q "$plan" $options -o "$work/out"
"$work/out/$case" --quiet --data "$work/data.bin" --init "$work/init.safetensors" \
	--dump-gradients "$work/gradients.safetensors" --log "$work/log" \
	--save "$work/weights.safetensors" >"$work/output"
"$test_emitted" compare "$plan" "$work" "$@"
