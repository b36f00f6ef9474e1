#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# huge.sh PLANC: sizes near 2^63 are worked out to the last byte, or refused. What grows with a
# count is a straight line through two small plans; the shell's numbers of 64 bits continue it.
. "$(dirname "$0")/lib.sh"
printf '%d' $((9000000000000000000 + 1)) | grep -qx 9000000000000000001 || {
	echo 'this shell has no whole numbers of 64 bits'
	exit 1
}

# plan LAYERS DP MICRO_BATCHES
plan() {
	cat <<-END
		plan huge
		edition 1
		import arch from "std/architectures.plan"
		device giant { memory = 8_000_000 TiB, cores = 1 }
		cluster c { node { devices = $2 of giant } }
		mesh { dp = $2 within node }
		model m : arch.gpt {
		  layers  = $1, embed = 64, heads = 4, vocab = 256, context = 16
		  dropout = 0 %, norm_eps = 1e-5, tied_embeddings = true
		}
		precision = fp32
		split { data over dp, zero 1 over dp }
		train {
		  seq_len   = 16 tokens, micro_batches = $3, micro_batch = 1 seq
		  steps     = 10, seed = 1
		  optimizer = adamw { lr = 1e-4, weight_decay = 0.1 }
		  data      = tokens("x")
		}
	END
}

# figures NAME LAYERS DP MICRO_BATCHES: lines `name bytes` in NAME
figures() {
	plan "$2" "$3" "$4" >huge.plan
	expect 0 show memory --json --verify -A W0505 huge.plan
	tr '{},[]' '\n' <out | sed -n 's/^ *"\([a-z_]*\)": \([0-9]*\)$/\1 \2/p' >"$1.all"
	tr '{' '\n' <out | sed -n 's/^"name": "\([a-z ]*\)", "bytes": \([0-9]*\)}.*/\1 \2/p' |
		tr ' ' '_' | sed 's/_\([0-9]*\)$/ \1/' >"$1.items"
	grep -E '^(params|tokens_per_step) ' "$1.all" >"$1.line"
	grep -v '^gaps ' "$1.items" >>"$1.line"
	[ "$(wc -l <"$1.line")" -ge 10 ] || fail "$1: no figures"
}

# value NAME FIGURE
value() {
	sed -n "s/^$2 //p" "$1"
}

# on_line FAR: figures at 2, 3 and FAR lie on one line, and items and gaps are the arena
on_line() {
	while read -r name far; do
		two=$(value two.line "$name") three=$(value three.line "$name")
		want=$((two + (three - two) * ($1 - 2)))
		[ "$far" -eq "$want" ] || fail "$name of $1: $far, not $want"
	done <far.line
	sum=0
	while read -r name bytes; do
		sum=$((sum + bytes))
	done <far.items
	[ "$sum" -eq "$(value far.all arena_bytes)" ] || fail "items of $1 are not the arena"
}

for layers in 1000 1000003 9000000007; do
	figures two 2 1 8
	figures three 3 1 8
	figures far $layers 1 8
	on_line $layers
done
for batches in 1000 1048576; do
	figures two 2 1 2
	figures three 2 1 3
	figures far 2 1 $batches
	on_line $batches
done

# What is refused names what is too large; nothing else is said, and no sum is wrong in silence.
refused() {
	plan "$2" "$3" "$4" >huge.plan
	sed -i "s/micro_batch = 1 seq/micro_batch = $5 seq/" huge.plan
	expect 1 check -A W0505 huge.plan
	holds err "$1"
	[ "$(grep -c '^error' err)" -eq 1 ] || fail "$1: more than one error"
}
refused 'error[E0114]: the sizes of model `m` do not fit 64 bits' 9000000000000000 1 8 1
refused 'error[E0114]: the tokens of a step do not fit 64 bits' 2 1000000 1000000 1000000
refused 'error[E0114]: the batch does not fit 64 bits' 2 1000000 10000000000000 1
refused 'error[E0115]: a mesh of 3000000000 places is too large' 2 3000000000 1 1
refused 'error[E0327]: 3000000000 micro-batches a step' 2 1 3000000000 1
finish
