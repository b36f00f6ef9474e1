#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# faults.sh PLANC COMPARE: well-known faults of parallel training, planted one at a time into the
# emitted C of eight layouts. The comparison of layouts must find each.
set -u
planc=$1 compare=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/lib.sh"
failed=0 found=0
replicas= # the comparison is to find it, not the program itself
within='within node'

# plan MESH SPLIT MICRO [SED]: ../equal/gpt.plan in double: dropout, biases, a padded vocabulary, a
# tied head; 12 samples in 3 steps
plan() {
	ranks=$(echo "$1" | awk '{ n = 1; for (i = 1; i <= NF; i++) n *= $i == "=" ? $(i + 1) : 1
		print n }')
	sed -e "s/[0-9]* of cpu.core/$ranks of cpu.core/" \
		-e 's/^precision = .*/precision = fp64/' \
		-e "s/^mesh .*/mesh { $1 }/" -e "s/^split .*/split { $2 }/" \
		-e 's/^plan .*/plan program/; s/^  steps .*/  steps = 3/' \
		-e "s/^  micro_batch .*/  micro_batch = $3 seq/" \
		-e 's/dropout      = 10 %/dropout = 25 %/; s/warmup = 5/warmup = 2/' -e "${4:-}" \
		"$here/../equal/gpt.plan"
}

# layout NAME FOLDER: layout.plan and its twins
layout() {
	one=
	case $1 in
	sequence)
		mesh="dp = 2 $within, tp = 2 $within"
		rest='data over dp, tensor over tp, sequence over tp'
		plan "$mesh" "$rest, zero 1 over dp" 1 >"$2/layout.plan"
		plan "$mesh" "$rest" 1 >"$2/bits.plan"
		;;
	stages)
		mesh="dp = 2 $within"
		rest='pipeline over pp { schedule = gpipe }'
		plan "pp = 2 $within, $mesh" "data over dp, $rest" 1 >"$2/layout.plan"
		plan "$mesh" 'data over dp' 1 >"$2/bits.plan"
		;;
	chunks)
		one='s/^  layers  *=.*/  layers = 4/'
		rest='pipeline over pp { schedule = interleaved_1f1b, chunks = 2 }'
		plan "pp = 2 $within" "$rest" 2 "$one" >"$2/layout.plan"
		plan "dp = 1 $within" 'data over dp' 2 "$one" >"$2/bits.plan"
		;;
	three)
		plan "dp = 3 $within" 'data over dp' 2 >"$2/layout.plan"
		plan "dp = 3 $within" 'data over dp, zero 1 over dp' 2 >"$2/bits.plan"
		;;
	uneven)
		one='1i // some targets do not count'
		plan "dp = 2 $within" 'data over dp' 6 "$one" >"$2/layout.plan"
		plan "dp = 1 $within" 'data over dp' 6 "s/^  seed/  lanes = 2\\n  seed/
$one" >"$2/bits.plan"
		;;
	slices)
		plan "dp = 2 $within" 'data over dp, zero 3 over dp { gather = step }' 2 \
			>"$2/layout.plan"
		plan "dp = 2 $within" 'data over dp { reduce = micro_batch }' 2 >"$2/bits.plan"
		;;
	recompute)
		plan "dp = 1 $within" 'data over dp' 2 '$a memory { recompute = block }' \
			>"$2/layout.plan"
		plan "dp = 1 $within" 'data over dp' 2 >"$2/bits.plan"
		;;
	narrow)
		one='s/^precision = .*/precision = mixed_bf16/'
		mesh="dp = 2 $within, tp = 2 $within" rest='data over dp, tensor over tp'
		plan "$mesh" "$rest, zero 1 over dp" 1 "$one" >"$2/layout.plan"
		plan "$mesh" "$rest" 1 "$one" >"$2/bits.plan"
		plan "$mesh" "$rest, zero 1 over dp" 1 >"$2/layout64.plan"
		plan "dp = 1 $within" 'data over dp' 1 >"$2/one64.plan"
		;;
	esac
	plan "dp = 1 $within" 'data over dp' 1 "$one" >"$2/one.plan"
}

