#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# faults.sh PLANC COMPARE: well-known faults of tensor, sequence and ZeRO parallel training, planted
# one at a time into the emitted C. The comparison of layouts must find each.
set -u
planc=$1 compare=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/lib.sh"
failed=0

# plan DP TP SPLIT: ../equal/gpt.plan: dropout, biases, a padded vocabulary, a tied head
plan() {
	sed -e "s/[0-9]* of cpu.core/$(($1 * $2)) of cpu.core/" \
		-e 's/^precision = .*/precision = fp64/' \
		-e "s/^mesh .*/mesh { dp = $1 within node, tp = $2 within node }/" \
		-e "s/^split .*/split {\\n  data over dp\\n  tensor over tp\\n$3}/" \
		-e 's/^plan .*/plan program/; s/^  steps .*/  steps = 3/' \
		-e 's/dropout      = 10 %/dropout = 25 %/; s/warmup = 5/warmup = 1/' \
		"$here/../equal/gpt.plan"
}

# layout FOLDER: two data ranks of two tensor ranks, in double, and its twins
layout() {
	mkdir "$work/$1"
	plan 2 2 '  sequence over tp\n  zero 1 over dp\n' >"$work/$1/layout.plan"
	plan 2 2 '  sequence over tp\n' >"$work/$1/bits.plan"
	plan 1 1 '' >"$work/$1/one.plan"
}

# fault NAME SED: of model.c. A fault that ends the program is found as well.
fault() {
	layout "$1"
	if said=$(compared "$work/$1" model.c "$2"); then
		echo "$1: NOT FOUND"
		failed=1
		return
	fi
	case $said in
	'the emitted text has'* | 'does not compile'* | 'not emitted'* | twin*)
		echo "$1: $said"
		failed=1
		;;
	*)
		echo "$1: found$(echo "$said" | sed -n \
			-e 's/^\(ended with.*\)/, \1/p; s/^other bits.*/ in the bits/p' \
			-e 's/^\(.*\): .*: TOO MUCH/, \1/p' | tr -d '\n')"
		;;
	esac
	rm -rf "${work:?}/$1"
}

layout right
said=$(compared "$work/right") || {
	echo "the right program is not equal to its twins: $said"
	exit 1
}
echo "right: $(echo "$said" | grep 'at most' | tr '\n' ' ')"

update='/^int update_weights/,/^}/'
fault norm_weight_not_reduced '/rt_all_reduce(rt, 0, GROUP_tp, layer_ln_1_weight_grad_slice,/,/;/d'
fault bias_not_reduced '/rt_all_reduce(rt, 0, GROUP_tp, layer_mlp_c_proj_bias_grad_slice,/,/;/d'
fault bias_added_by_each 's/rt_index(rt, GROUP_tp) == 0 ? \(layer_mlp_c_proj_bias\) : NULL/\1/'
fault padding_not_masked 's/\({N_VOCAB_PADDED_TP, N_VOCAB\), rt_/\1_PADDED, rt_/'
fault maximum_of_own_block '/rt_all_reduce_max(rt, 0, GROUP_tp,/,/;/d'
fault lookup_not_reduced '/rt_all_reduce(rt, 0, GROUP_tp, wte_partial,/,/;/d'
fault mask_by_local_index 's/rt_index(rt, GROUP_tp) \* N_BATCH \* N_TOKENS_TP \* N_EMBED}/0}/'
fault mask_by_local_head 's/\.first_head = rt_index(rt, GROUP_tp) \* N_HEADS_TP/.first_head = 0/'
fault norm_of_one_rank '/rt_all_reduce(rt, 0, GROUP_dp_tp, norm_words,/,/;/d'
fault replicas_counted_each '/^int measure_norm/,/^}/s/if (rt_index(rt, GROUP_tp) == 0)//'
fault gathers_last_weights \
	"$update{/rt_all_gather(rt, 0, GROUP_dp, layer_mlp_c_fc_weight_slice,/,/;/d;}"
fault gradient_of_first_slice "$update{/^	wpe_weight_grad_slice += /d;}"
fault reduced_twice '/rt_all_reduce(rt, 0, GROUP_tp, layer_ln_2_weight_grad_slice,/{N;p;}'
exit $failed
