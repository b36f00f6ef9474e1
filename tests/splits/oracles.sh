#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# oracles.sh PLANC COMPARE: figures with known answers in programs whose gradients or logits are
# written by the test.
set -u
planc=$1 compare=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/lib.sh"
failed=0

# plan DP TP SPLIT: one layer, four words, every target is word 3
plan() {
	cat <<-END
		plan program
		edition 1

		import cpu  from "std/devices/cpu.plan"
		import arch from "std/architectures.plan"

		cluster box { node { devices = $(($1 * $2)) of cpu.core { memory = 256 MiB } } }

		mesh { dp = $1 within node, tp = $2 within node }

		model small : arch.gpt {
		  layers = 1, embed = 8, heads = 2, ffn = 16, vocab = 4, context = 4
		  dropout = 0 %, norm_eps = 1e-5, tied_embeddings = false
		}

		precision = fp64

		split {
		  data over dp
		  tensor over tp
		  $3
		}

		train {
		  seq_len = 4 tokens, global_batch = 4 seq, micro_batch = 1 seq, steps = 1, seed = 1
		  optimizer = adamw { lr = 1e-3, weight_decay = 0.1 }
		  data = tokens("words")
		}
	END
}

i=0
while [ $i -lt 200 ]; do
	printf '\003\000'
	i=$((i + 1))
done >"$work/words"
: >"$work/data"

# logged KEY: of the first step
logged() {
	sed -n "s/.*\"$1\": *\\([-0-9.e+]*\\).*/\\1/p" "$at/log" | head -n 1
}

# answer NAME DP TP SPLIT CODE KEY TIMES WANT: CODE is run between the reduction of the gradients
# and the norm, or before the loss where it names logits. KEY of the log, TIMES a figure, is WANT.
answer() {
	at=$work/$1
	mkdir "$at"
	plan "$2" "$3" "$4" >"$at/program.plan"
	"$planc" emit -q "$at/program.plan" -o "$at" || exit 1
	case $5 in
	*logits*) sed -i "/^int head_forward/,/^}/{/rt_vocab_max_f64/i\\
$5
}" "$at/model.c" ;;
	*) sed -i "/^int measure_norm/,/^}/{/rt_clear(rt, 0,/i\\
{ double *sums = HERE(loss_sums), kept = sums[1]; RT_TRY(begin_step(rt, at)); sums[1] = kept; }\\
$5
}" "$at/model.c" ;;
	esac
	compiled "$at" || {
		echo "$1: does not compile: $(head -n 5 "$at/said")"
		exit 1
	}
	"$at/program" --quiet --data "$work/words" --log "$at/log" >"$at/said" 2>&1 || {
		echo "$1: ended with a fault: $(head -n 3 "$at/said")"
		failed=1
		return
	}
	got=$(logged "$6")
	if awk -v got="$got" -v times="$7" -v want="$8" 'BEGIN {
		off = got * times / want - 1
		exit !(off < 1e-7 && off > -1e-7)
	}'; then
		echo "$1: $8"
	else
		echo "$1: $got * $7, not $8"
		failed=1
	fi
}

# Gradients are zero but for ones in three logical parameters, of which every rank has the first:
# sqrt(3), not 2 (counted by each) nor sqrt(2) (by none). 16 tokens a step divide the logged norm.
ones='*(double *)HERE(layer_ln_1_weight_grad) = *(double *)HERE(layer_mlp_c_fc_weight_grad) = 1;'
# Four gradients on two ranks, squares 20 and 100: sqrt(120), not the mean of two norms.
four='{ double *g = HERE(layer_mlp_c_fc_weight_grad); int r = (int)rt_index(rt, GROUP_tp);
g[0] = 2 + 4 * r; g[1] = 4 + 4 * r; }'
four=$(echo "$four" | tr '\n' ' ')
for split in '' 'sequence over tp' 'zero 1 over dp' 'sequence over tp, zero 1 over dp'; do
	name=$(echo "tp2 $split" | tr -dc 'a-z0-9')
	for dp in 1 2; do
		case $dp$split in 1*zero*) continue ;; esac
		lines=$(echo "$split" | sed 's/, /\n  /')
		answer "replicated_once_dp${dp}_$name" $dp 2 "$lines" "$ones" grad_norm 16 1.7320508
		answer "four_on_two_dp${dp}_$name" $dp 2 "$lines" "$four" grad_norm 16 10.954452
	done
done

# Logits 0 1 2 3 in two halves, label 3: 0.4401897, not the loss of the second half alone.
fill='for (int i = 0; i < N_BATCH * N_TOKENS * 2; i++)
logits[i] = i % 2 + 2 * (int)rt_index(rt, GROUP_tp);'
fill=$(echo "$fill" | tr '\n' ' ')
answer loss_of_two_halves 1 2 '' "$fill" loss 1 0.4401897
answer loss_of_two_halves_dp2 2 2 'sequence over tp' "$fill" loss 1 0.4401897
exit $failed
