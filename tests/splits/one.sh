#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# one.sh PLANC COMPARE PLAN_GEN WORK SEED: one layout of the generator. Leaves WORK/SEED.result: a
# line `same`, `refused CODE` or `FAILED`, what was drawn, what was said.
set -u
planc=$1 compare=$2 plan_gen=$3 work=$4 seed=$5
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
at=$work/$seed
mkdir "$at"
drawn=$("$plan_gen" "$seed" "$here/../models/third.plan" "$at")
code=0
"$planc" emit -q "$at/layout.plan" -o "$at" >"$at/said" 2>&1 || code=$?
if [ $code -eq 1 ] && grep -q '^error\[E0901\]' "$at/said"; then
	verdict='refused E0901'
	said=$(grep -m 1 '^error' "$at/said")
elif said=$(compared "$at"); then
	verdict=same
else
	verdict=FAILED
fi
printf '%s\n%s: %s\n%s\n' "$verdict" "$seed" "$drawn" "$said" >"$work/$seed.result.new"
mv "$work/$seed.result.new" "$work/$seed.result"
[ "$verdict" = FAILED ] || rm -rf "$at"
