#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# formats.sh PLANC JSON_CHECK: the JSON document is complete on every path and alone on standard
# output; the short format is a line each.
. "$(dirname "$0")/lib.sh"
json=$2

# member PATH WANT: a member of the document in out
member() {
	value=$("$json" "$1" <out) || fail "no JSON with $1"
	[ "$value" = "$2" ] || fail "$1 is \`$value\`, expected \`$2\`"
}

# document CODE VERDICT ARGUMENT...
document() {
	code=$1 verdict=$2
	shift 2
	expect "$code" "$@" --error-format=json
	member format_version 1.0
	member verdict "$verdict"
	[ -s err ] && fail "planc $*: text beside the document"
}

document 0 ok check tiny.plan
member error_count 0
member summary.params 8016
member summary.devices 1
for name in arena_bytes outside_bytes reserve_bytes peak_bytes capacity_bytes tokens_per_step \
	items; do
	"$json" summary.$name <out >/dev/null || fail "the summary has no $name"
done
member summary.items.0.name weights
document 1 invalid check broken.plan
member error_count 1
member diagnostics.0.level error
member diagnostics.0.spans.0.file broken.plan
document 2 wrong_use check
document 2 wrong_use nonsense
expect 2 nonsense --error-format json
member verdict wrong_use
document 3 file_error check absent.plan
document 5 does_not_fit check big.plan
member diagnostics.0.code E0401
document 1 invalid check big.plan broken.plan
member files.1.file broken.plan
document 0 ok list units
document 0 ok help
document 0 ok fmt - <tiny.plan
member output "$(cat tiny.plan)"

expect 1 check broken.plan --diagnostics-file=found.json
holds err 'error[E0'
cp found.json out
member verdict invalid

expect 1 check broken.plan --error-format=short
[ "$(wc -l <err)" -eq 1 ] || fail 'the short format is not a line for an error'
grep -qE '^broken.plan:[0-9]+:[0-9]+: error\[E[0-9]+\]: ' err || fail 'the short format'
odd=$(printf 'two\nlines.plan')
cp broken.plan "$odd"
expect 1 check "$odd" --error-format=short
[ "$(wc -l <err)" -eq 1 ] || fail 'the name of a file breaks the line'
holds err 'two\x0alines.plan:'

# many errors: a limit, and all of them
{
	cat tiny.plan
	echo 'memory {'
	seq 1 30 | sed 's/.*/  setting_& = 1/'
	echo '}'
} >many.plan
expect 1 check many.plan --error-format=short
[ "$(grep -c 'error\[' err)" -eq 20 ] || fail 'not 20 errors by default'
holds err 'more errors'
expect 1 check many.plan --error-format=short --max-errors=0
[ "$(grep -c 'error\[' err)" -eq 30 ] || fail 'not all errors with --max-errors=0'
expect 1 check broken.plan --color=always
grep -q "$(printf '\033')" err || fail 'no colours when asked for'
expect 1 check broken.plan --color=auto
grep -q "$(printf '\033')" err && fail 'colours in a file'
finish
