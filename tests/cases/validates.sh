#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# validates.sh PLANC: HANG-5: validation takes all ranks of a pipeline: the loss of one rank.
set -eu
planc=${1:?usage: validates.sh PLANC}
case $planc in /*) ;; *) planc=$PWD/$planc ;; esac
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
awk 'BEGIN { for (i = 0; i < 600; i++) print "line", i, i * i % 97, "of text" }' >data.txt

# losses RANKS PIPELINE: of the validations of HANG-5.plan on so many stages
losses() {
	sed "s/devices = 2/devices = $1/; s/pp = 2/pp = $1/; s/over pp/over pp $2/
		s/^plan .*/plan v$1/" "$here/HANG-5.plan" >"v$1.plan"
	"$planc" build -q "v$1.plan" -o "v$1"
	"v$1/v$1" --quiet --data data.txt --log "log$1" >out 2>&1 || {
		echo "$1 stages: exit code $?"
		cat out
		exit 1
	}
	grep -o '"validation_loss":[0-9.e+-]*' "log$1" >"losses$1" || true
}
losses 1 '{ schedule = 1f1b }'
losses 2 '{ schedule = interleaved_1f1b, chunks = 2 }'
cat losses2
[ "$(wc -l <losses1)" -eq 3 ] || {
	echo 'one stage does not validate three times'
	exit 1
}
cmp losses1 losses2
