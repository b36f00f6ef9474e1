#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# faults.sh PLANC COMPARE: plants well-known faults of data parallel training into the emitted C,
# one at a time, and requires that the comparison with the right program finds each.
set -eu
planc=$1 compare=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$(dirname "$planc")/.." && pwd)
. "$here/lib.sh"
steps=6

# Two ranks of four lanes of three micro-batches, in double.
variant right equal/gpt.plan fp64 2 8 1 's/global_batch = 12/global_batch = 24/'
"$planc" emit -q "$work/right/program.plan" -o "$work/right"

# compiled NAME: by the Makefile that was emitted; a fault may leave a name unused
compiled() {
	make -s -C "$work/$1" PLANC="$root" CFLAGS='-O0 -Wno-unused' >"$work/said" 2>&1 || {
		echo "$1: does not compile"
		cat "$work/said"
		exit 1
	}
}

# plant NAME FILE SED: the right program with a change
plant() {
	mkdir "$work/$1"
	for file in Makefile plan.h model.c schedule.c; do
		cp "$work/right/$file" "$work/$1/$file"
	done
	sed "$3" "$work/right/$2" >"$work/$1/$2"
	if cmp -s "$work/right/$2" "$work/$1/$2"; then
		echo "$1: the emitted text has no such place"
		exit 1
	fi
	compiled "$1"
	train "$1" >"$work/said" 2>&1
}

# differs KIND NAME BOUND...: the comparison says so; one that cannot be made ends the test
differs() {
	kind=$1 file=$2 code=0
	shift 2
	"$compare" "$kind" "$work/right/$kind" "$work/$file/$kind" "$@" >"$work/said" 2>&1 ||
		code=$?
	if [ $code -gt 1 ]; then
		echo "$file: $(cat "$work/said")"
		exit 1
	fi
	[ $code -eq 1 ]
}

# fault NAME FILE SED: must be outside the bounds of fp64. Says where it shows.
fault() {
	plant "$@"
	shows=
	differs log "$1" 1e-10 1e-10 && shows="$shows log"
	differs gradients "$1" 1e-9 && shows="$shows gradients"
	differs weights "$1" 1e-8 && shows="$shows weights"
	if [ -z "$shows" ]; then
		echo "$1: NOT FOUND"
		failed=1
	else
		echo "$1: found in$shows"
	fi
}

compiled right
train right
cp -r "$work/right" "$work/optimized"
"$planc" build -q "$work/right/program.plan" -o "$work/optimized"
train optimized
same right optimized || failed=1

reduce='rt_all_reduce(rt, 0, GROUP_dp'
fault no_reduction_of_a_bias model.c "/$reduce, layer_ln_1_bias_grad,/,/;/d"
code=0
"$work/no_reduction_of_a_bias/program" --quiet --data "$work/data" --check-replicas 1 \
	>"$work/said" 2>&1 || code=$?
if [ $code -eq 0 ] || ! grep -q 'replicas differ' "$work/said"; then
	echo "--check-replicas finds nothing, exit code $code:"
	cat "$work/said"
	failed=1
fi
fault reduced_twice model.c "/$reduce, layer_ln_1_weight_grad,/{N;p;}"
fault count_of_one_rank model.c "/$reduce, loss_sums,/,/;/d"
fault norm_before_reduction schedule.c '/reduce_gradients(rt/{h;d;}; /measure_norm(rt/G'
fault tied_use_dropped model.c \
	'/rt_run(rt, 0, &rt_accumulate_f64, ALL_wte_weight,/{N;/{wte_weight_tied_grad}/{N;N;d;};}'
fault never_cleared model.c '/rt_clear){$/{N;/\.at = layer_mlp_c_fc_weight_grad,/{N;N;d;};}'
fault lane_not_cleared model.c '/rt_clear){$/{N;/\.at = wpe_weight_grad_above,/{N;N;d;};}'
fault last_micro_batch_only model.c \
	'/\.c = layer_mlp_c_proj_weight_grad,/,/}));/{/accumulate = true/d;}'
fault padding_not_masked model.c 's/{N_VOCAB_PADDED, N_VOCAB}/{N_VOCAB_PADDED, N_VOCAB_PADDED}/'
fault mask_by_local_index model.c '/rt_load_batch(rt/,/}));/{/}));/a\
control[RT_CONTROL_SAMPLE] = (double)(at->micro_batch * N_BATCH);
}'
fault mask_drawn_anew model.c '/^int layer_backward/,/^}/s/3 + at->layer/4 + at->layer/'
fault warm_up_by_micro_batch schedule.c 's/\.warmup = 5/.warmup = 5 * 12/'
fault no_clipping model.c '/rt_step_scale_f64/,/}));/s/{1\.0}/{0.0}/'
fault decay_of_a_norm model.c '/rt_adamw_f64, ALL_ln_f_weight/,/}));/s/, 0\.0}/, 0.1}/'

# The order of a sum is no fault of the bounds; only bits show it.
reversed='(struct rt_at){.micro_batch = 11 - at->micro_batch}'
plant micro_batches_reversed model.c \
	"s/rt_load_batch(rt, 0, at,/rt_load_batch(rt, 0, \\&$reversed,/"
within_fp64 right micro_batches_reversed || failed=1
if same right micro_batches_reversed >/dev/null; then
	echo 'micro_batches_reversed: NOT FOUND'
	failed=1
fi

# Weights, gradients and state of the optimizer in slices.
rm -r "$work/right"
variant right equal/gpt.plan fp64 2 - 2 \
	's/data over dp/data over dp\n  zero 3 over dp { gather = step }/'
"$planc" emit -q "$work/right/program.plan" -o "$work/right"
compiled right
train right
fault weights_of_the_last_step model.c 's/if (at->micro_batch == 0)/if (at->micro_batch == 1)/'
fault bucket_not_cleared model.c \
	'/rt_clear){$/{N;/\.at = layer_mlp_c_fc_weight_grad_bucket,/{N;N;d;};}'
fault bucket_not_reduced model.c '/rt_reduce_scatter(.*, layer_ln_1_bias_grad_bucket,/{N;d;}'
fault norm_of_one_rank model.c "/$reduce, norm_words,/,/;/d"
fault last_micro_batch_of_a_slice model.c \
	'/rt_accumulate_f64, SLICE_layer_mlp_c_fc_weight,/i\
RT_TRY(rt_clear(rt, 0, &(struct rt_clear){.at = layer_mlp_c_fc_weight_grad,\
	.bytes = 8 * SLICE_layer_mlp_c_fc_weight}));'

# What backward computes again.
rm -r "$work/right"
variant right equal/gpt.plan fp64 1 - 2 \
	's/^precision = .*/precision = fp64\nmemory { recompute = block, attention = stored }/'
"$planc" emit -q "$work/right/program.plan" -o "$work/right"
compiled right
train right
fault mask_of_another_layer model.c \
	'/^int layer_backward/,/^}/{/out = {attention_dropout_o_recomputed}/,/size/s/at->layer/0/;}'
fault input_of_another_layer model.c \
	'/^int layer_backward/,/^}/s/carried_mlp_x = HERE(/carried_mlp_x = NEXT(/'
fault probabilities_of_all model.c \
	'/^int layer_backward/,/^}/{/attend_stored_forward/,/}));/s/causal = true/causal = false/;}'
exit $failed
