#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# golden.sh PLANC DIR|CASE.plan [--update]: runs planc on each case and compares with its siblings.
#
#   X.err       `exit N`, then the text of `planc check X.plan`, run in the case's folder
#   X.ast, X.plan-dump, X.graph, X.program, X.layout
#               `planc check --dump=ast|plan|graph|program|layout X.plan`, standard output
#   X.args      further arguments, put before the file name
#   X.cmd       all arguments instead of `check X.plan`, for commands other than check
#
# --update writes the siblings that exist (a case without any gets a .err), but only if planc ended
# with a code that it documents for a user's plan: a crash is never expected.
set -u
usage='usage: golden.sh PLANC DIR|CASE.plan [--update]'
planc=${1:?$usage}
where=${2:?$usage}
update=${3:-}

case $planc in /*) ;; *) planc=$PWD/$planc ;; esac
scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
ASAN_OPTIONS=exitcode=99:${ASAN_OPTIONS:-}
UBSAN_OPTIONS=exitcode=99:${UBSAN_OPTIONS:-}
NO_COLOR=1
LC_ALL=C
export ASAN_OPTIONS UBSAN_OPTIONS NO_COLOR LC_ALL
ran=0
failed=0

# run CASE EXTENSION: leaves what the sibling should hold in $scratch/got, sets $code.
run() {
	stem=${1%.plan}
	arguments=$(cat "$stem.args" 2>/dev/null)
	if [ "$2" != err ]; then
		# shellcheck disable=SC2086
		"$planc" check "--dump=${2%-dump}" $arguments "$1" \
			>"$scratch/got" 2>"$scratch/messages"
		code=$?
		return
	fi
	if [ -f "$stem.cmd" ]; then
		# shellcheck disable=SC2046
		"$planc" $(cat "$stem.cmd") >"$scratch/text" 2>&1
	else
		# shellcheck disable=SC2086
		"$planc" check $arguments "$1" >"$scratch/text" 2>&1
	fi
	code=$?
	{
		echo "exit $code"
		cat "$scratch/text"
	} >"$scratch/got"
}

fail() {
	failed=$((failed + 1))
	echo "FAILED $1"
}

# one CASE EXTENSION, in the case's folder
one() {
	ran=$((ran + 1))
	want=${1%.plan}.$2
	run "$1" "$2"
	if [ "$code" -gt 5 ]; then
		fail "$1: planc ended with $code"
		cat "$scratch/got" "$scratch/messages" 2>/dev/null
	elif [ "$2" != err ] && [ "$code" -ne 0 ]; then
		fail "$1: --dump=${2%-dump} ended with $code"
		cat "$scratch/messages"
	elif [ "$update" = --update ]; then
		cmp -s "$scratch/got" "$want" || {
			cp "$scratch/got" "$want"
			echo "wrote $want"
		}
	elif ! diff -u "$want" "$scratch/got"; then
		fail "$want"
	fi
}

if [ -d "$where" ]; then
	cd "$where" || exit 3
	set -- *.plan
else
	cd "$(dirname "$where")" || exit 3
	set -- "$(basename "$where")"
fi
for case in "$@"; do
	[ -f "$case" ] || {
		echo "no case: $where"
		exit 1
	}
	found=
	for extension in err ast plan-dump graph program layout; do
		[ -f "${case%.plan}.$extension" ] || continue
		found=yes
		one "$case" "$extension"
	done
	[ -n "$found" ] && continue
	if [ "$update" = --update ]; then
		one "$case" err
	else
		fail "$case: no expected output beside it"
	fi
done
echo "$ran compared, $failed failed"
[ "$failed" -eq 0 ]
