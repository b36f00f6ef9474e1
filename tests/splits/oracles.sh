#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# oracles.sh PLANC COMPARE: figures with known answers in programs whose gradients, logits or
# targets are written by the test, and that the well-known wrong answers are not given.
set -u
planc=$1 compare=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/lib.sh"
failed=0
within='within node'

# plan MESH SPLIT [SED]: two layers, four words, every target is word 3; 16 tokens a step
plan() {
	ranks=$(echo "$1" | awk '{ n = 1; for (i = 1; i <= NF; i++) n *= $i == "=" ? $(i + 1) : 1
		print n }')
	sed -e "${3:-}" <<-END
		plan program
		edition 1

		import cpu  from "std/devices/cpu.plan"
		import arch from "std/architectures.plan"

		cluster box { node { devices = $ranks of cpu.core { memory = 256 MiB } } }

		mesh { $1 }

		model small : arch.gpt {
		  layers = 2, embed = 8, heads = 2, ffn = 16, vocab = 4, context = 4
		  dropout = 0 %, norm_eps = 1e-5, tied_embeddings = true
		}

		precision = fp64

		split { $2 }

		train {
		  seq_len = 4 tokens, global_batch = 4 seq, micro_batch = 1 seq, steps = 1, seed = 1
		  optimizer = adamw { lr = 1e-3, eps = 1, weight_decay = 0.1 }
		  data = tokens("words")
		}
	END
}

i=0
while [ $i -lt 200 ]; do
	printf '\003\000'
	i=$((i + 1))
done >"$work/data"

# emitted NAME MESH SPLIT [SED]
emitted() {
	at=$work/$1
	mkdir "$at"
	plan "$2" "$3" "${4:-}" >"$at/program.plan"
	"$planc" emit -q "$at/program.plan" -o "$at" || exit 1
}

# insert FUNCTION WHERE CODE: before the first line of model.c in FUNCTION, or in what it is called
# in a stage, that has WHERE; this must be there
insert() {
	cp "$at/model.c" "$at/before"
	awk -v name="$1" -v where="$2" -v code="$3" '
		/^int / { inside = $2 ~ "^" name "(_[a-z0-9]*)?[(]" }
		inside && index($0, where) {
			print code
			inside = 0
		}
		{ print }' "$at/before" >"$at/model.c"
	if cmp -s "$at/before" "$at/model.c"; then
		echo "the emitted text has no such place: $1, $2"
		exit 1
	fi
}

# run NAME: built and trained
run() {
	at=$work/$1
	compiled "$at" || {
		echo "$1: does not compile: $(head -n 5 "$at/said")"
		exit 1
	}
	trained "$at" && return 0
	echo "$1: ended with a fault: $(head -n 3 "$at/said")"
	failed=1
	return 1
}

# says NAME KEY WANT [TIMES]: of the first step, times a figure
says() {
	got=$(sed -n "s/.*\"$2\": *\\([-0-9.e+]*\\).*/\\1/p" "$work/$1/log" | head -n 1)
	if awk -v got="$got" -v times="${4:-1}" -v want="$3" 'BEGIN {
		off = got * times - want
		exit !(got != "" && off <= 1e-7 * want && off >= -1e-7 * want)
	}'; then
		echo "$1: $2 $3"
	else
		echo "$1: $2 is $got * ${4:-1}, not $3"
		failed=1
	fi
}

# differ A B: weights, though little
differ() {
	! cmp -s "$work/$1/weights" "$work/$2/weights" && return 0
	echo "$1 and $2 have the same weights"
	failed=1
}

# equal A B
equal() {
	same "$work/$1" "$work/$2" >"$work/said" 2>&1 && return 0
	echo "$1 and $2 differ: $(cat "$work/said")"
	failed=1
}

# cleared BEGIN: statements that clear the gradients of this rank; tokens stay counted
cleared() {
	echo '{ double *sums = HERE(loss_sums), kept[2] = {sums[0], sums[1]};'
	echo "RT_TRY($1(rt, at)); sums[0] = kept[0]; sums[1] = kept[1]; }"
}

