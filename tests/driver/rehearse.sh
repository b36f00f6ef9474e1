#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rehearse.sh PLANC JSON_CHECK: plans are made small and found equal to one rank; faults planted
# into the emitted C by a compiler that changes it are found, with exit code 1; nothing is left
# behind.
. "$(dirname "$0")/lib.sh"
json_check=$2
mkdir tmp
TMPDIR=$scratch/tmp
export TMPDIR

# Dropout, biases, a padded vocabulary, a tied head, on two data ranks of two tensor ranks.
split='split {\n  data over dp, zero 1 over dp\n  tensor over tp, sequence over tp\n}'
sed -e 's/[0-9]* of cpu.core/4 of cpu.core/' -e 's/^plan .*/plan four/' \
	-e 's/^precision = .*/precision = fp64/' \
	-e 's/^mesh .*/mesh { dp = 2 within node, tp = 2 within node }/' \
	-e "s/^split .*/$split/" \
	-e 's/bytes(/tokens(/' "$here/../equal/gpt.plan" >four.plan

# Changes the text of the split program before it is compiled.
cat >cc.sh <<'END'
for word; do
	case $word in */split/*.c) [ -z "${FAULT:-}" ] || sed -i "$FAULT" "$word" ;; esac
done
exec cc "$@" -w
END

left() {
	[ -z "$(ls tmp)" ] || fail "$1: $(ls tmp) was left behind"
}

# a plan that is right: words, JSON, silence
expect 0 rehearse four.plan
holds out 'four.plan, rehearsed on 4 ranks'
holds out 'fp64: equal to one rank, by the bounds of fp64, 4 steps'
holds out 'memory: predicted = allocated'
grep -q 'NOT' out && fail 'something is not so in a plan that is right'
left 'a good rehearsal'
expect 0 rehearse -q --json four.plan
[ "$("$json_check" compared.0.precision <out)" = fp64 ] || fail 'not JSON'
holds out '"equal": true, "bytes_as_predicted": true, "messages_matched": true'
expect 0 rehearse -q four.plan
[ -s out ] || [ -s err ] && fail '-q said something about a good rehearsal'
left 'a silent rehearsal'

# what is kept can be read, checked and built again
expect 0 rehearse -q four.plan --keep kept
holds kept/fp64/split/small.plan 'for 12 seq, :'
for one in split alone; do
	[ -s kept/fp64/$one/weights.safetensors ] || fail "no weights of $one"
	expect 0 check -q --verify kept/fp64/$one/small.plan
	(cd kept && "$planc" emit -q fp64/$one/small.plan -o ../again.$one)
	cmp -s kept/fp64/$one/model.c again.$one/model.c ||
		fail "$one: other text than the kept plan"
done
grep -q '^mesh' kept/fp64/alone/small.plan && fail 'the twin has a mesh'

# fault NAME SED TEXT: found, said, exit code 1
fault() {
	FAULT=$2
	export FAULT
	CC="sh $scratch/cc.sh" expect 1 rehearse four.plan || fail "$1"
	unset FAULT
	holds err "$3"
	left "$1"
}
unequal='error[E0341]: in fp64 the rehearsal is not equal to its twin on one rank'
fault mask_by_local_index \
	's/rt_index(rt, GROUP_tp) \* N_BATCH \* N_TOKENS_TP \* N_EMBED}/0}/' "$unequal"
holds out 'TOO FAR'
sed 's/four.plan/PLAN/' err >said
diff -u "$here/E0341-not-equal.err" said || fail 'text of E0341'
fault padding_not_masked 's/\({N_VOCAB_PADDED_TP, N_VOCAB\), rt_/\1_PADDED, rt_/' "$unequal"
fault norm_weight_not_reduced \
	'/rt_all_reduce(rt, 0, GROUP_tp, layer_ln_1_weight_grad_slice,/,/;/d' 'replicas differ'
fault another_count \
	'/all_reduce(rt, 0, GROUP_dp_tp, norm_words/{n;s/, RT_I64/ - rt_index(rt, GROUP_tp)&/;}' \
	'is all_reduce of'
fault other_bytes 's/\.arena = /&65536 + /' \
	'error[E0342]: the ranks of the rehearsal hold other bytes than predicted'
sed 's/four.plan/PLAN/' err >said
diff -u "$here/E0342-other-bytes.err" said || fail 'text of E0342'

# faults of the plan itself, as by check
sed 's/of cpu.core/of cpu.kore/' four.plan >faulty.plan
expect 1 check faulty.plan
cp err checked
expect 1 rehearse faulty.plan
cmp -s err checked || fail 'a faulty plan is told otherwise than by check'
expect 3 rehearse absent.plan
CC=false expect 4 rehearse four.plan
left 'a compiler that fails'

# limits are no matter of a rehearsal, but are told
sed -e 's/memory = [0-9]* MiB/memory = 8 MiB/' four.plan >large.plan
echo 'require params < 10' >>large.plan
expect 5 check large.plan
expect 0 rehearse large.plan
holds out 'does NOT'
holds out 'a `require` line is not met'

# a signal leaves nothing, processes included
"$planc" rehearse four.plan --keep "$scratch/stopped" >out 2>err &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	[ -e stopped/fp64/alone/said ] && break
	sleep 1
done
kill -TERM $pid
wait $pid
[ $? -eq 143 ] || fail 'SIGTERM did not end a rehearsal'
"$planc" rehearse four.plan >out 2>err &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	[ -n "$(ls tmp)" ] && break
	sleep 1
done
kill -TERM $pid
wait $pid
[ $? -eq 143 ] || fail 'SIGTERM did not end a rehearsal'
left 'a rehearsal that was stopped'
finish
