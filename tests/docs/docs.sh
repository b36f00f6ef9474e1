#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs.sh PLANC ROOT FILE.md: checks every plan, every fragment of a plan and every marked output of
# planc in a document. README.md says how blocks are marked.
set -u
planc=${1:?usage: docs.sh PLANC ROOT FILE.md}
root=${2:?usage: docs.sh PLANC ROOT FILE.md}
document=${3:?usage: docs.sh PLANC ROOT FILE.md}
here=$root/tests/docs
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/blocks" "$work/plans"
cp "$here"/*.plan "$work/plans"
awk -v out="$work/blocks" -f "$here/extract.awk" "$root/$document" || exit 1
cd "$work/plans" || exit 1
checked=0
failed=0

fault() {
	failed=$((failed + 1))
	echo "$document:$line: $1"
	[ -f "$work/got" ] && sed 's/^/    /' "$work/got"
}

# word NAME: what follows NAME in the directive, up to a comma
word() {
	printf '%s\n' "$directive" | sed -n "s/^\(.*, *\)\{0,1\}$1 \([^,]*\).*$/\2/p"
}

# check_plan FILE: as the directive says: an error, a warning, or neither an error nor a warning
check_plan() {
	error=$(word error)
	warning=$(word warning)
	"$planc" check "$1" >"$work/got" 2>&1
	code=$?
	if [ -n "$error" ]; then
		[ $code -ne 0 ] && grep -q "^error\[$error\]" "$work/got" || fault "no $error"
	elif [ $code -ne 0 ]; then
		fault "not a valid plan"
	elif [ -n "$warning" ]; then
		grep -q "^warning\[$warning\]" "$work/got" || fault "no $warning"
	elif [ "$2" = whole ] && grep -q '^warning' "$work/got"; then
		fault "a warning"
	fi
}

check_whole() {
	name=$(word file)
	cp "$text" "${name:=block.plan}"
	"$planc" fmt --check "$name" >"$work/got" 2>&1 || fault "not formatted"
	head -n 20 "$text" | grep -q '^library ' || check_plan "$name" whole
}

check_fragment() {
	frame=$(word frame)
	block=$(word in)
	awk -v block="$block" -f "$here/merge.awk" "$text" "${frame:-desk}.plan" >fragment.plan
	check_plan fragment.plan part
}

# Runs a command of the document and compares all that it prints.
check_output() {
	arguments=${directive#planc }
	# shellcheck disable=SC2086
	"$planc" $arguments >"$work/got" 2>&1
	[ $? -le 5 ] || fault "\`$directive\` failed"
	diff "$text" "$work/got" >"$work/difference" && return
	mv "$work/difference" "$work/got"
	fault "\`$directive\` prints something else"
}

for text in "$work"/blocks/*.text; do
	[ -f "$text" ] || continue
	read -r line lang directive <"${text%.text}.kind"
	rm -f "$work/got"
	checked=$((checked + 1))
	case $lang:$directive in
	none:*)
		# shellcheck disable=SC2086
		set -- ${directive#copy }
		cp "$root/$1" "$2" || fault "there is no $1"
		;;
	plan:*) check_whole ;;
	plan-fragment:*) check_fragment ;;
	*:planc\ *) check_output ;;
	*) fault "a block that no test understands: $lang $directive" ;;
	esac
done
echo "$document: $checked blocks, $failed failed"
[ $checked -gt 0 ] && [ $failed -eq 0 ]
