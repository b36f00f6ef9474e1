#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Exit codes, the same in every format and with -q; files that cannot be read or written.
. "$(dirname "$0")/lib.sh"

# all CODE ARGUMENT...: in every format
all() {
	code=$1
	shift
	for format in human short json; do
		expect "$code" "$@" --error-format=$format
		expect "$code" "$@" --error-format=$format -q
	done
}

all 0 check tiny.plan
all 1 check broken.plan
all 2 check --max-errors=x tiny.plan
all 3 check absent.plan
all 3 check .
all 5 check big.plan
all 1 check big.plan broken.plan
all 1 fmt --check broken.plan
all 3 emit tiny.plan -o /dev/null/x
all 3 expand tiny.plan -o /dev/null/x/y.plan

expect 5 check -q big.plan
[ -s out ] && fail 'check printed to standard output'
expect 0 check -q tiny.plan
[ -s err ] && fail '-q printed something about a good plan'

if [ -w /dev/full ]; then
	"$planc" help >/dev/full 2>err
	[ $? -eq 3 ] || fail 'a full disk under standard output is not exit code 3'
	holds err E0702
	"$planc" check --diagnostics-file=/dev/full/x tiny.plan 2>err
	[ $? -eq 3 ] || fail 'an unwritable diagnostics file is not exit code 3'
fi
if [ "$(id -u)" -ne 0 ]; then
	cp tiny.plan closed.plan
	chmod 0 closed.plan
	expect 3 check closed.plan
	holds err E0701
fi

# no half file: what was there stays when the new one cannot be written
mkdir kept
expect 0 expand tiny.plan -o kept/x.plan
expect 1 expand broken.plan -o kept/x.plan
[ -s kept/x.plan ] || fail 'a failed command emptied its output'
[ "$(ls kept)" = x.plan ] || fail 'something else was left beside the output'

# a compiler that fails, and one that is not there
CC=false expect 4 build tiny.plan -o made
sed 's/ = note: the command was:.*/ = note: the command was: .../' err >said
diff -u "$here/E0801-compiler-fails.err" said || fail 'text of E0801'
[ -e made/tiny ] && fail 'a failed compiler left a program'
CC=no-such-compiler expect 4 build tiny.plan -o made
CC=/no/such/compiler expect 4 build tiny.plan -o made
finish
