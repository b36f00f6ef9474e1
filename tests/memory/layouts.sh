#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layouts.sh PLANC MEMORY_LAYOUTS PLAN_GEN COUNT: the layouts that ../splits trains, COUNT seeds of
# each of its four parts, against the formulas. What planc refuses is counted and passed over.
set -u
planc=$1 layouts=$2 plan_gen=$3 count=$4
third=$(cd "$(dirname "$0")" && pwd)/../models/third.plan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
refused=0
set --
for part in 0 1000 2000 3000; do
	for seed in $(seq "$part" $((part + count - 1))); do
		mkdir "$work/$seed"
		"$plan_gen" "$seed" "$third" "$work/$seed" >/dev/null || exit 1
		if "$planc" check -q "$work/$seed/layout.plan" >/dev/null 2>&1; then
			set -- "$@" "$work/$seed/layout.plan"
		else
			refused=$((refused + 1))
		fi
	done
done
echo "$# plans, $refused refused by planc"
[ $# -gt $((3 * count)) ] || exit 1
"$layouts" "$@"
