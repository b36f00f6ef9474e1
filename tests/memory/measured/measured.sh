#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# measured.sh PLANC [--update]: the peaks that others measured beside planc's. A plan is made of
# each row of peaks.tsv and checked; what planc says has to be what the table says, and the
# differences of a set have to stay within those of sets.tsv, where their cause stands. Of trace.tsv
# the model is not known: there the number of micro-batches that planc keeps explains the memory of
# every rank, with two constants. --update writes what planc says into the last column of peaks.tsv.
set -u
planc=$1 update=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# stages PLAN: bytes of the arena and number of the stage, a line each
stages() {
	"$planc" check -q --dump=layout "$1" 2>"$work/said" |
		sed -n 's/^role all: arena \([0-9]*\),.*/\1 0/p
			s/^role stage \([0-9]*\): arena \([0-9]*\),.*/\2 \1/p'
}

# Predicted MiB of every row.
rows=$(wc -l <"$here/peaks.tsv")
for row in $(seq "$rows"); do
	awk -v row="$row" -f "$here/plan.awk" "$here/peaks.tsv" >"$work/$row.plan"
	where=$(sed -n "${row}p" "$here/peaks.tsv" | cut -f 11)
	stages "$work/$row.plan" | awk -v where="$where" '
		{ last = $1; largest = $1 > largest ? $1 : largest }
		where == "max" { bytes = largest }
		where == "last" { bytes = last }
		where == "stage " $2 { bytes = $1 }
		END { printf "%.0f\n", bytes / 2 ^ 20 }'
done >"$work/predicted"
if [ "$update" = --update ]; then
	cut -f 1-12 "$here/peaks.tsv" | paste - "$work/predicted" >"$work/new" &&
		cp "$work/new" "$here/peaks.tsv"
fi

# Slots of each rank of the traces, in layers that are kept.
trace=0
awk 'BEGIN { FS = "\t" } !seen[$1]++ { print $1, $2, $3, $4 }' "$here/trace.tsv" >"$work/cases"
while read -r name stages_of chunks micros; do
	{
		printf 'plan trace\nedition 1\nimport gpu from "std/devices/nvidia.plan"\n'
		printf 'import arch from "std/architectures.plan"\ncluster box {\n'
		printf 'node { devices = %d of gpu.h200_sxm_141g }\n}\n' "$stages_of"
		printf 'mesh { pp = %d }\n' "$stages_of"
		printf 'model m : arch.gpt {\nlayers = 64, embed = 64\n'
		printf 'heads = 1, vocab = 64, context = 64, dropout = 0 %%, norm_eps = 1e-5\n'
		printf 'tied_embeddings = false\n}\nprecision = mixed_bf16\nsplit {\n'
		printf 'pipeline over pp { schedule = %s, chunks = %d }\n}\ntrain {\n' \
			"$([ "$chunks" -gt 1 ] && echo interleaved_1f1b || echo 1f1b)" "$chunks"
		printf 'seq_len = 64 tokens, global_batch = %d seq, micro_batch = 1 seq\n' "$micros"
		printf 'steps = 1, seed = 1, data = tokens("d")\n'
		printf 'optimizer = adamw { lr = 1e-3, weight_decay = 0 }\n}\n'
	} >"$work/trace.plan"
	"$planc" check -q --dump=layout "$work/trace.plan" 2>"$work/said" | awk -v name="$name" '
		/^role stage/ { stage = $3 + 0 }
		$1 ~ /^attention_q$/ {
			layers = slots = 1
			for (i = 2; i <= NF; i++) {
				layers = $i == "layers" ? $(i - 1) : layers
				slots = $i == "slots" ? $(i - 1) : slots
			}
			print name, stage, layers * slots
		}'
done <"$work/cases" >"$work/kept"
awk -f "$here/trace.awk" "$work/kept" "$here/trace.tsv" || trace=1

awk -f "$here/sets.awk" "$here/sets.tsv" "$work/predicted" "$here/peaks.tsv" && [ $trace -eq 0 ]
