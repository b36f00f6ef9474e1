#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cases.sh PLANC TESTS [CLASS]: every row of cases.tsv. A row with a plan: what planc says of it has
# the code at the place, and the texts. A row with tests: TESTS, the output of `ctest -N` or a build
# folder, has each of them. Then every row of rules.tsv. Ends with a table of outcomes by class.
set -u
usage='usage: cases.sh PLANC TESTS [CLASS]'
planc=${1:?$usage} tests=${2:?$usage} class=${3:-}
case $planc in /*) ;; *) planc=$PWD/$planc ;; esac
case $tests in /*) ;; *) tests=$PWD/$tests ;; esac
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
NO_COLOR=1
LC_ALL=C
export NO_COLOR LC_ALL
cd "$here" || exit 3
tab=$(printf '\t')
outcomes='error warning figure equal invariant construction supported open'
failed=0
ran=0

if [ -d "$tests" ]; then
	(cd "$tests" && ctest -N) >"$scratch/listed"
else
	cp "$tests" "$scratch/listed"
fi
sed -n 's/^ *Test *#[0-9]*: //p' "$scratch/listed" | sort -u >"$scratch/names"

fail() {
	failed=$((failed + 1))
	echo "FAILED $id: $1"
}

# What planc says of the plan, blanks squeezed: the messages, the last line, the table.
said() {
	code=0
	"$planc" check "$1" >"$scratch/out" 2>&1 || code=$?
	[ "$code" -le 5 ] || fail "$1: planc ended with $code"
	{
		echo
		"$planc" check --error-format=short "$1" 2>&1
		case $expected in
		*E0901*) "$planc" emit --error-format=short "$1" -o "$scratch/emitted" 2>&1 ;;
		esac
		"$planc" show memory "$1" 2>/dev/null
	} >>"$scratch/out"
	tr -s ' \n' '  ' <"$scratch/out" >"$scratch/said"
}

# One piece of what is expected: CODE@LINE:COLUMN, no CODE, or a text. A place in another file than
# the plan's own is written FILE:LINE:COLUMN.
piece() {
	case $2 in
	'no '[EWN]*) ! grep -qF "[${2#no }]" "$scratch/said" || fail "$1 has ${2#no }" ;;
	[EWN][0-9][0-9][0-9][0-9]@*)
		at=${2#*@}
		case $at in *.plan:*) ;; *) at=$1:$at ;; esac
		grep -qE "(^| )$at: (error|warning|note)\[${2%%@*}\]" "$scratch/said" ||
			fail "$1 has no ${2%%@*} at $at"
		;;
	*) grep -qF -e "$2" "$scratch/said" || fail "$1 does not say \`$2\`" ;;
	esac
}

plan_row() {
	ran=$((ran + 1))
	[ -f "$shown" ] || {
		fail "no file $shown"
		return
	}
	said "$shown"
	rest=$expected
	while [ -n "$rest" ]; do
		one=${rest%%; *}
		piece "$shown" "$one"
		[ "$one" != "$rest" ] || break
		rest=${rest#*; }
	done
	[ -n "$expected" ] || fail "$shown: nothing is expected of it"
}

test_row() {
	for name in $shown; do
		grep -qxF -e "$name" "$scratch/names" || fail "no test is called $name"
	done
}

while IFS=$tab read -r id thread outcome shown expected line; do
	case $id in '#'* | '') continue ;; esac
	case $id in ${class:-*}*) ;; *) continue ;; esac
	[ -n "$line" ] || fail 'a row has six fields'
	case $outcome,$shown in
	open,-) ;;
	open,*) fail 'an open row shows nothing' ;;
	*.plan) plan_row ;;
	*) test_row ;;
	esac
	case " $outcomes " in *" $outcome "*) ;; *) fail "outcome \`$outcome\`" ;; esac
	echo "${id%%-*} $outcome $id" >>"$scratch/outcomes"
done <cases.tsv

# rule: a rule of other systems is checked with a code of planc, or needs none
rule() {
	id=$1
	case $3,$4 in
	code,[EWN][0-9]*) "$planc" list codes | grep -q "^$4 " || fail "no code $4" ;;
	construction,- | absent,- | lifted,-) ;;
	*) fail "outcome \`$3\` with \`$4\`" ;;
	esac
	[ -n "$5" ] || fail 'a row has five fields'
	rules=$((rules + 1))
	[ "$id" = "R$rules" ] || fail "it stands where R$rules should"
	echo "$3" >>"$scratch/kept"
}
rules=0
while [ -z "$class" ] && IFS=$tab read -r name kind outcome code line; do
	case $name in '#'*) continue ;; esac
	rule "$name" "$kind" "$outcome" "$code" "$line"
done <rules.tsv

# Every case once in the table of outcomes: by its first row.
awk -v names="$outcomes" '!seen[$3]++ {
	n[$1, $2]++
	of_class[$1]++
	of_all[$2]++
	all++
	if (!known[$1]++)
		order[++classes] = $1
}
function row(name, class,    i, count) {
	printf "%-8s", name
	for (i = 1; i <= outcomes; i++) {
		count = class == "" ? of_all[outcome[i]] : n[class, outcome[i]]
		printf " %12s", count ? count : "."
	}
	printf " %6d\n", class == "" ? all : of_class[class]
}
END {
	outcomes = split(names, outcome, " ")
	printf "%-8s", "class"
	for (i = 1; i <= outcomes; i++)
		printf " %12s", outcome[i]
	printf " %6s\n", "all"
	for (c = 1; c <= classes; c++)
		row(order[c], order[c])
	row("all", "")
}' "$scratch/outcomes"
[ -n "$class" ] || echo "rules: $rules, $(sort "$scratch/kept" | uniq -c | tr -s ' \n' ' ')"
echo "$ran plans, $failed failed"
[ "$failed" -eq 0 ]