# where SAID: kinds of difference, in one line
where() {
	echo "$1" | sed -n -e 's/^\(ended with exit code [0-9]*\).*/ \1/p' \
		-e 's/^other bits.*/ bits/p' \
		-e 's/^[bf][fp][0-9]* \([a-z ]*\): .*: TOO MUCH/, \1/p' | tr -d '\n'
}

# fault NAME LAYOUT FILE SED [bits]: must be found; `bits`: and is within the bounds, as an order of
# a sum is. A fault that ends the program is found as well.
fault() {
	mkdir "$work/$1"
	layout "$2" "$work/$1"
	if said=$(compared "$work/$1" "$3" "$4"); then
		echo "$1: NOT FOUND"
		failed=1
		return
	fi
	case $said in
	'the emitted text has'* | 'does not compile'* | 'not emitted'* | twin*)
		echo "$1: $said"
		failed=1
		return
		;;
	esac
	at=$(where "$said")
	echo "$1: found in$at"
	found=$((found + 1))
	[ -n "$at" ] || failed=1
	[ "${5:-}" != bits ] || [ "$at" = ' bits' ] || failed=1
	rm -rf "${work:?}/$1"
}

for name in sequence stages chunks three uneven slices recompute narrow; do
	mkdir "$work/$name"
	layout $name "$work/$name"
	said=$(compared "$work/$name") || {
		echo "$name: the right program is not equal to its twins: $said"
		exit 1
	}
	echo "$name: $(echo "$said" | grep 'at most' | tr '\n' ' ')"
done

update='/^int update_weights/,/^}/'
fault norm_weight_not_reduced sequence model.c \
	'/rt_all_reduce(rt, 0, GROUP_tp, layer_ln_1_weight_grad_slice,/,/;/d'
fault bias_not_reduced sequence model.c \
	'/rt_all_reduce(rt, 0, GROUP_tp, layer_mlp_c_proj_bias_grad_slice,/,/;/d'
fault bias_added_by_each sequence model.c \
	's/rt_index(rt, GROUP_tp) == 0 ? \(layer_mlp_c_proj_bias\) : NULL/\1/'
fault padding_not_masked sequence model.c 's/\({N_VOCAB_PADDED_TP, N_VOCAB\), rt_/\1_PADDED, rt_/'
fault maximum_of_own_block sequence model.c '/rt_all_reduce_max(rt, 0, GROUP_tp,/,/;/d'
fault lookup_not_reduced sequence model.c '/rt_all_reduce(rt, 0, GROUP_tp, wte_partial,/,/;/d'
fault mask_by_local_index sequence model.c \
	's/rt_index(rt, GROUP_tp) \* N_BATCH \* N_TOKENS_TP \* N_EMBED}/0}/'
fault mask_by_local_head sequence model.c \
	's/\.first_head = rt_index(rt, GROUP_tp) \* N_HEADS_TP/.first_head = 0/'
fault norm_of_one_rank sequence model.c '/rt_all_reduce(rt, 0, GROUP_dp_tp, norm_words,/,/;/d'
fault replicas_counted_each sequence model.c \
	'/^int measure_norm/,/^}/s/if (rt_index(rt, GROUP_tp) == 0)//'
fault gathers_last_weights sequence model.c \
	"$update{/rt_all_gather(rt, 0, GROUP_dp, layer_mlp_c_fc_weight_slice,/,/;/d;}"
fault gradient_of_first_slice sequence model.c "$update{/^	wpe_weight_grad_slice += /d;}"
fault reduced_twice sequence model.c \
	'/rt_all_reduce(rt, 0, GROUP_tp, layer_ln_2_weight_grad_slice,/{N;p;}'

fault stages_swapped stages schedule.c \
	's/\(chunks_0\[\] = {{\)0, 1/\11, 1/; s/\(chunks_1\[\] = {{\)1, 1/\10, 1/'
fault tied_use_dropped stages model.c '/rt_hand(rt, 0, GROUP_pp, 1, 0, wte_weight_tied_grad,/,/;/d'
fault second_home_not_updated stages model.c \
	'/^int update_weights_last/,/^}/{/rt_adamw_f64, ALL_wte_weight,/,/}));/d;}'
