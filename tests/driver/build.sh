#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A plan becomes a program that trains, by `build` and by `run`.
. "$(dirname "$0")/lib.sh"

expect 0 build tiny.plan -o made --depfile=made.d
[ -x made/tiny ] || fail 'no program'
holds made.d made/tiny
./made/tiny --log log >out 2>err || {
	fail "the program ended with $?"
	cat err
}
[ "$(grep -c '"step":[0-9]*,"loss"' log)" -eq 2 ] || fail 'not two steps in the log'

# by run: a cache, arguments, the exit code
XDG_CACHE_HOME=$scratch/cache
export XDG_CACHE_HOME
expect 0 run tiny.plan -- --steps 1 --log one
[ "$(grep -c '"step":[0-9]*,"loss"' one)" -eq 1 ] || fail 'arguments were not passed on'
expect 0 run -v tiny.plan -- --help
grep -q 'planc: .*-std=c17' err && fail 'run compiled an unchanged plan again'
holds out --steps
"$planc" run -q tiny.plan -- --no-such-option >out 2>err
[ $? -ne 0 ] || fail 'the exit code of the program was lost'
[ "$(ls cache/planc | wc -l)" -eq 1 ] || fail 'not one folder in the cache'
expect 0 run tiny.plan -P micro=4 -o here -- --steps 1
[ -x here/tiny ] || fail 'run -o'

# The compiler failed on the last text: the program is that of the text before.
export CC=false
expect 4 run tiny.plan -P micro=2 -o here -- --steps 1
holds err E0801
unset CC
expect 0 run -v tiny.plan -P micro=2 -o here -- --steps 1
grep -q 'planc: .*-std=c17' err || fail 'run took the program of another plan'

# Held-out samples that fill no batch, and what follows a prompt, have no targets: a lookup of them
# is zeros there, and they count nowhere.
cat >targets.plan <<'E'
plan targets
edition 1
import cpu from "std/devices/cpu.plan"
cluster one { node { devices = 2 of cpu.core { memory = 256 MiB } } }
mesh { a = 2 }
architecture small {
  size { layers, e, f, v, w }
  tensor dims [v]
  x = lookup(tokens, v -> e) as "table"
  y = lookup(targets, w -> e) as "targets"
  repeat layers as "h.{layer}" { x = x + linear(gelu(linear(x, e -> f) as "up"), f -> e) as "down" }
  loss = cross_entropy(linear(x + y, e -> v) as "out", targets)
}
model m : small { layers = 2, e = 8, f = 16, v = 256, w = 256 }
precision = fp32
split { data over a }
train {
  seq_len = 16 tokens, global_batch = 4 seq, micro_batch = 2 seq, steps = 2, seed = 1
  optimizer = adamw { lr = 1e-3, weight_decay = 0.1 }
  data = bytes("text.txt")
  validate { every = 1, share = 2 % }
}
E
sed 's/split { data/split { tensor/; s/y = lookup(targets, w/y = lookup(targets, v/' \
	targets.plan >parts.plan
for plan in targets parts; do
	expect 0 run $plan.plan -- --log $plan.log --sample ab 3
	grep -q '"event":"validation"' $plan.log || fail "$plan: no validation"
done

# Options that do not go with the plan are found before the first step.
sed 's/vocab    = 256/vocab    = 100/' tiny.plan >narrow.plan
expect 2 run -A W0511 narrow.plan -- --log no --sample 0z 1
holds err 'option `--sample`: byte 122 at offset 1, the vocabulary has 100'
expect 2 run -A W0511 narrow.plan -- --log no --bigram
holds err 'option `--bigram` needs held-out data'
[ -e no ] && fail 'a step was taken'

# No room for model.c, which comes after plan.h: no file is touched, and nothing else is left.
sed 's/^plan .*/plan other/' tiny.plan >other.plan
for file in here/*; do cksum "$file"; done >before
(ulimit -f 64; "$planc" emit -q other.plan -o here) >said 2>&1
[ $? -eq 3 ] || fail "no room: exit code not 3: $(cat said)"
grep -q E0702 said || fail "no room: $(cat said)"
for file in here/*; do cksum "$file"; done | cmp -s - before || fail 'no room: files were touched'
(ulimit -f 64; "$planc" emit -q other.plan -o new/folder) >said 2>&1
[ $? -eq 3 ] || fail "no room for new files: exit code not 3: $(cat said)"
[ -e new ] && fail 'no room: an empty folder is left'
finish
