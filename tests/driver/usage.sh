#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every wrong use ends with 2 and says so at its place; the right ones do not.
. "$(dirname "$0")/lib.sh"

# wrong TEXT ARGUMENT...
wrong() {
	text=$1
	shift
	expect 2 "$@" && holds err 'error[E060' && holds err "$text"
}

wrong 'a command is missing'
wrong 'there is no command `chek`' chek tiny.plan
wrong 'a command with a similar name exists: `check`' chek tiny.plan
wrong 'there is no option `--colour`' check --colour tiny.plan
wrong 'stand behind `--`' run tiny.plan --steps 3
wrong 'a command is' ''
wrong 'there is no option `-x`' check -x tiny.plan
wrong 'too few operands' check
wrong 'too many operands' emit tiny.plan big.plan -o out.d
wrong '`-o` needs a value' emit tiny.plan -o
wrong '`--color` does not take `red`' check --color=red tiny.plan
wrong '`--error-format` does not take `xml`' check --error-format xml tiny.plan
wrong '`ten` is not a count' check --max-errors=ten tiny.plan
wrong '`--quiet` takes no value' check --quiet=yes tiny.plan
wrong '`planc check` does not take `-o`' check -o out.d tiny.plan
wrong '`planc fmt` does not take `-P`' fmt -P micro=2 tiny.plan
wrong 'there is no lint `W9999`' check -D W9999 tiny.plan
wrong 'needs a folder' emit tiny.plan
wrong 'needs a folder' build tiny.plan
wrong '`planc rehearse` does not take `-o`' rehearse tiny.plan -o out.d
wrong 'too many operands' rehearse tiny.plan big.plan
wrong '`planc show` cannot show `nothing`' show nothing tiny.plan
wrong '`planc show memory` is not of one rank' show memory --rank 0 tiny.plan
wrong '`planc list` cannot list `nothing`' list nothing
wrong 'there is no block `nothing`' list settings nothing
wrong 'there is no code `E9999`' explain E9999
wrong 'there is no completion for `csh`' completion csh
wrong 'has no parameter `macro`' check -P macro=2 tiny.plan
wrong 'NAME=VALUE' check -P micro tiny.plan
for later in fix lsp probe search view; do
	wrong "\`planc $later\` is not in this version" $later tiny.plan
done
wrong '`planc show cost` is not in this version' show cost tiny.plan
wrong 'too few operands' show memory
wrong 'too few operands' diff tiny.plan
wrong 'there is no rank 1: the plan has 1, from 0' show split --rank 1 tiny.plan
wrong '`planc show` does not take `--exit-code`' show split --exit-code tiny.plan
wrong '`planc diff` does not take `--rank`' diff --rank 0 tiny.plan tiny.plan

expect 0 check tiny.plan
expect 0 check -Pmicro=4 tiny.plan tiny.plan -A W0506 -D warnings -I . --color never
expect 0 check --error-format human --max-errors 0 --fail-fast --verify -qv -- tiny.plan
expect 1 check -P micro=16 tiny.plan
expect 0 check - --stdin-name=x.plan <tiny.plan
holds err x.plan
expect 0 help
holds out 'planc COMMAND'
grep -qE '^  (lsp|fix) ' out && fail 'help lists a command that is refused'
expect 0 check --help
holds out '--stop-after'
expect 0 help show
holds out 'the schedule as a grid of stages and time'
expect 0 --version
holds out "planc $2"
expect 0 version --json
holds out "\"planc\": \"$2\""
finish