# planted_at NAME FUNCTION MESH SPLIT CODE [SED]: as FUNCTION begins, gradients are zero, then those
# of CODE
planted_at() {
	emitted "$1" "$3" "$4" "${6:-}"
	begin=begin_step
	case $3 in
	*pp*) begin='(rt_index(rt, GROUP_pp) ? begin_step_last : begin_step_first)' ;;
	esac
	insert "$2" 'RT_TRY(rt_' "$(cleared "$begin")
$5"
	run "$1"
}

# measured NAME MESH SPLIT CODE [SED]: behind the reduction. reduced: in front of it.
measured() {
	into=$1
	shift
	planted_at "$into" measure_norm "$@"
}

reduced() {
	into=$1
	shift
	planted_at "$into" reduce_gradients "$@"
}

# ---- the norm --------------------------------------------------------------------------------
# Ones in three logical parameters, of which every tensor rank has the first: sqrt(3), not 2
# (counted by each) nor sqrt(2) (by none). The logged norm is divided by 16 tokens.
ones='*(double *)HERE(layer_ln_1_weight_grad) = *(double *)HERE(layer_mlp_c_fc_weight_grad) = 1;
if (rt_index(rt, GROUP_tp) == 1) *(double *)HERE(layer_mlp_c_fc_weight_grad) = 0;
if (rt_index(rt, GROUP_tp) == 1) *(double *)HERE(layer_attn_c_attn_0_weight_grad) = 1;'
# Four gradients on two ranks, squares 20 and 100: sqrt(120), not the mean of two norms, 7.236068.
four='{ double *g = HERE(layer_mlp_c_fc_weight_grad); int r = (int)rt_index(rt, GROUP_tp);
g[0] = 2 + 4 * r; g[1] = 4 + 4 * r; }'
for split in '' ', sequence over tp' ', zero 1 over dp' ', sequence over tp, zero 1 over dp'; do
	name=$(echo "$split" | tr -dc 'a-z0-9')
	for dp in 1 2; do
		mesh="dp = $dp $within, tp = 2 $within"
		measured once_dp$dp$name "$mesh" "data over dp, tensor over tp$split" "$ones" &&
			says once_dp$dp$name grad_norm 1.7320508 16
		measured four_dp$dp$name "$mesh" "data over dp, tensor over tp$split" "$four" &&
			says four_dp$dp$name grad_norm 10.954452 16
	done
done

# The same four over slices of ZeRO, and over stages.
slices='{ double *g = HERE(layer_mlp_c_fc_weight_grad); int64_t next = RT_SLICE(128, 2);
g[0] = 2; g[1] = 4; g[next] = 6; g[next + 1] = 8; }'
stages='double *g = HERE(layer_mlp_c_fc_weight_grad); int r = (int)rt_index(rt, GROUP_pp);
g[0] = 2 + 4 * r; g[1] = 4 + 4 * r;'
measured four_slices "dp = 2 $within" 'data over dp, zero 1 over dp' "$slices" \
	's/layers = 2/layers = 1/' && says four_slices grad_norm 10.954452 16
reduced four_stages "pp = 2 $within" 'pipeline over pp' "$stages" &&
	says four_stages grad_norm 10.954452 16
reduced four_stages_dp "pp = 2 $within, dp = 2 $within" \
	'data over dp, pipeline over pp, zero 1 over dp' "$stages g[0] /= 2; g[1] /= 2;" &&
	says four_stages_dp grad_norm 10.954452 16

# A tied weight on two stages, each of which adds to one use: squares 800 in all, 28.284, not 40 as
# if it were two weights, nor 14 as if one use were dropped.
both='double *g = HERE(wte_weight_grad), *h = HERE(wte_weight_tied_grad);'
for split in '' ', zero 1 over dp'; do
	for dp in 1 2; do
		name=tied_dp$dp$(echo "$split" | tr -dc 'a-z0-9')
		reduced $name "pp = 2 $within, dp = $dp $within" \
			"data over dp, pipeline over pp$split" "$both
