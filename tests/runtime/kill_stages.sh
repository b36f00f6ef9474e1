# SPDX-License-Identifier: Apache-2.0
# kill.sh for a program that planc makes: 2 stages x 2 data ranks with weights in slices x 2 tensor
# ranks. Any rank, killed at any moment (at the start, inside a turn, while weights are written),
# ends all of them: exit code 1, one line that names it, no process and no file left.
. "$(dirname "$0")/common.sh"

times=${2:-16}
cat >split.plan <<'EOF'
plan split
edition 1
import cpu from "std/devices/cpu.plan"
import arch from "std/architectures.plan"
cluster box { node { devices = 8 of cpu.core { memory = 256 MiB } } }
mesh { tp = 2 within node, pp = 2 within node, dp = 2 within node }
model m : arch.gpt {
  layers = 4, embed = 16, heads = 2, vocab = 256, context = 16
  dropout = 10 %, norm_eps = 1e-5, tied_embeddings = true
}
precision = fp32
split {
  tensor   over tp
  sequence over tp
  pipeline over pp { schedule = interleaved_1f1b, chunks = 2 }
  data     over dp
  zero 3   over dp
}
train {
  seq_len       = 16 tokens
  micro_batch   = 1 seq
  micro_batches = 5
  steps         = 1_000_000
  optimizer     = adamw { lr = 1e-3, weight_decay = 0.1 }
  seed          = 1
  data          = bytes("text.txt")
}
EOF
"$bin/planc" build -q split.plan -o made >out 2>err || {
	cat err >&2
	fail "the program is not built"
}
made/split --steps 2 --quiet --save whole >out 2>err || fail "the program does not run"
ls /dev/shm >shm.before
: >files.before
ls -d ./* >files.before

# start OPTION..: the program in the background, its ranks known
start() {
	made/split --quiet "$@" >out 2>err &
	program=$!
	ranks "$program" 8
	pids=$(children "$program")
}

# ended RANK: all of it is gone, and the message names the rank
ended() {
	code=0
	wait "$program" || code=$?
	[ "$(date +%s)" -lt $((began + 10)) ] || fail "it took too long"
	[ "$code" -eq 1 ] || fail "exit code $code"
	says "rank $1, "
	says "SIGKILL"
	# shellcheck disable=SC2086
	gone $pids
	rm -f saved
	ls -d ./* | diff files.before - || fail "a file is left"
}

round=0
while [ "$round" -lt "$times" ]; do
	victim=$((round % 8))
	# every other round weights are written after each step: a write is often under way
	if [ $((round / 8 % 2)) -eq 0 ]; then
		start
	else
		start --save saved --save-every 1
	fi
	[ "$victim" -eq 0 ] || sleep "$(awk -v n="$round" 'BEGIN { print n * 37 % 100 / 80 }')"
	began=$(date +%s)
	kill -9 "$(echo "$pids" | sed -n "$((victim + 1))p")"
	ended "$victim"
	round=$((round + 1))
done

# Two ranks of two stages at once.
start
sleep 0.3
began=$(date +%s)
# shellcheck disable=SC2046
kill -9 $(echo "$pids" | sed -n '1p;8p')
code=0
wait "$program" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code"
says "SIGKILL"
# shellcheck disable=SC2086
gone $pids
[ "$(date +%s)" -lt $((began + 10)) ] || fail "it took too long"

# The launcher.
start
kill -9 "$program"
wait "$program" 2>/dev/null || true
sleep 1
# shellcheck disable=SC2086
gone $pids
ls /dev/shm | cmp - shm.before || fail "shared memory is left"
