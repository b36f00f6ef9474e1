#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sizes.sh ROOT: files up to 600 lines, lines up to 100 columns (a tab goes to the next eighth), no
# function over 80 lines, nine tenths up to 50, half up to 16, no notes about unfinished work.
# Tables (.def) have a row a line, however long.
# A function starts at a line in column 0 that begins with a letter and ends in `)`, `{` or `,`,
# has its `{` in column 0 below, and ends at the `}` in column 0.
set -eu
cd "${1:?usage: sizes.sh ROOT}"

# Files of the tree that are written by hand. Expected outputs are not.
sources() {
	find compiler runtime grammar tests examples CMakeLists.txt -type f \( "$@" \) 2>/dev/null |
		grep -v -e '^tests/diag/' -e '^tests/dump/' | sort
}

long_files() {
	sources -name '*.[chly]' -o -name '*.cu' -o -name '*.sh' -o -name CMakeLists.txt |
		xargs wc -l |
		awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines, over 600" }'
}

long_lines() {
	sources -name '*.[chly]' -o -name '*.cu' -o -name '*.sh' -o -name CMakeLists.txt |
		xargs awk '
		length($0) > 25 {
			columns = 0
			for (i = 1; i <= length($0); i++)
				columns += substr($0, i, 1) == "\t" ? 8 - columns % 8 : 1
			if (columns > 100)
				printf "%s:%d: %d columns, over 100\n", FILENAME, FNR, columns
		}'
}

functions() {
	sources -name '*.c' -o -name '*.cu' | xargs awk '
		FNR == 1 { start = 0; open = 0 }
		/^[A-Za-z_]/ && !open { start = /[),{]$/ ? FNR : 0; name = $0 }
		/^\{/ && start { open = 1 }
		/^[A-Za-z_].*\) \{$/ && start { open = 1 }
		/^\}/ {
			if (start && open) print FNR - start + 1 "\t" FILENAME ":" start ": " name
			start = 0
			open = 0
		}'
}

function_sizes() {
	functions | sort -n | awk -F '\t' '
		$1 > 80 { print $2 ": " $1 " lines, over 80" }
		{ size[NR] = $1 }
		END {
			if (NR < 10) exit
			half = size[int((NR + 1) / 2)]
			tenth = size[int((9 * NR + 9) / 10)]
			if (half > 16)
				print "half of the functions have " half " lines or more, not 16"
			if (tenth > 50)
				print "a tenth of them has " tenth " lines or more, not 50"
		}'
}

unfinished() {
	sources -name '*.[chly]' -o -name '*.cu' -o -name '*.sh' -o -name '*.def' -o -name '*.md' \
		-o -name '*.plan' -o -name CMakeLists.txt | grep -v '^tests/style/sizes.sh$' |
		xargs grep -nwE 'TODO|FIXME|XXX' || true
}

if [ "${2:-}" = --list ]; then
	functions | sort -n
	exit 0
fi
faults=$(long_files; long_lines; function_sizes; unfinished)
[ -z "$faults" ] && exit 0
printf '%s\n' "$faults"
exit 1
