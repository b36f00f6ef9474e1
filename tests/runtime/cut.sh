# SPDX-License-Identifier: Apache-2.0
# Parameters cut by rows, by columns and both ways, also where the parts do not divide: the same
# files, norms and text as the uncut program.
. "$(dirname "$0")/common.sh"

run() {
	name=$1
	program=$2
	shift 2
	expect 0 "$bin/$program" --quiet --log "log_$name" --save "save_$name" "$@"
}

# What a log says of tensors and of the end.
told() {
	grep -o '"tensors":{[^}]*}' "log_$1" || true
	grep -o '"weights_hash":"[^"]*"' "log_$1"
}

for data in 1 2; do
	run "start_$data" "tiny_$data" --steps 0 --seed 7
	run "train_$data" "tiny_$data" --steps 4 --seed 7 --log-tensors --dump-gradients "g_$data" \
		--check-replicas 1 --sample "the " 6
	mv out "text_$data"
	run "on_$data" "tiny_$data" --steps 1 --init "save_start_$data"
done
for parts in 2x2x1 2x1x2 1x2x2 1x3x2 2x1x3; do
	data=${parts%%x*}
	run start "tiny_cut_$parts" --steps 0 --seed 7
	cmp "save_start_$data" save_start || fail "$parts: first weights"
	run train "tiny_cut_$parts" --steps 4 --seed 7 --log-tensors --dump-gradients g \
		--check-replicas 1 --save-every 2 --sample "the " 6
	cmp "g_$data" g || fail "$parts: gradients"
	cmp "save_train_$data" save_train || fail "$parts: trained weights"
	cmp "text_$data" out || fail "$parts: text"
	told "train_$data" >a
	[ "$(wc -l <a)" -eq 5 ] || fail "a log without norms or hash"
	told train >b
	cmp a b || fail "$parts: norms of tensors, or hash"
	run on "tiny_cut_$parts" --steps 1 --init "save_start_$data"
	cmp "save_on_$data" save_on || fail "$parts: weights after a file was read"
	run back "tiny_cut_$parts" --steps 0 --init save_train
	cmp save_train save_back || fail "$parts: round trip"
	expect 0 "$bin/tiny_cut_$parts" --dry-run --quiet
done

# Rank 3 of 2 x 2 holds the second block of rows, as rank 1 does and rank 0 does not.
expect 1 env REPLICA=3 "$bin/tiny_cut_2x2x1" --steps 2 --quiet --check-replicas 1
says 'replicas differ: tensor `head` of rank '
grep -Eq 'rank (1 and of rank 3|3 and of rank 1)$' err || fail "the wrong ranks: $(cat err)"
