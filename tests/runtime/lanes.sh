# SPDX-License-Identifier: Apache-2.0
# 1, 2 and 4 ranks with 4 lanes: the same bits of weights and of step-0 gradients.
. "$(dirname "$0")/common.sh"

for ranks in 1 2 4; do
	expect 0 "$bin/tiny_$ranks" --steps 30 --quiet --save "w$ranks" --dump-gradients "g$ranks" \
		--check-replicas 5 --log "l$ranks"
	"$bin/json_lines" "l$ranks" step loss grad_norm >"t$ranks"
done
for ranks in 2 4; do
	cmp w1 "w$ranks" || fail "weights of $ranks ranks"
	cmp g1 "g$ranks" || fail "gradients of $ranks ranks"
	awk 'NR == FNR { loss[FNR] = $2; norm[FNR] = $3; next }
		{ d = loss[FNR] - $2; if (d < -1e-9 || d > 1e-9 || norm[FNR] != $3) exit 1 }' \
		t1 "t$ranks" || fail "losses of $ranks ranks"
done
expect 0 "$bin/tiny_2" --steps 5 --quiet --threads 2 --save t2
expect 0 "$bin/tiny_2" --steps 5 --quiet --save t1
cmp -s t1 t2 || echo "note: products of this library depend on the number of threads"
