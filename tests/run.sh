#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh: builds the tree with sanitizers in build/tests and runs every test. What is missing is
# installed where that is allowed (as root, with apt-get), else named. The last line says how many
# tests passed and failed; skipped ones are listed with their reason and count as neither.
set -u
cd "$(dirname "$0")/.." || exit 1
build=build/tests
packages='bison cmake flex g++ gcc make libdnnl-dev libhwloc-dev libjansson-dev libopenmpi-dev
	openmpi-bin fortunes'

# Packages that a build cannot do without, by the command each brings.
missing() {
	for pair in bison:bison cmake:cmake flex:flex gcc:gcc g++:g++ make:make; do
		command -v "${pair%%:*}" >/dev/null 2>&1 || echo "${pair#*:}"
	done
}

# Those that widen what is tested; a test whose need is absent is skipped.
wanted() {
	for package in $packages; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
			echo "$package"
	done
}

install_packages() {
	[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1 || return 0
	list=$(wanted)
	[ -n "$list" ] || return 0
	apt-get update -qq >/dev/null 2>&1
	for package in $list; do
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			"$package" >/dev/null 2>&1 || echo "could not install $package"
	done
}

install_packages
list=$(missing)
if [ -n "$list" ]; then
	echo "please install: $(echo "$list" | tr '\n' ' ')"
	echo '0 passed, 1 failed'
	exit 1
fi

jobs=$(nproc 2>/dev/null || echo 2)
if ! cmake --preset debug -B "$build"; then
	echo '0 passed, 1 failed'
	exit 1
fi
if ! cmake --build "$build" -j "$jobs"; then
	echo '0 passed, 1 failed'
	exit 1
fi

ASAN_OPTIONS=exitcode=99 ctest --test-dir "$build" --output-on-failure -j2 \
	--output-junit results.xml
code=$?
count() { # count NAME: an attribute of the whole run
	sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$build/results.xml" | head -n 1
}
tests=$(count tests)
failed=$(count failures)
skipped=$(count skipped)
disabled=$(count disabled)
passed=$((${tests:-0} - ${failed:-0} - ${skipped:-0} - ${disabled:-0}))
if [ "$code" -ne 0 ] && [ "${failed:-0}" -eq 0 ]; then
	failed=1
fi
echo 'not run here: the nightly tests (ctest --test-dir build/tests -C nightly -L nightly)'
echo "$passed passed, ${failed:-0} failed"
exit "$code"
