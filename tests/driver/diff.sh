#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# diff.sh PLANC JSON_CHECK: what changed between two plans and what it does; files of a revision of
# git, without a shell; exit codes. With --update as the third word diff.golden is written.
. "$(dirname "$0")/lib.sh"
json=$2

# member PATH WANT: a member of the JSON in out
member() {
	value=$("$json" "$1" <out) || fail "no JSON with $1"
	[ "$value" = "$2" ] || fail "$1 is \`$value\`, expected \`$2\`"
}

# ---- nothing, names alone, a setting
cp hand.plan same.plan
expect 0 diff hand.plan same.plan --exit-code
[ "$(cat out)" = 'trained result: same bits' ] || fail 'a plan differs from itself'
expect 0 diff hand.plan same.plan --json
member differs false
sed 's/micro_batch  = 2/micro_batch  = 4/' hand.plan >micro.plan
expect 0 diff hand.plan micro.plan
expect 1 diff hand.plan micro.plan --exit-code
holds out 'train.micro_batch'
holds out 'trained result: within rounding'
expect 0 diff hand.plan micro.plan --json
member differs true
member settings.0.path train.micro_batch
member settings.0.from '2 seq'
member settings.0.to '4 seq'
member figures.micro_batches.from 4
member figures.micro_batches.to 2
member figures.flops.from "$("$json" figures.flops.to <out)"
member trained_result 'within rounding'
member causes.0.what train.micro_batch
sed 's/mesh { dp = 4/mesh { dq = 4/; s/data over dp/data over dq/' hand.plan >named.plan
expect 0 diff hand.plan named.plan --json
member trained_result 'same bits'
member differs true

# ---- figures: 2229504 fp32 gradients over four ranks. Summed once a step each rank sends 3/2 of
# their bytes: 51.0 MiB in all. ZeRO 2 scatters 3/4 of them after each of four micro-batches and
# gathers 3/4 of the weights: 127.6 MiB.
sed 's/data over dp/data over dp\n  zero 2 over dp { gather = use }/' hand.plan >zero2.plan
expect 0 diff hand.plan zero2.plan
grep -qx 'traffic over dp, all ranks *51.0 MiB *->  127.6 MiB' out || fail 'the traffic of zero 2'
expect 0 diff hand.plan zero2.plan --json
member trained_result 'within rounding'
member causes.0.what reduce

# ---- parameters hold for both plans; faults of either stand at their places
sed 's/in 1..8 = 2/in 1..8 = 1/' tiny.plan >one.plan
expect 1 diff tiny.plan one.plan --exit-code
holds out 'train.micro_batch'
expect 0 diff tiny.plan one.plan -P micro=4 --exit-code
expect 1 diff tiny.plan broken.plan
holds err 'broken.plan:'
expect 1 diff broken.plan tiny.plan
[ -s out ] && fail 'a difference to a plan that is none'
expect 5 diff tiny.plan big.plan
holds out 'device.memory'
holds out 'trained result: same bits'
expect 3 diff absent.plan tiny.plan

# ---- revisions: the file, and what it imports, as they were
command -v git >/dev/null || {
	echo 'git is not installed'
	exit 1
}
git init -q . && mkdir plans 'a b' || fail 'git init'
git config user.name nobody && git config user.email nobody@localhost
cat >plans/parts.plan <<'END'
library parts
edition 1

device slow { memory = 256 MiB, cores = 1 }
END
cp plans/parts.plan parts.plan
sed -e 's/^import cpu.*/import parts from "parts.plan"/' \
	-e 's/cpu.core { memory = 256 MiB }/parts.slow/' tiny.plan >plans/small.plan
cp plans/small.plan root.plan
cp plans/small.plan "a b/\$(touch here).plan"
cp parts.plan 'a b'
git add plans root.plan parts.plan 'a b' && git commit -q -m first || fail 'git commit'
for file in plans/parts.plan parts.plan 'a b/parts.plan'; do
	sed 's/256 MiB/512 MiB/' "$file" >changed && cp changed "$file"
