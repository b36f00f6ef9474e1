#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# floors.sh ROOT: every #include "x/..." goes to its own floor or a lower one. The floors are listed
# lowest first in compiler/floors.txt and runtime/floors.txt. "rt/..." is the contract that both
# sides include; the runtime never includes a floor of the compiler. A name without a floor is a
# file that the build makes.
set -eu
cd "${1:?usage: floors.sh ROOT}"

check() { # check PART
	find "$1" -name '*.[chly]' -o -name '*.cu' -o -name '*.def' | sort | while read -r file; do
		awk -v part="$1" '
			NR == FNR { if ($1 != "") height[$1] = NR; next }
			function fault(text) { printf "%s:%d: %s\n", FILENAME, FNR, text }
			FNR == 1 {
				split(FILENAME, path, "/")
				own = path[2]
				if (part == "runtime" && own == "include") own = "rt"
				if (own != "rt" && !(own in height)) {
					fault("folder `" own "` is no floor")
					exit
				}
			}
			/^[ \t]*#[ \t]*include[ \t]*"/ {
				split($0, quoted, "\"")
				if (!index(quoted[2], "/")) {
					beside = FILENAME
					sub(/[^\/]*$/, quoted[2], beside)
					if (own == "rt" || (getline line < beside) < 0) next
					fault("write the floor: \"" quoted[2] "\"")
					next
				}
				split(quoted[2], target, "/")
				to = target[1]
				if (to == "rt") next
				if (own == "rt" || !(to in height) || height[to] > height[own])
					fault("floor `" own "` must not include \"" quoted[2] "\"")
			}' "$1/floors.txt" "$file"
	done
}

faults=$(
	for part in compiler runtime; do
		if [ -f "$part/floors.txt" ]; then
			check "$part"
		elif [ -n "$(find "$part" -name '*.c' 2>/dev/null | head -n 1)" ]; then
			echo "$part/floors.txt is missing"
		fi
	done
)
[ -z "$faults" ] && exit 0
printf '%s\n' "$faults"
exit 1
