#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pairs.sh PLANC DIAG: what is said of a file does not depend on the files before it. Cases of
# tests/diag are checked after faulty ones and after a good one: the lines are those of both alone.
. "$(dirname "$0")/lib.sh"
cp "${2:?usage: pairs.sh PLANC DIAG}"/*.plan .
printf 'plan a\nedition 1\n' >a.plan
printf 'plan b\nedition 1\nallow W0506\n' >allows.plan
mkdir alone

said() {
	"$planc" check --max-errors=0 --error-format=short "$@" 2>&1 | LC_ALL=C sort
}

for case in *.plan; do
	said "$case" >alone/"$case"
done
ran=0
for first in E0104-brace E0401-seven-billion allows; do
	for case in *.plan; do
		[ -f "$first.plan" ] || fail "no case $first"
		[ "$case" = "$first.plan" ] && continue
		said "$first.plan" "$case" >both
		LC_ALL=C sort alone/"$first.plan" alone/"$case" >want
		cmp -s want both || {
			fail "$case after $first.plan"
			diff want both
		}
		ran=$((ran + 1))
	done
done
[ $ran -gt 500 ] || fail "only $ran pairs"
finish
