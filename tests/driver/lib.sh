# SPDX-License-Identifier: Apache-2.0
# lib.sh: what the scripts of this folder share; sourced with $1 = planc. Each script prints what
# fails and goes on; `finish` ends it.
planc=$1
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
failed=0
LC_ALL=C
NO_COLOR=1
export LC_ALL NO_COLOR
cp "$here"/*.plan "$scratch"
cd "$scratch" || exit 3
seq 1 3000 >text.txt
sed 's/16 tokens/16 tokenz/' tiny.plan >broken.plan
sed 's/256 MiB/16 MiB/' tiny.plan >big.plan

fail() {
	echo "FAILED: $*"
	failed=1
}

# expect CODE ARGUMENT...: planc ends with CODE; its output lies in out and err
expect() {
	want=$1
	shift
	"$planc" "$@" >out 2>err
	got=$?
	[ "$got" -eq "$want" ] && return 0
	fail "planc $*: exit code $got, expected $want"
	cat err
	return 1
}

# holds FILE TEXT: the file has the text in it
holds() {
	grep -qF -- "$2" "$1" || {
		fail "no \`$2\` in $1:"
		head -n 20 "$1"
	}
}

finish() {
	[ "$failed" -eq 0 ] && echo passed
	exit "$failed"
}
