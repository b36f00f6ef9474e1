#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# checked.sh PLANC: a figure that a message calls checked is that of the plan with the change made.
set -u
planc=${1:?usage: checked.sh PLANC}
case $planc in /*) ;; *) planc=$PWD/$planc ;; esac
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 3
failed=0

# one PLAN NOTE SED: the note that holds NOTE says what the changed plan needs
one() {
	cp "$here/../$1" plan.plan
	"$planc" check plan.plan 2>&1 | tr -s ' \n' '  ' | sed 's/= note: /\n/g' >notes
	said=$(grep -F -e "$2" notes |
		sed -n 's/.* needs* \([0-9.]* [KMG]iB\) of .*(checked).*/\1/p')
	sed "$3" plan.plan >changed.plan
	cmp -s plan.plan changed.plan && said='nothing: the change changes nothing'
	is=$("$planc" show memory changed.plan 2>/dev/null | sed -n 's/^ *total  *//p')
	echo "$1, $2: $said, is $is"
	[ -n "$is" ] && [ "$said" = "$is" ] || failed=1
}

gradients=diag/W0504-gradients.plan weights=diag/W0504-weights.plan
step='s/data  *over dp/data over dp { reduce = step }/'
one $gradients '`reduce = step` sends' "$step"
one $gradients '`zero 1` sends' 's/zero 2/zero 1/'
one $weights '`gather = step` and `reduce = step` send' \
	"$step; s/zero 3  *over dp/zero 3 over dp { gather = step }/"
one $weights '`zero 1` sends' 's/zero 3/zero 1/'
one cases/MEM-23-once.plan '`reduce = micro_batch`' 's/reduce = step/reduce = micro_batch/'

# W0512: the lower stage that it names needs what it says.
said=$("$planc" check "$here/../diag/W0512-no-gain.plan" 2>&1 |
	sed -n 's/.*, with `zero 2` \([0-9.]* MiB\)$/\1/p')
sed 's/zero 3 over dp { gather = use }/zero 2 over dp/' "$here/../diag/W0512-no-gain.plan" \
	>changed.plan
is=$("$planc" show memory changed.plan 2>/dev/null | sed -n 's/^ *total  *//p')
echo "zero 2 instead of 3: $said, is $is"
[ -n "$is" ] && [ "$said" = "$is" ] || failed=1
exit $failed
