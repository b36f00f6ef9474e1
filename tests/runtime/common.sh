# SPDX-License-Identifier: Apache-2.0
# Read by the tests of this folder: sh TEST.sh BIN, where BIN holds the programs.
set -eu
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

# expect CODE COMMAND..: runs it, output in `out` and `err`.
expect() {
	expected=$1
	shift
	code=0
	"$@" >out 2>err || code=$?
	[ "$code" -eq "$expected" ] || {
		cat out err >&2
		fail "exit code $code instead of $expected: $*"
	}
}

# says TEXT: standard error is one line that holds it.
says() {
	[ "$(wc -l <err)" -eq 1 ] || {
		cat err >&2
		fail "more or less than one message"
	}
	grep -qF -- "$1" err || {
		cat err >&2
		fail "no '$1' in the message"
	}
}

# text BYTES FILE: words in a fixed, uneven order.
text() {
	awk -v bytes="$1" 'BEGIN {
		n = split("the of and a to in is was he for it with as his on be at by had " \
			"not are but from or have they which one you were her all she there " \
			"would their", w, " ")
		x = 7
		while (used < bytes) {
			x = (x * 16807) % 2147483647
			word = w[1 + int(x % n * (x % 13) / 13)] " "
			used += length(word)
			printf "%s", word
		}
	}' | head -c "$1" >"$2"
}

# children PID: the ranks of a program, in order.
children() {
	ps -o pid= --ppid "$1" | sort -n
}

# ranks PID N: waits until N ranks run.
ranks() {
	for _ in $(seq 200); do
		[ "$(children "$1" | wc -l)" -ge "$2" ] && return 0
		sleep 0.02
	done
	fail "the ranks do not start"
}

# gone PID..: none of them is left, zombies aside.
gone() {
	for pid in "$@"; do
		[ -d "/proc/$pid" ] || continue
		grep -q "^State:.Z" "/proc/$pid/status" 2>/dev/null || fail "process $pid is left"
	done
}

text 60000 text.txt
