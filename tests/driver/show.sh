#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# show.sh PLANC JSON_CHECK: figures of `planc show` against values worked out by hand, and its text
# against show.golden. With --update as the third word the text is written.
. "$(dirname "$0")/lib.sh"
json=$2

# is PATH WANT: a member of the JSON in out
is() {
	value=$("$json" "$1" <out) || fail "no JSON with $1"
	[ "$value" = "$2" ] || fail "$shown: $1 is \`$value\`, expected \`$2\`"
}

# show WHAT FILE OPTION...: the JSON of a topic, in out
show() {
	shown="show $*"
	expect 0 show "$@" --json
}

# calls PHASE KIND GROUP COUNT BYTES: a line of `show traffic`
calls() {
	line="\"phase\": \"$1\", \"kind\": \"$2\", \"group\": \"$3\", \"count\": $4"
	line="$line, \"out_bytes\": $5, \"in_bytes\": $5"
	holds out "$line"
}

# in_layer PHASE KIND GROUP COUNT: a line of `show split`
in_layer() {
	line="\"phase\": \"$1\", \"region\": \"layer\", \"kind\": \"$2\", \"group\": \"$3\""
	holds out "$line, \"count\": $4,"
}

# variant NAME SED...: hand.plan with changes
variant() {
	name=$1
	shift
	sed "$@" hand.plan >"$name.plan"
	expect 0 check -q "$name.plan"
}

mesh() { printf 's/mesh { dp = 4 within node }/mesh { %s }/' "$1"; }
split() { printf 's/  data over dp/  %s/' "$1"; }

# ---- data: four ranks, each gradient summed once a step. 2 * 65536 of embedding and head, 2 layers
# of 4 * 65536 + 3 * 262144 + 2 * 256, norm 256: 2229504 weights. An all-reduce between four moves
# 2 * 3/4 of the bytes each way.
show traffic hand.plan
is ranks 4
sums=$((2229504 * 4 * 2 * 3 / 4))
# and two numbers of the loss, all of them in the part of the last rank
calls update all_reduce dp 13 $((sums + 16))
grep -q '"kind": "all_gather"' out && fail 'data parallelism gathers'
show split hand.plan
is params.3.path layer.self_attn.k_proj
is params.3.bytes $((65536 * 4))
is params.3.copies 2
is gradients.bytes $((2229504 * 4))
is optimizer.bytes $((2229504 * 8))

# ---- ZeRO 1: a reduce-scatter of the gradients, a gather of the weights, 3/4 of the bytes each
variant zero1 -e "$(split 'data over dp\n  zero 1 over dp')"
show traffic zero1.plan
calls update reduce_scatter dp 12 $((2229504 * 4 * 3 / 4))
calls update all_gather dp 12 $((2229504 * 4 * 3 / 4))
show split zero1.plan
is optimizer.bytes $((2229504 * 8 / 4))
is optimizer.flat.0 dp

# ---- ZeRO 3: weights gathered on the way there and on the way back of each of 4 micro-batches,
# gradients scattered after each
variant zero3 -e "$(split 'data over dp\n  zero 3 over dp')"
show traffic zero3.plan
calls forward all_gather dp $((4 * (9 * 2 + 3))) $((4 * 2229504 * 4 * 3 / 4))
calls backward reduce_scatter dp $((4 * (9 * 2 + 3))) $((4 * 2229504 * 4 * 3 / 4))
show split zero3.plan
is params.3.flat.0 dp
is params.3.bytes $((65536 * 4 / 4))
is gradients.bytes $((2229504 * 4 / 4))

# ---- tensor, as Megatron has it: two all-reduces a layer on the way there, two on the way back
variant tensor -e "$(mesh 'tp = 4 within node')" -e "$(split 'tensor over tp')"
show split tensor.plan
in_layer forward all_reduce tp 2
in_layer backward all_reduce tp 2
is params.3.bytes $((65536 * 4 / 4))
is params.3.cut.0 tp
"$json" params.1.cut.0 <out >/dev/null 2>&1 && fail 'a norm is cut'
show traffic tensor.plan
# 16 micro-batches of 2 x 64 tokens x 256, fp32; two a layer, one behind the embedding
rows=$((2 * 64 * 256 * 4))
line='"phase": "forward", "kind": "all_reduce", "group": "tp", "count": '
holds out "$line$((16 * (2 * 2 + 1 + 2)))"

