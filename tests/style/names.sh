#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# names.sh ROOT: file names are unique in compiler and runtime, each source is named in its folder's
# README.md, or in the floor's where the folder has none, and carries its licence, memory and the
# process belong to base, no path of a machine.
set -eu
cd "${1:?usage: names.sh ROOT}"

code() {
	find "$@" -type f \( -name '*.[chly]' -o -name '*.cu' -o -name '*.def' \) 2>/dev/null | sort
}

twice() {
	find compiler runtime -type f | sed 's|.*/||' |
		grep -vxE 'CMakeLists\.txt|README\.md|floors\.txt' | sort | uniq -d |
		sed 's/$/: two files have this name/'
}

unnamed() {
	code compiler runtime | while read -r file; do
		folder=${file%/*}
		while [ ! -f "$folder/README.md" ]; do
			case $folder in
			*/*/*) folder=${folder%/*} ;;
			*) break ;;
			esac
		done
		if [ ! -f "$folder/README.md" ]; then
			echo "$folder/README.md is missing"
		elif ! grep -qwF "${file##*/}" "$folder/README.md"; then
			echo "$folder/README.md does not name ${file##*/}"
		fi
	done | sort -u
}

unlicensed() {
	{
		code compiler runtime grammar tests
		find compiler runtime grammar tests CMakeLists.txt examples -type f \
			\( -name '*.sh' -o -name CMakeLists.txt \)
		find compiler examples -type f -name '*.plan'
	} | sort -u | while read -r file; do
		head -n 3 "$file" | grep -qF 'SPDX-License-Identifier: Apache-2.0' ||
			echo "$file: no SPDX line"
	done
}

# words PATTERN ALLOWED WHAT: code of the compiler with a word outside comments and strings.
words() {
	code compiler grammar | grep -vE "$2" | while read -r file; do
		sed -E -e 's/"([^"\\]|\\.)*"//g' -e 's,/\*.*\*/,,g' -e 's,^ \* .*,,' \
			-e 's,/\*.*,,' -e 's,//.*,,' "$file" |
			grep -nE "$1" | sed "s|^|$file:|; s|\$|    ($3)|" || true
	done
}

machine_paths() {
	find compiler runtime grammar tests examples docs .ci CMakeLists.txt CMakePresets.json \
		README.md -type f 2>/dev/null | grep -v '^tests/style/names.sh$' |
		xargs grep -nIE '/(home|root|work|Users)/[A-Za-z]|/tmp/[a-z]' || true
}

start='(^|[^A-Za-z0-9_>.])'
faults=$(
	twice
	unnamed
	unlicensed
	words "$start(malloc|calloc|realloc|free|strdup) *\\(" '^compiler/base/arena\.c$' \
		'memory belongs to an arena'
	words "$start((exit|_exit|_Exit|abort|quick_exit) *\\(|stderr|stdout)" \
		'^compiler/(driver/|base/bug\.c$|base/arena\.c$)' 'only the driver prints and exits'
	machine_paths
)
[ -z "$faults" ] && exit 0
printf '%s\n' "$faults"
exit 1
