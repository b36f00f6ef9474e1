# SPDX-License-Identifier: Apache-2.0
# A rank that is killed ends all within 5 seconds, with one message that names it; nothing is left.
. "$(dirname "$0")/common.sh"

times=${2:-10}
ls /dev/shm >shm.before
round=0
while [ "$round" -lt "$times" ]; do
	victim=$((round % 4))
	"$bin/tiny_4" --steps 100000000 --quiet --log log.json >out 2>err &
	program=$!
	ranks "$program" 4
	pids=$(children "$program")
	sleep "0.$((round * 7 % 10))$((round * 3 % 10))"
	start=$(date +%s)
	kill -9 "$(echo "$pids" | sed -n "$((victim + 1))p")"
	code=0
	wait "$program" || code=$?
	[ $(($(date +%s) - start)) -lt 5 ] || fail "it took too long"
	[ "$code" -eq 1 ] || fail "exit code $code"
	says "rank $victim, "
	says "SIGKILL"
	# shellcheck disable=SC2086
	gone $pids
	[ ! -s log.json ] || "$bin/json_lines" log.json event >/dev/null
	round=$((round + 1))
done
ls /dev/shm | cmp - shm.before || fail "shared memory is left"

# Rank 0 is killed while it writes: no half file.
for round in 1 2 3 4 5; do
	"$bin/tiny_2" --steps 100000000 --quiet --save saved --save-every 1 >out 2>err &
	program=$!
	ranks "$program" 2
	sleep "0.3$round"
	kill -9 "$(children "$program" | head -1)"
	wait "$program" && fail "exit code 0"
	[ ! -e saved.tmp ] || fail "a half file"
done

# The launcher is killed: the ranks go with it.
"$bin/tiny_4" --steps 100000000 --quiet >out 2>err &
program=$!
ranks "$program" 4
pids=$(children "$program")
kill -9 "$program"
wait "$program" 2>/dev/null || true
sleep 0.5
# shellcheck disable=SC2086
gone $pids
