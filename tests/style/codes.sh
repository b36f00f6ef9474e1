#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# codes.sh ROOT: every code of diags.def is printed by a golden case (a .err under tests, most in
# tests/diag), and every code that a case prints is in the table.
set -eu
cd "${1:?usage: codes.sh ROOT}"

table=$(sed -n 's/^DIAG(\([EWN][0-9]*\),.*/\1/p' compiler/base/diags.def | sort)
printed=$(find tests -name '*.err' -exec cat '{}' + |
	sed -n 's/^\(error\|warning\|note\)\[\([EWN][0-9]*\)\].*/\2/p' | sort -u)

faults=$(
	printf '%s\n' "$table" | uniq -d | sed 's/$/: twice in diags.def/'
	for code in $table; do
		printf '%s\n' "$printed" | grep -qx "$code" || echo "$code: no case in tests/diag"
	done
	for code in $printed; do
		printf '%s\n' "$table" | grep -qx "$code" || echo "$code: not in diags.def"
	done
)
[ -z "$faults" ] && exit 0
printf '%s\n' "$faults"
exit 1
