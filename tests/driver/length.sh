# SPDX-License-Identifier: Apache-2.0
# The emitted text of a plan that uses every split is as long for 320 micro-batches as for 32, for
# 96 layers as for 8, for 64 data ranks as for 2, and for 16 stages as for 4, but for a table of
# constants a stage. Stages that do the same share their functions.
. "$(dirname "$0")/lib.sh"

# plan NAME MICRO_BATCHES LAYERS DATA STAGES SCHEDULE: emitted into a folder of this name
plan() {
	cat >"$1.plan" <<EOF
plan long
edition 1
import cpu from "std/devices/cpu.plan"
import arch from "std/architectures.plan"
cluster box { node { devices = $(($4 * $5 * 2)) of cpu.core { memory = 4 GiB } } }
mesh { dp = $4 within node, pp = $5 within node, tp = 2 within node }
model m : arch.gpt {
  layers = $3, embed = 16, heads = 2, vocab = 256, context = 8
  dropout = 10 %, norm_eps = 1e-5, tied_embeddings = true
}
precision = fp32
split {
  data     over dp
  zero 1   over dp
  tensor   over tp
  sequence over tp
  pipeline over pp { schedule = $6 }
}
train {
  seq_len       = 8 tokens
  micro_batch   = 1 seq
  micro_batches = $2
  lanes         = $((4 * $4))
  steps         = 2
  optimizer     = adamw { lr = 1e-3, weight_decay = 0.1 }
  seed          = 1
  data          = bytes("text.txt")
}
EOF
	mkdir "$1"
	mv "$1.plan" "$1/long.plan"
	expect 0 emit -q "$1/long.plan" -o "$1"
}

# bytes NAME: of the sources
bytes() {
	cat "$1/plan.h" "$1/model.c" "$1/schedule.c" | wc -c
}

# alike A B: the sources are of one length, within 1 %
alike() {
	a=$(bytes "$1") b=$(bytes "$2")
	[ $((100 * (a > b ? a - b : b - a))) -le "$a" ] || fail "$1 has $a bytes, $2 $b"
}

chunks='interleaved_1f1b, chunks = 2'
plan base 32 8 2 4 1f1b
plan many 320 8 2 4 1f1b
plan deep 32 96 2 4 1f1b
plan wide 32 8 64 4 1f1b
plan chunks 32 16 2 4 "$chunks"
plan chunks_many 320 96 64 4 "$chunks"
for other in many deep wide; do
	alike base $other
done
alike chunks chunks_many

# More stages: the same functions but for numbers of layers and of the last stage; each stage has a
# table of places and one of homes, of as many lines as any other between the first and the last.
plan stages8 32 16 2 8 1f1b
plan stages16 32 16 2 16 1f1b
for name in base stages8 stages16; do
	sed "s/$name.long/long/; s/[0-9][0-9]*/N/g" "$name/model.c" >"$name/text"
done
cmp base/text stages8/text || fail 'model.c of 4 and of 8 stages'
cmp base/text stages16/text || fail 'model.c of 4 and of 16 stages'
lines4=$(wc -l <base/schedule.c)
lines8=$(wc -l <stages8/schedule.c)
lines16=$(wc -l <stages16/schedule.c)
[ $(((lines8 - lines4) * 2)) -eq $((lines16 - lines8)) ] ||
	fail "schedule.c has $lines4, $lines8 and $lines16 lines for 4, 8 and 16 stages"
for name in base stages16; do
	[ "$(grep -c '^static int [a-z_]*(struct rt' $name/schedule.c)" -eq \
		"$(grep -c '^static int [a-z_]*(struct rt' base/schedule.c)" ] ||
		fail "$name: other functions than for 4 stages"
done
finish
