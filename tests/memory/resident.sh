#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# resident.sh PLANC JSON_LINES: eight ranks in several splits. Of every rank: the arena in memory is
# the one predicted, to the byte, and what the process holds beside it stays under `outside` of
# std/devices/cpu.plan, whatever the split and the size of the model; by the program's own report,
# and by the kernel's: the proportional sizes of all ranks less all arenas.
set -u
planc=$1 json_lines=$2
root=$(cd "$(dirname "$planc")/.." && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
program=
trap '[ -z "$program" ] || kill -9 $program 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
seq 1 20000 >data.txt
failed=0
sanitized=
case $(cat "$root/lib/planc/link.txt") in
*sanitize*) sanitized=yes ;;
esac
[ -z "$sanitized" ] ||
	echo 'a build with sanitizers: what they hold is not compared, arenas are'

fault() {
	failed=$((failed + 1))
	echo "$name: $1"
}

# plan NAME EMBED PRECISION AXES STATEMENTS
plan() {
	{
		echo "plan resident"
		echo 'edition 1'
		echo 'import cpu from "std/devices/cpu.plan"'
		echo 'import arch from "std/architectures.plan"'
		echo 'cluster desk { node { devices = 8 of cpu.core { memory = 1 GiB } } }'
		printf 'mesh {\n'
		echo "$4" | tr , '\n' | sed 's/$/ within node/'
		printf '}\nmodel small : arch.llama {\n'
		echo "layers = 4, embed = $2, heads = 4, kv_heads = 2, ffn = $((4 * $2))"
		echo 'vocab = 256'
		echo 'context = 64, norm_eps = 1e-5, rope_base = 10_000, tied_embeddings = true'
		printf '}\nprecision = %s\nsplit {\n' "$3"
		echo "$5" | tr ';' '\n'
		printf '}\ntrain {\nseq_len = 64 tokens, global_batch = 32 seq\n'
		echo 'micro_batch = 2 seq'
		echo 'steps = 1000, seed = 1, data = bytes("data.txt")'
		printf 'optimizer = adamw { lr = 1e-3, weight_decay = 0.1 }\n}\n'
	} >"$1.plan"
}

# The ranks: children of the process.
ranks_of() {
	for status in /proc/[0-9]*/status; do
		awk -v parent="$1" '/^Pid:/ { pid = $2 } /^PPid:/ && $2 == parent { print pid }' \
			"$status" 2>/dev/null
	done
}

# Proportional bytes of all ranks: a shared page counts once over all of them.
proportional() {
	for pid in $(ranks_of "$1"); do
		sed -n 's/^Pss: *\([0-9]*\) kB/\1/p' "/proc/$pid/smaps_rollup"
	done | awk '{ sum += $1 } END { printf "%d %d\n", 1024 * sum, NR }'
}

# Builds NAME.plan, starts it, waits for the report after its first step, measures, ends it.
measure() {
	name=$1
	"$planc" build -q "$name.plan" -o "$name" >said 2>&1 || {
		fault "not built: $(head -n 3 said)"
		return
	}
	"./$name/resident" --quiet --log "$name.log" >said 2>&1 &
	program=$!
	waited=0
	until "$json_lines" "$name.log" event ranks.arena ranks.resident ranks.outside \
		>"$name.ranks" 2>/dev/null; do
		waited=$((waited + 1))
		[ $waited -lt 2400 ] && kill -0 $program 2>/dev/null || break
		sleep 0.1
	done
	proportional $program >"$name.pss"
	kill -TERM $program 2>/dev/null
	wait $program
	program=
	[ -s "$name.ranks" ] || {
		fault "no report: $(head -n 3 said)"
		return
	}
	compare
}

# "memory" [..] [..] [..] of the log, bytes and ranks of the kernel, the prediction.
compare() {
	predicted=$("$planc" show memory --json "$name.plan" 2>/dev/null)
	tr '[],' '   ' <"$name.ranks" | cat - "$name.pss" | awk -v name="$name" \
		-v arena="$(figure arena_bytes)" -v outside="$(figure outside_bytes)" \
		-v sanitized="$sanitized" -f "$here/resident.awk" || failed=$((failed + 1))
}

figure() {
	printf '%s' "$predicted" | sed "s/.*\"$1\": \([0-9]*\).*/\1/"
}

pipeline='pipeline over pp { schedule ='
plan three 64 fp32 'pp = 2,dp = 2,tp = 2' "data over dp;tensor over tp;$pipeline 1f1b }"
plan large 256 mixed_bf16 'pp = 2,dp = 2,tp = 2' \
	"data over dp;zero 1 over dp;tensor over tp;sequence over tp;$pipeline gpipe }"
plan sliced 128 mixed_bf16 'dp = 2,pp = 2,tp = 2' \
	"data over dp;zero 3 over dp;tensor over tp;sequence over tp;$pipeline 1f1b }"
plan chunks 128 fp64 'pp = 2,tp = 2,dp = 2' \
	"data over dp;zero 2 over dp;tensor over tp;$pipeline interleaved_1f1b, chunks = 2 }"
plan data 128 mixed_bf16_16b 'dp = 8' 'data over dp;zero 3 over dp { gather = step }'

for name in three large sliced chunks data; do
	measure $name
done
[ $failed -eq 0 ]