if (rt_index(rt, GROUP_pp)) h[0] = h[1] = 10.0 / $dp; else g[0] = g[1] = 10.0 / $dp;" &&
			says $name grad_norm 28.2842712 16
	done
done
reduced tied_one_stage "dp = 2 $within" 'data over dp' "$both g[0] = g[1] = h[0] = h[1] = 5;" &&
	says tied_one_stage grad_norm 28.2842712 16

# Two data ranks whose gradients add up to 0.8, clipped at 1: 0.8 and no clipping. Counted again
# over the ranks it would be 1.131371, and clipped: with a large eps the factor shows in the
# weights.
part='{ double *g = HERE(layer_mlp_c_fc_weight_grad); g[0] = 0.4 * 16; }'
for split in '' ', zero 1 over dp' ', tensor over tp'; do
	name=clip_$(echo "$split" | tr -dc 'a-z0-9')
	tp=1
	code=$part
	case $split in *tensor*) tp=2 code="if (rt_index(rt, GROUP_tp) == 0) $part" ;; esac
	mesh="dp = 2 $within, tp = $tp $within"
	[ $tp -eq 2 ] || mesh="dp = 2 $within"
	for clip in none 1.0 0.5; do
		line='' # no clip
		[ $clip = none ] || line="s/^  data = /  clip = $clip\\n  data = /"
		reduced $name$clip "$mesh" "data over dp$split" "$code" "$line" || continue
		says $name$clip grad_norm 0.8
	done
	equal ${name}none ${name}1.0
	differ ${name}none ${name}0.5
done

# ---- the loss --------------------------------------------------------------------------------
# Logits 0 1 2 3 in two halves, label 3: 0.4401897, not 1.1333369, as if each half were all.
fill='for (int i = 0; i < N_BATCH * N_TOKENS * 2; i++)
logits[i] = i % 2 + 2 * (int)rt_index(rt, GROUP_tp);'
for split in '' ', sequence over tp'; do
	for dp in 1 2; do
		name=halves_dp$dp$(echo "$split" | tr -dc 'a-z0-9')
		emitted $name "dp = $dp $within, tp = 2 $within" \
			"data over dp, tensor over tp$split"
		insert head_forward 'RT_TRY(rt_run(rt, 0, &rt_vocab_max_f64' "$fill"
		run $name && says $name loss 0.4401897
	done
done

# valid NAME MESH SPLIT MOST [SED]: only the first MOST targets of the step count
valid() {
	emitted "$1" "$2" "$3" "${5:-}"
	# behind the call that loads them
	sed -i "/\\.targets = targets/,/}));/{/}));/a\\
for (int64_t i = 0; i < N_BATCH * N_TOKENS; i++)\\
if ((int64_t)control[RT_CONTROL_SAMPLE] * N_TOKENS + i >= $4) targets[i] = -1;
}" "$at/model.c"
	grep -q "i >= $4" "$at/model.c" || exit 1
	run "$1"
}

# One valid token in the step: the whole gradient whoever has it; a mean of two ranks has half.
one="dp = 1 $within"
valid token_one "$one" 'data over dp' 1
for split in 'data over dp' 'data over dp { reduce = step }, zero 3 over dp' \
	'data over dp, pipeline over pp' 'data over dp, tensor over tp'; do
	name=token_$(echo "$split" | tr -dc 'a-z0-9')
	mesh="dp = 2 $within"
	case $split in
	*pp*) mesh="$mesh, pp = 2 $within" ;;
	*tp*) mesh="$mesh, tp = 2 $within" ;;
	esac
	valid $name "$mesh" "$split" 1 || continue
	if "$compare" log "$work/token_one/log" "$work/$name/log" 1e-12 1e-12 >"$work/said" &&
		"$compare" gradients "$work/token_one/gradients" "$work/$name/gradients" 1e-12 \
			>>"$work/said"; then
		echo "$name: the whole gradient"
	else
		echo "$name: $(cat "$work/said")"
		failed=1
	fi
done

# No valid token at all: loss and norm 0, nothing that is not finite; what decays does.
valid no_token "dp = 2 $within" 'data over dp' 0 && says no_token grad_norm 0 &&
	says no_token loss 0
