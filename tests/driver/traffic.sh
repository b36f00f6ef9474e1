#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# traffic.sh PLANC JSON_CHECK ROOT CC: what `planc show traffic` says of all ranks is what a program
# that was emitted calls in a step: number of calls and bytes, by kind and group.
. "$(dirname "$0")/lib.sh"
json=$2
CC="$4 -I$3/runtime -include $here/count_calls.h -Wl,--wrap=comm_exchange"
export CC

# said FILE RANKS: "KIND GROUP CALLS BYTES_OUT", a line a kind and group, of all ranks and phases
said() {
	rank=0
	while [ $rank -lt "$2" ]; do
		"$planc" show traffic -q "$1" --rank $rank --json || fail "rank $rank of $1"
		rank=$((rank + 1))
	done | sed -e 's/.*"calls": \[//' -e 's/\], "links".*//' -e 's/}, {/}\n{/g' |
		sed -e 's/.*"kind"//' -e 's/"[a-z_]*": //g' | tr -d '":,}' |
		awk '{ n[$1 " " $2] += $3; bytes[$1 " " $2] += $4 }
			END { for (k in n) print k, n[k], bytes[k] }' | sort
}

# called FILE: the same, from what one step called. An all-reduce moves 2 (n - 1) / n of its bytes
# out of each member, a scatter and a gather n - 1 blocks; of a message and of what is handed over
# planc counts both ends.
called() {
	"$planc" show ranks -q "$1" --json | sed -e 's/.*"groups": \[//' -e 's/\], "ranks".*//' \
		-e 's/}, {/}\n{/g' |
		sed -n 's/.*"name": "\([a-z_]*\)", "ranks": \([0-9]*\).*/\1 \2/p' >groups
	awk 'NR == FNR { name[NR - 1] = $1; size[NR - 1] = $2; next }
		{
			n = size[$2]
			key = $1 " " name[$2]
			if ($1 == "message") { calls[key] += 2; bytes[key] += $3; next }
			calls[key]++
			if ($1 == "hand_over") bytes[key] += $3 / 2
			else if ($1 ~ /all_reduce/) bytes[key] += 2 * (n - 1) / n * $3
			else bytes[key] += (n - 1) * $3
		}
		END { for (k in calls) printf "%s %d %d\n", k, calls[k], bytes[k] }' groups calls |
		sort
}

# compare NAME RANKS SPLIT MESH [SED [PLAN]]: a step of a variant of tiny.plan
compare() {
	sed -e "s/1 of cpu.core/$2 of cpu.core/" \
		-e "s/^precision = fp32/mesh { $4 }\n&\nsplit {\n  $3\n}/" \
		-e 's/^plan tiny/plan program/' -e 's/steps        = 2/steps        = 1/' \
		-e 's/kv_heads = 1/kv_heads = 2/' -e 's/global_batch = 4/global_batch = 8/' \
		-e 's/layers   = 2/layers   = 4/' -e "${5:-}" "${6:-tiny.plan}" >"$1.plan"
	expect 0 build -q "$1.plan" -o "$1.d" || return
	: >calls
	CALLS=$scratch/calls "$1.d/program" --quiet >/dev/null 2>err || {
		fail "$1: the program failed"
		cat err
	}
	said "$1.plan" "$2" >said
	called "$1.plan" >called
	[ -s said ] || fail "$1: no traffic"
	diff said called >differs || {
		fail "$1: said (<) is not what was called (>)"
		cat differs
	}
}

compare data 4 'data over dp' 'dp = 4 within node'
compare zero1 3 'data over dp\n  zero 1 over dp' 'dp = 3 within node' \
	's/global_batch = 8/global_batch = 12/'
compare zero2 2 'data over dp\n  zero 2 over dp' 'dp = 2 within node'
compare zero3 2 'data over dp\n  zero 3 over dp' 'dp = 2 within node'
compare once 2 'data over dp\n  zero 3 over dp { gather = step }' 'dp = 2 within node'
compare hybrid 4 'data over rp * dp\n  zero 3 over dp' 'rp = 2 within node, dp = 2 within node'
compare tensor 2 'tensor over tp' 'tp = 2 within node'
compare sequence 2 'tensor over tp\n  sequence over tp' 'tp = 2 within node'
compare stages 2 'pipeline over pp' 'pp = 2 within node'
compare chunks 2 'pipeline over pp { schedule = interleaved_1f1b, chunks = 2 }' \
	'pp = 2 within node'
ways='data over dp\n  zero 1 over dp\n  tensor over tp\n  sequence over tp\n  pipeline over pp'
compare all 8 "$ways" 'pp = 2 within node, dp = 2 within node, tp = 2 within node' \
	's/^precision = .*/precision = mixed_bf16/'

# Tensors that pass by the layers have messages of their own.
sed -e '/^mesh/d' -e '/^split/d' -e '/^  schedule/d' -e 's/bytes("data")/bytes("text.txt")/' \
	-e 's/^plan past/plan tiny/' -e 's/2 of cpu/1 of cpu/' \
	-e 's/steps        = 10/steps        = 2/' -e 's/v    = 61/v    = 62/' \
	"$here/../equal/past.plan" >ring.plan
compare past 3 'pipeline over pp { layers = spread }' 'pp = 3 within node' '' ring.plan
chunks='pipeline over pp { schedule = interleaved_1f1b, chunks = 2 }'
compare chunks_past 4 "tensor over tp\n  $chunks" \
	'pp = 2 within node, tp = 2 within node' '' ring.plan

# Half as many bytes over wires of bf16.
types='compute = fp32, params = fp32, gradients = fp32, optimizer = fp32, loss = fp32'
types="$types, gradient_wire = bf16, partial_wire = bf16"
compare wires 4 'data over dp\n  tensor over tp' 'dp = 2 within node, tp = 2 within node' \
	"s/^precision = .*/precision { $types }/"

# What is computed again has its collectives again.
compare again 2 'tensor over tp' 'tp = 2 within node' 's/^train/memory { recompute = block }\n&/'
finish
