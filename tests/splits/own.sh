#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# own.sh PLANC COMPARE: layouts of architectures that are of no use but to cut tensors in ways that
# the generator's models do not show: in fp64, the same as one rank.
set -u
planc=$1 compare=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/lib.sh"
failed=0

# plan RANKS MESH SPLIT: a plan of $architecture (or of gpt) and $model
plan() {
	cat <<-END
		plan program
		edition 1
		import cpu from "std/devices/cpu.plan"
		import arch from "std/architectures.plan"
		allow W0506
		allow W0511
		$architecture
		cluster box { node { devices = $1 of cpu.core { memory = 256 MiB } } }
		mesh { $2 }
		model m : $model
		precision = fp64
		split { $3 }
		train {
		  seq_len = ${tokens:-8} tokens, global_batch = 8 seq, micro_batch = 2 seq
		  steps = 3
		  optimizer = adamw { lr = 1e-2, eps = 1e-6, weight_decay = 0.1 }
		  clip = 0.5, seed = 3, data = bytes("data")
		}
	END
}

# layout NAME RANKS MESH SPLIT: equal to one rank
layout() {
	mkdir "$work/$1" "$work/$1-one"
	plan "$2" "$3" "$4" >"$work/$1/program.plan"
	plan 1 'one = 1' 'data over one' >"$work/$1-one/program.plan"
	if said=$(made "$work/$1-one" && made "$work/$1" && remembered "$work/$1" &&
		within "$work/$1/program.plan" "$work/$1-one" "$work/$1"); then
		echo "$1: $(echo "$said" | grep 'gradients:')"
	else
		echo "$1: FAILED"
		echo "$said"
		failed=1
	fi
}

axes='ta = 2 within node, tb = 2 within node'
head='x = lookup(tokens, v -> e) as "table" + lookup(position, t -> e) as "place"'
loss='loss = cross_entropy(linear(x, e -> v) as "out", targets)'

# own SIZES CUTS LAYER: sets $architecture
own() {
	architecture="architecture own {
size { layers, e, $1, v, t }
tensor dims [$2]
$head
repeat layers as \"l.{layer}\" {
$3
}
$loss
}"
}

# A sum over both axes that both cut afterwards: the inner cut was made before the outer one.
own 'h, g, c' 'h, g' "  q = linear(x, e -> [h, c]) as \"q\"
  x = x + linear(linear(q, c -> g) as \"y\", [h, g] -> e) as \"o\""
model='own { layers = 1, e = 8, h = 4, g = 4, c = 2, v = 60, t = 8 }'
layout one_axis 4 'tp = 4 within node' 'tensor over tp'
layout two_axes 4 "$axes" 'tensor over ta * tb'
layout two_axes_inside_out 4 "$axes" 'tensor over tb * ta'
layout two_axes_sequence 4 "$axes" 'tensor over ta * tb, sequence over ta * tb'

# The same where a rule keeps a weight whole.
own 'h, d' 'h, d' "  b = linear(linear(x, e -> h) as \"a\", h -> d) as \"b\"
  x = x + linear(b, d -> e) as \"o\""
model='own { layers = 1, e = 8, h = 4, d = 4, v = 60, t = 8 }'
whole='layer.b : d -> whole'
layout two_axes_rule 4 "$axes" "tensor over ta * tb, $whole"
layout two_axes_rule_sequence 4 "$axes" "tensor over ta * tb, sequence over ta * tb, $whole"

# The same where an axis is two factors, one of copies.
attention='x = x + linear(attend(q, k, k, mask = causal), [h, c] -> e) as "o"'
own 'h, g, c, d' 'h, g, d' "  q = linear(x, e -> [h, c]) as \"q\"
  k = linear(x, e -> [g, c]) as \"k\"
  $attention
  n = linear(x, e -> d) as \"up\"
  m = linear(x, e -> [g, d]) as \"both\"
  x = x + linear(n + m, [g, d] -> e) as \"down\""
model='own { layers = 1, e = 8, h = 4, g = 2, c = 2, d = 4, v = 60, t = 8 }'
layout copies_added 4 'tp = 4 within node' \
	'tensor over tp { g = replicate(2) }, layer.both : d -> whole, layer.down : d -> whole'

# A mask goes by the place in a tensor that is cut by rows and within them.
own 'h, g, c' 'h, g' "  q = linear(x, e -> [h, c]) as \"q\"
  k = dropout(linear(x, e -> [g, c]) as \"k\", rate = 20 %)
  $attention"
model='own { layers = 1, e = 8, h = 4, g = 2, c = 2, v = 60, t = 8 }'
copies='tensor over ta * tb { g = replicate(2) }'
layout dropout_rows_and_heads 4 "$axes" "$copies, sequence over ta * tb"
layout dropout_heads 4 "$axes" "$copies"

# Rows of an odd number of elements, and samples of an odd number of rows.
architecture= tokens=5
model='arch.gpt { layers = 1, embed = 9, heads = 3, vocab = 60, context = 8, dropout = 10 %,
norm_eps = 1e-5, tied_embeddings = true }'
layout odd_rows 2 'tp = 2 within node' 'tensor over tp dims [ffn], sequence over tp'
exit $failed