"$work/no_token/program" --quiet --data "$work/data" --steps 0 --save "$work/first" >"$work/said"
"$compare" weights "$work/first" "$work/no_token/weights" 1e-4 || failed=1

# A group of one rank, four micro-batches: the gradient once, not 2^4 times.
plan "$one" 'data over dp' '/^mesh/d; /^split/d' >"$work/alone.plan"
at=$work/alone
mkdir "$at"
"$planc" emit -q "$work/alone.plan" -o "$at" || exit 1
run alone
for split in 'zero 1 over dp' 'zero 2 over dp' 'zero 3 over dp' 'zero 3 over dp { gather = step }' \
	'tensor over tp, sequence over tp' 'pipeline over pp'; do
	for reduce in step micro_batch; do
		name=one_$reduce$(echo "$split" | tr -dc 'a-z0-9')
		mesh=$one
		case $split in
		*tp*) mesh="$mesh, tp = 1 $within" ;;
		*pp*) mesh="$mesh, pp = 1 $within" ;;
		esac
		emitted $name "$mesh" "data over dp { reduce = $reduce }, $split"
		run $name && equal alone $name && echo "$name: the gradient once"
	done
done

# ---- updates that are rounded away -----------------------------------------------------------
# weights FILE NAME: the elements of a tensor of fp32, one a line
weights() {
	length=$(od -A n -t u8 -N 8 "$1" | tr -d ' ')
	at=$(tail -c +9 "$1" | head -c "$length" |
		sed "s/.*\"$2\":{[^}]*\"data_offsets\":\[//; s/\].*//; s/,/ /")
	tail -c +$((9 + length + ${at% *})) "$1" | head -c $((${at#* } - ${at% *})) |
		od -A n -v -t f4 | tr -s ' ' '\n' | grep .
}

# moved NAME PRECISION: how many of 768 norm weights, all 1.0 at first, are another number in bf16
# after 100 steps at a rate of 6e-4; bf16 has none between 1 and 1 + 2^-7, nor 1 - 2^-8
moved() {
	at=$work/$1
	mkdir "$at"
	cat >"$at/program.plan" <<-END
		plan program
		edition 1

		import cpu from "std/devices/cpu.plan"

		architecture thin {
		  size { layers, wide, few, kinds }
		  tensor dims [few]
		  x = lookup(tokens, kinds -> wide) as "table"
		  repeat layers as "layer.{layer}" {
		    h = rmsnorm(x, eps = 1e-5) as "norm"
		    x = x + linear(relu(linear(h, wide -> few) as "down"), few -> wide) as "up"
		  }
		  loss = cross_entropy(linear(x, wide -> kinds) as "head", targets)
		}

		cluster box { node { devices = 1 of cpu.core { memory = 256 MiB } } }
		model small : thin { layers = 1, wide = 768, few = 4, kinds = 64 }
		$2
		train {
		  seq_len = 8 tokens, global_batch = 4 seq, micro_batch = 4 seq
		  steps = 100, seed = 1
		  optimizer = adamw { lr = 6e-4, weight_decay = 0 }
		  data = bytes("data")
		}
	END
	"$planc" emit -q "$at/program.plan" -o "$at" || exit 1
	run "$1" || return
	weights "$at/weights" layer.0.norm.weight | awk '
		$1 >= 1 + 1 / 256 || $1 <= 1 - 1 / 512 { n++ }
		END { print NR == 768 ? n + 0 : "of " NR }'
}
seq 1 300 >"$work/data"
types='compute = bf16, params = bf16, gradients = bf16, loss = fp32, optimizer'
master=$(moved master "precision { $types = fp32 }")
none=$(moved no_master "precision { $types = bf16 }")
chance=$(moved by_chance 'precision = pure_bf16')
echo "768 weights in bf16: $master move with a master copy, $none without, $chance by chance"
[ "$none" = 0 ] && [ "$master" -gt 384 ] && [ "$chance" -gt 384 ] || failed=1
exit $failed