fault both_homes_counted stages model.c \
	'/^int measure_norm_last/,/^}/{/rt_clear/,/}));/{/}));/a\
RT_TRY(rt_run(rt, 0, \&rt_square_sum_f64, ALL_wte_weight, \&(struct rt_args){\
.in = {HERE(wte_weight_grad)}, .out = {norm_words}, .size = {ALL_wte_weight},\
}));
}}'
fault norm_of_one_stage stages model.c 's/GROUP_pp, norm_words/GROUP_dp, norm_words/'
fault last_micro_batch_only stages model.c \
	'/\.c = layer_mlp_c_proj_weight_grad,/,/}));/{/accumulate = true/d}'
fault schedule_by_micro_batch stages schedule.c 's/\.warmup = 2/.warmup = 2 * 6/'
reversed='\&(struct rt_at){.micro_batch = 5 - at->micro_batch}'
fault micro_batches_reversed stages model.c \
	"s/rt_load_batch(rt, 0, at,/rt_load_batch(rt, 0, $reversed,/" bits
fault chunks_swapped chunks schedule.c \
	's/\(chunks_0\[\] = {\){0, 1}, {2, 1}/\1{2, 1}, {0, 1}/'
fault mask_of_another_chunk chunks model.c 's/at->layer + at->shift/at->layer/'
fault head_of_every_chunk chunks schedule.c 's/if (at->chunk == 1)//'

fault ring_sum three model.c '/#include "plan.h"/a\
static int ring(struct rt *rt, double *sum, double *all, int64_t n)\
{\
	RT_TRY(rt_all_gather(rt, 0, GROUP_dp, sum, all, 1, n, RT_F64));\
	for (int64_t i = 0; i < n; i++) {\
		int64_t last = i * 3 / n;\
		sum[i] = all[(last + 1) % 3 * n + i] + all[(last + 2) % 3 * n + i];\
		sum[i] += all[last * n + i];\
	}\
	return 0;\
}
/rt_all_reduce(rt, 0, GROUP_dp, ln_f_bias_grad,/,/;/c\
	RT_TRY(ring(rt, ln_f_bias_grad, HERE(logits), N_EMBED));' bits
fault mean_of_means uneven model.c '/rt_cross_entropy_backward_f64/,/}));/{/}));/a\
	for (int64_t i = 0; i < N_BATCH * N_TOKENS * N_VOCAB_PADDED; i++)\
		logits_grad[i] /= ((double *)HERE(loss_sums))[1];
}
/rt_all_reduce(rt, 0, GROUP_dp, loss_sums,/i\
	loss_sums[0] /= loss_sums[1], loss_sums[1] = 1;'
fault count_of_one_rank uneven model.c '/rt_all_reduce(rt, 0, GROUP_dp, loss_sums,/,/;/d'
fault every_target_counts uneven model.c '/targets\[i\] = -1/d; /sample % 4/d'
fault weights_of_the_last_step slices model.c \
	's/if (at->micro_batch == 0)/if (at->micro_batch == 1)/'
fault bucket_not_reduced slices model.c \
	'/rt_reduce_scatter(.*, layer_ln_1_bias_grad_bucket,/{N;d}'
fault mask_drawn_anew recompute model.c \
	'/^int layer_backward/,/^}/{/rt_attend_forward/,/}));/s/1 + at->layer/2 + at->layer/;}'
fault norm_of_one_rank_bf16 narrow model.c '/rt_all_reduce(rt, 0, GROUP_dp_tp, norm_words,/,/;/d'
fault bias_added_by_each_bf16 narrow model.c \
	's/rt_index(rt, GROUP_tp) == 0 ? \(layer_mlp_c_proj_bias\) : NULL/\1/'
fault mask_by_local_head_bf16 narrow model.c \
	's/\.first_head = rt_index(rt, GROUP_tp) \* N_HEADS_TP/.first_head = 0/'
echo "$found faults found"
exit $failed
