#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Emitted text is a function of the plan: byte-equal from another folder and in another locale, as
# long for 96 layers as for 2, with nothing of this machine in it.
. "$(dirname "$0")/lib.sh"

expect 0 emit tiny.plan -o one
holds err 'wrote one'
mkdir -p other/place
cp tiny.plan other/place
(
	cd other/place || exit 1
	LC_ALL=$(locale -a 2>/dev/null | grep -iE '^(de|fr|tr)_' | head -n 1)
	LC_ALL=${LC_ALL:-C.UTF-8} TZ=Asia/Tokyo "$planc" emit -q tiny.plan -o two
) || fail 'the second emission'
diff -r one other/place/two || fail 'two emissions differ'
grep -rF "$scratch" one && fail 'a path of this machine is in the text'
for file in plan.h model.c schedule.c Makefile manifest.json; do
	[ -s one/$file ] || fail "no $file"
done

expect 0 emit tiny.plan -o one --check
echo '/* edited */' >>one/model.c
expect 1 emit tiny.plan -o one --check
holds err 'one/model.c'
expect 0 emit tiny.plan -o one
expect 0 emit tiny.plan -o one --check
expect 0 check tiny.plan --dump=c
holds out '==== model.c'

# layers: the same lines, other numbers
sed 's/layers   = 2$/layers   = 96/' tiny.plan >deep.plan
cmp -s tiny.plan deep.plan && fail 'the deep plan is the same'
expect 0 emit deep.plan -o deep
for file in plan.h model.c schedule.c; do
	[ "$(wc -l <one/$file)" -eq "$(wc -l <deep/$file)" ] ||
		fail "$file: other lines for 96 layers than for 2"
done

for form in block 'selective(mlp)'; do
	for plan in tiny deep; do
		sed "s/^precision = fp32/&\nmemory { recompute = $form }/" $plan.plan >again.plan
		grep -q recompute again.plan || fail 'nothing is made again'
		expect 0 emit again.plan -o again_$plan
	done
	for file in plan.h model.c schedule.c; do
		[ "$(wc -l <again_tiny/$file)" -eq "$(wc -l <again_deep/$file)" ] ||
			fail "$file: other lines for 96 layers than for 2, recompute = $form"
	done
done

# micro-batches: 320 as 32
for n in 32 320; do
	sed "s/global_batch = 4 seq/global_batch = $((2 * n)) seq/" tiny.plan >batch$n.plan
	expect 0 emit batch$n.plan -o batch$n
done
for file in plan.h model.c schedule.c; do
	[ "$(wc -l <batch32/$file)" -eq "$(wc -l <batch320/$file)" ] ||
		fail "$file: other lines for 320 micro-batches than for 32"
done

expect 0 emit 'tiny.plan' -o 'with blank' --depfile=tiny.d
holds tiny.d 'with\ blank/model.c'
holds tiny.d ': tiny.plan'

# nothing is put over a file of the same program, or over what the plan is read from
for name in Makefile clean; do
	sed "s/^plan .*/plan $name/" tiny.plan >named.plan
	expect 0 check named.plan
	expect 3 emit named.plan -o named
	holds err "a program cannot be called \`$name\`"
	expect 3 build named.plan -o named
	[ -e named ] && fail "$name: something was written"
done
mkdir own
cp one/tiny.expanded.plan own
cp tiny.plan own/tiny
cp -r own kept
for file in own/tiny.expanded.plan own/../own/tiny; do
	expect 3 build $file -o own
	holds err 'and the plan is read from it'
done
expect 3 emit own/tiny.expanded.plan -o own
expect 3 emit own/tiny -o other --depfile=own/tiny
diff -r own kept || fail 'an input was overwritten'

# expand is input that emits the same program
expect 0 expand tiny.plan -P micro=4
cp out expanded.plan
expect 0 check expanded.plan
finish
