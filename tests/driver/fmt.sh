#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# planc fmt: in place, by pipe, as a check, as a difference; and the lists, completions, texts.
. "$(dirname "$0")/lib.sh"

expect 0 fmt tiny.plan
cp tiny.plan neat.plan
sed 's/^  steps .*/ steps=2/' neat.plan >rough.plan
chmod 640 rough.plan
expect 1 fmt --check rough.plan neat.plan
holds err 'rough.plan'
grep -q neat.plan err && fail 'a formatted file was named'
expect 0 fmt --diff rough.plan
holds out '- steps=2'
cp rough.plan before.plan
ln -s rough.plan link.plan
expect 0 fmt link.plan
cmp rough.plan neat.plan || fail 'fmt did not restore the style'
[ -L link.plan ] || fail 'fmt replaced a link'
[ "$(ls -l rough.plan | cut -c1-10)" = -rw-r----- ] || fail 'fmt changed the permissions'
expect 0 fmt - <before.plan
cmp out neat.plan || fail 'fmt by pipe'
cp broken.plan kept.plan
expect 1 fmt kept.plan
cmp broken.plan kept.plan || fail 'fmt touched a file that does not parse'

# what expand prints is in that style
printf '\nallow W0506\n' >>tiny.plan
for plan in "$here"/*.plan "$here"/../../examples/*.plan tiny.plan; do
	expect 0 expand -q "$plan" -o full.plan
	expect 0 fmt --check full.plan
	case $plan in
	*/seven-b-one-card.plan) expect 5 check -q full.plan ;; # does not fit
	*) expect 0 check -q full.plan ;;
	esac
done
holds full.plan 'allow W0506'

for what in settings devices models architectures units lints quantities codes std; do
	expect 0 list $what
	[ "$(wc -l <out)" -ge 3 ] || fail "list $what is nearly empty"
done
expect 0 list settings train
holds out micro_batch
expect 0 list settings optimizer
holds out betas
expect 0 list settings cluster
holds out fabric
expect 0 list architectures
holds out kv_heads
holds out 'qkv_bias : bool = false'
expect 0 list params tiny.plan
holds out 'param micro : seqs in 1..8 = 2'
expect 0 list codes
cut -d' ' -f1 out >codes
while read -r code; do
	expect 0 explain "$code"
	[ "$(wc -l <out)" -ge 5 ] || fail "explain $code says too little"
done <codes
expect 0 explain e0401
holds out 'E0401 '
for shell in bash zsh fish; do
	expect 0 completion $shell
	command -v $shell >/dev/null 2>&1 || continue
	$shell -n out || fail "the completion for $shell does not parse"
done
for dump in ast plan graph program layout verdict; do
	expect 0 check -q --dump=$dump tiny.plan
	[ -s out ] || fail "nothing for --dump=$dump"
	expect 0 check -v --stop-after=$dump tiny.plan
done
expect 0 check -v --stop-after=graph tiny.plan
holds err 'planc: pass graph'
grep -q 'pass program' err && fail '--stop-after=graph did not stop'
expect 0 show memory tiny.plan
holds out weights
expect 0 show memory tiny.plan --json
holds out arena_bytes
finish
