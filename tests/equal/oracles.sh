#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# oracles.sh PLANC COMPARE: small cases of data parallel training with known answers.
set -eu
planc=$1 compare=$2
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
plan=equal/llama.plan

# 10 samples in micro-batches of 2 over 3 ranks: ranks would run 2, 2 and 1 steps. Refused, with the
# values that go.
variant uneven $plan fp32 3 - 2 's/^  global_batch .*/  global_batch = 10 seq/'
code=0
"$planc" check "$work/uneven/program.plan" >"$work/said" 2>&1 || code=$?
if [ $code -ne 1 ] || ! grep -q '^error\[E0322\]' "$work/said" ||
	! grep -q '`6 seq` and `12 seq`' "$work/said"; then
	echo "10 samples, micro-batch 2, 3 ranks: exit code $code"
	cat "$work/said"
	failed=1
fi

# A group of one rank and six micro-batches: the gradient once, as without a group at all.
build alone $plan fp64 1 - 2
build no_mesh $plan fp64 1 - 2 '/^mesh/d; /^split/d'
build one_batch $plan fp64 1 - 12
same alone no_mesh || failed=1
within_fp64 alone one_batch || failed=1

# Clipping looks at the norm of the reduced gradient: a limit 5 % above it changes nothing, and one
# far below it does. The wrong norm, sqrt(ranks) times as large, would be clipped.
build free $plan fp64 2 - 2 '/^  clip /d'
limit=$(sed -n 's/.*"grad_norm": *\([0-9.e+-]*\).*/\1/p' "$work/free/log" |
	awk '$1 > most { most = $1 } END { printf "%.6f", 1.05 * most }')
build above $plan fp64 2 - 2 "s/^  clip .*/  clip = $limit/"
build below $plan fp64 2 - 2 "s/^  clip .*/  clip = 0.01/"
same free above || failed=1
if same free below >/dev/null; then
	echo 'a clip of 0.01 changes nothing'
	failed=1
fi
exit $failed
