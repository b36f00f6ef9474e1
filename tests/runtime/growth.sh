# SPDX-License-Identifier: Apache-2.0
# After step 0 nothing is allocated and resident memory does not grow.
. "$(dirname "$0")/common.sh"

for steps in 50 600; do
	expect 0 "$bin/tiny_2" --steps $steps --quiet --log log --log-tensors \
		--save w --save-every 20
	"$bin/json_lines" log event anonymous heap resident | tail -1 >"end.$steps"
done
"$bin/json_lines" log allocated.anonymous allocated.heap allocated.arena allocated.resident >start
read -r anonymous heap arena resident <start
read -r _ anonymous_50 heap_50 _ <end.50
read -r _ anonymous_end heap_end resident_end <end.600
[ "$arena" -eq "$resident" ] && [ "$arena" -eq "$resident_end" ] || fail "the arena is not whole"
[ "$heap" -gt 0 ] || {
	echo "skipped: a sanitizer keeps freed memory"
	exit 77
}
[ "$heap_end" -eq "$heap_50" ] || fail "the heap grows with the steps: $heap_50, $heap_end"
[ $((heap_end - heap)) -lt 4096 ] || fail "the heap grows after step 0: $heap, $heap_end"
[ $((anonymous_end - anonymous)) -le 131072 ] || fail "it grows: $anonymous, $anonymous_end"
[ $((anonymous_end - anonymous_50)) -le 65536 ] || fail "it grows: $anonymous_50, $anonymous_end"
