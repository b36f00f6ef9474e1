#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layouts.sh PLANC MEMORY_LAYOUTS PLAN_GEN MODELS EACH: EACH of the layouts of MODELS models that
# ../splits trains, against the formulas.
set -u
planc=$1 layouts=$2 plan_gen=$3
third=$(cd "$(dirname "$0")" && pwd)/../models/third.plan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seeds=$("$plan_gen" select "$4" "$5" 0) || exit 1
set --
for seed in $seeds; do
	at=$work/$seed
	mkdir "$at"
	"$plan_gen" "$seed" "$third" "$at" >/dev/null || exit 1
	"$planc" check -q "$at/layout.plan" || exit 1
	if grep -q '^precision {' "$at/layout.plan"; then
		set -- "$@" "$at/layout64.plan"
	else
		set -- "$@" "$at/layout.plan"
	fi
done
echo "$# plans"
[ $# -ge 100 ] || exit 1
"$layouts" "$@"