# ---- with sequence they become gathers and reduce-scatters; backward gathers again what forward
# kept cut
variant sequence -e "$(mesh 'tp = 4 within node')" \
	-e "$(split 'tensor over tp\n  sequence over tp')"
show split sequence.plan
in_layer forward all_gather tp 2
in_layer forward reduce_scatter tp 2
in_layer backward all_gather tp 4
in_layer backward reduce_scatter tp 2
show traffic sequence.plan
calls forward all_gather tp $((16 * 5)) $((16 * 5 * rows * 3 / 4))
calls forward reduce_scatter tp $((16 * 5)) $((16 * 5 * rows * 3 / 4))

# ---- pipeline: 4 stages of 4 layers; each message is one micro-batch of 2 x 64 x 256 in fp32
variant pipeline -e "$(mesh 'pp = 4 within node')" -e "$(split 'pipeline over pp')" \
	-e 's/= 2$/= 4/' -e 's/steps        = 4/steps        = 2/'
show traffic pipeline.plan --rank 1
is stage 1
calls forward message pp 32 $((16 * rows))
show pipeline pipeline.plan
is bubble 0.1875
is units $((2 * 16 + 2 * 3))
is rows.0.idle_units 6
is rows.0.slots 4
is rows.3.slots 1
is rows.0.turns.0 F0
is rows.0.turns.4 B0
is rows.3.turns.1 B0
is rows.3.starts.0 3
variant gpipe -e "$(mesh 'pp = 4 within node')" \
	-e "$(split 'pipeline over pp { schedule = gpipe }')" \
	-e 's/= 2$/= 4/' -e 's/steps        = 4/steps        = 2/'
show pipeline gpipe.plan
is units $((2 * 16 + 2 * 3))
is rows.3.slots 16
show ranks pipeline.plan
is classes.3.layers 3
is classes.0.embedding true
is classes.0.head false
is classes.3.head true
is ranks.2.stage 2

# ---- two nodes of two: the pipeline crosses nodes, tensor does not
variant nodes -e "$(mesh 'pp = 2 across nodes, tp = 2 within node')" \
	-e "$(split 'tensor over tp\n  pipeline over pp')" -e 's/nodes  = 1/nodes  = 2/' \
	-e 's/devices = 4/devices = 2/'
show traffic nodes.plan
is links.0.group pp
is links.0.link infiniband
is links.0.between_nodes true
is links.1.group tp
is links.1.between_nodes false
show ranks nodes.plan
is ranks.1.node 0
is ranks.2.node 1
is ranks.3.at.tp 1

# ---- 175 billion weights: 47 micro-batches under way on the first stage; a layer of a micro-batch
# moves 48 MiB between 8 ranks in each collective, 7/8 of it out of each
show pipeline pod_175b.plan
is rows.0.slots 47
is rows.8.slots 31
is rows.15.slots 17
is units $((2 * 384 + 30))
show traffic pod_175b.plan --rank 512
calls forward all_gather tp $((192 * 6 * 2)) $((192 * 6 * 2 * 42 * 1048576))
show ranks pod_175b.plan
is count 1024
is classes.15.first_rank 960

# ---- the text
for what in split ranks pipeline traffic; do
	for plan in hand.plan zero3.plan nodes.plan pod_175b.plan; do
		echo "\$ planc show $what $plan"
		"$planc" show -q $what $plan || fail "show $what $plan"
	done
done >text
"$planc" show -q memory --all-ranks nodes.plan >>text || fail 'show memory --all-ranks'
"$planc" show -q all nodes.plan >all || fail 'show all'
for what in split memory ranks pipeline traffic; do
	holds all "== $what"
done
if [ "${3:-}" = --update ]; then
	cp text "$here/show.golden"
else
	diff "$here/show.golden" text || fail 'the text of show has changed'
fi
awk 'length($0) > 110 { exit 1 }' text || fail 'a line of show is longer than 110 columns'
show all nodes.plan --all-ranks
is memory.classes.1.phases.3.phase update
is traffic.stages.1.first_rank 2
arena=$("$json" memory.classes.1.arena_bytes <out)
most=0
for phase in 0 1 2 3; do
	total=$("$json" memory.classes.1.phases.$phase.total <out)
	[ "$total" -gt "$most" ] && most=$total
done
[ "$arena" = "$most" ] || fail "the arena of $arena bytes is no phase's fullest instant"
finish
