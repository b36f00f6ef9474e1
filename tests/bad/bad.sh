#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bad.sh PLANC: input that no one means, one case a line: what is done to base.plan, the exit code
# and the codes of all errors. planc never crashes, hangs or floods.
set -u
planc=${1:?usage: bad.sh PLANC}
case $planc in /*) ;; *) planc=$PWD/$planc ;; esac
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 3
trap 'chmod -R u+rw "$scratch"; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 3
ran=0
failed=0
LC_ALL=C
export LC_ALL

# judge NAME EXIT "CODES" ARGUMENT...
judge() {
	name=$1 want=$2 codes=$3
	shift 3
	ran=$((ran + 1))
	timeout 120 "$planc" check --error-format=short --max-errors=0 "$@" >out 2>err
	got=$?
	seen=$(sed -n 's/.*error\[\([A-Z0-9]*\)\].*/\1/p' err | sort -u | tr '\n' ' ')
	[ "$got" -eq "$want" ] && [ "${seen% }" = "$codes" ] && return
	failed=$((failed + 1))
	echo "FAILED $name: exit $got with \`${seen% }\`, expected $want with \`$codes\`"
	head -n 5 err | cut -c 1-300
}

# edit NAME EXIT "CODES" SED: base.plan with a change
edit() {
	sed "$4" "$here/base.plan" >"$1.plan"
	cmp -s "$1.plan" "$here/base.plan" && [ "$1" != base ] && {
		failed=$((failed + 1))
		echo "FAILED $1: the change changes nothing"
	}
	judge "$1" "$2" "$3" "$1.plan"
}

# repeat COUNT TEXT: the text COUNT times, on one line
repeat() {
	awk -v n="$1" -v text="$2" 'BEGIN { while (n--) printf "%s", text }'
}

. "$here/texts.sh"
. "$here/sizes.sh"
. "$here/names.sh"
. "$here/files.sh"
echo "$ran cases, $failed failed"
[ "$failed" -eq 0 ]