done
for file in plans/small.plan root.plan "a b/\$(touch here).plan"; do
	expect 0 diff "HEAD:$file" "$file"
	grep -q '^device.memory *268435456 B\|^device.memory *256 MiB  *->  *512 MiB$' out || {
		fail "an import of $file is not of its revision"
		cat out
	}
done
[ -e here ] && fail 'a shell ran'
expect 0 diff HEAD:root.plan HEAD:plans/small.plan --exit-code
expect 3 diff HEAD:absent.plan root.plan
holds err 'HEAD:absent.plan'
expect 3 diff none:root.plan root.plan
holds err 'none:root.plan'
cp root.plan 'HEAD:root.plan'
expect 0 diff HEAD:root.plan root.plan --exit-code
PATH=$scratch/nothing
expect 3 diff HEAD:plans/small.plan root.plan
PATH=/usr/local/bin:/usr/bin:/bin
holds err 'could not be started'

# ---- the text
sed -e 's/mesh { dp = 4 within node }/mesh { pp = 2 within node, tp = 2 within node }/' \
	-e 's/  data over dp/  tensor over tp\n  pipeline over pp/' hand.plan >ways.plan
sed 's/seed         = 1/seed         = 2/' ways.plan >seed.plan

# Each setting once, of a list and of what stands for several settings too.
changed() { # A B ROW: the only row of settings
	expect 0 diff "$1" "$2"
	[ "$(sed '/^ *---/,$d; /^trained/,$d' out | tr -s ' ')" = "$3" ] || {
		fail "diff $1 $2 does not say: $3"
		cat out
	}
}
sed -e 's/pipeline over pp/& { layers = [1, 3] }/' -e 's/layers          = 2/layers = 4/' \
	ways.plan >list.plan
sed 's/\[1, 3\]/[3, 1]/' list.plan >other.plan
sed 's/\[1, 3\]/even/' list.plan >even.plan
changed even.plan list.plan 'split.pipeline.layers even -> [1, 3]'
changed list.plan even.plan 'split.pipeline.layers [1, 3] -> even'
changed list.plan other.plan 'split.pipeline.layers [1, 3] -> [3, 1]'
sed 's/lr = 1e-3,/& betas = [0.9, 0.95],/' hand.plan >betas.plan
changed hand.plan betas.plan 'train.optimizer.betas [0.9, 0.999] -> [0.9, 0.95]'
sed 's/^  clip .*/&\n  schedule = linear { warmup = 1 }/' hand.plan >linear.plan
sed 's/linear/cosine/' linear.plan >cosine.plan
changed linear.plan cosine.plan 'train.schedule linear -> cosine'
cp "$here/../models/third.plan" .
sed 's/gelu_erf(g)/silu(g)/' third.plan >silu.plan
changed third.plan silu.plan ''
holds out 'another model: third.plan:27, silu.plan:27'
ask='linear(f, a -> v)'
sed "s/^  loss = .*/  x = $ask as \"o[0]\"\n  z = $ask as \"o[1]\"\n  \
  loss = cross_entropy(x * z - $ask tied \"o[0]\", targets)/" third.plan >front.plan
sed 's/tied "o\[0\]"/tied "o[1]"/' front.plan >back.plan
changed front.plan back.plan ''
holds out 'trained result: another training'
for pair in 'hand.plan ways.plan' 'ways.plan seed.plan' 'hand.plan zero2.plan'; do
	echo "\$ planc diff $pair"
	# shellcheck disable=SC2086
	"$planc" diff -q $pair || fail "diff $pair"
done >text
if [ "${3:-}" = --update ]; then
	cp text "$here/diff.golden"
else
	diff "$here/diff.golden" text || fail 'the text of diff has changed'
fi
finish
