#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ways.sh PLANC EXAMPLES: seven-b-one-card.plan is refused for its memory alone; every plan that
# extends it fits, and README.md gives the figure that planc prints.
set -u
planc=$1
cd "$2" || exit 1
failed=0

fault() {
	failed=$((failed + 1))
	echo "$1"
}

said=$("$planc" check seven-b-one-card.plan 2>&1)
[ $? -eq 5 ] || fault 'seven-b-one-card.plan: not refused with exit code 5'
for part in 'error\[E0401\]: the plan needs' '7 000 559 616 weights' '112.0 GB = 16 bytes'; do
	printf '%s' "$said" | grep -q "$part" || fault "seven-b-one-card.plan: no \"$part\""
done

ways=0
for plan in $(grep -l 'extends "seven-b-one-card.plan"' ./*.plan); do
	plan=${plan#./}
	ways=$((ways + 1))
	said=$("$planc" check "$plan" 2>&1) || fault "$plan does not fit: $said"
	figure=$(printf '%s' "$said" | sed -n 's/.*: ok, .*GPUs*, \([^(]*GiB\) .*/\1/p')
	[ -n "$figure" ] || fault "$plan: no figure in: $said"
	grep -qF "\`$plan\`: $figure" README.md || fault "README.md gives no \"$plan: $figure\""
done
echo "$ways ways out"
[ $ways -ge 4 ] && [ $failed -eq 0 ]
