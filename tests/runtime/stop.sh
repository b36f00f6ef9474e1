# SPDX-License-Identifier: Apache-2.0
# Signals: the first ends the run after the step, saved; the second at once.
. "$(dirname "$0")/common.sh"

# stop SIGNAL CODE RANKS: to the program.
stop() {
	# A background job of sh ignores SIGINT unless told otherwise.
	rm -f saved
	env --default-signal=INT "$bin/tiny_$3" --steps 100000000 --quiet --save saved >out 2>err &
	program=$!
	ranks "$program" "$3"
	pids=$(children "$program")
	sleep 0.5
	kill -s "$1" "$program"
	code=0
	wait "$program" || code=$?
	[ "$code" -eq "$2" ] || fail "SIG$1: exit code $code instead of $2"
	says "SIG$1"
	[ -s saved ] || fail "SIG$1: nothing saved"
	[ ! -e saved.tmp ] || fail "SIG$1: a half file"
	# shellcheck disable=SC2086
	gone $pids
	expect 0 "$bin/tiny_1" --steps 0 --init saved --quiet
}
stop TERM 143 4
stop TERM 143 1
stop HUP 129 2
stop INT 130 4

# The same signal twice at once, as timeout(1) sends it, is one.
rm -f saved
"$bin/tiny_2" --steps 100000000 --quiet --save saved >out 2>err &
program=$!
ranks "$program" 2
sleep 0.3
kill -s TERM "$program"
sleep 0.02
kill -s TERM "$program" 2>kill.err || [ -s saved ] || fail "$(cat kill.err)"
code=0
wait "$program" || code=$?
[ "$code" -eq 143 ] || fail "SIGTERM twice at once: exit code $code"
[ -s saved ] || fail "SIGTERM twice at once: nothing saved"

# Ranks that are stopped never end a step.
env --default-signal=INT "$bin/tiny_2" --steps 100000000 --quiet >out 2>err &
program=$!
ranks "$program" 2
pids=$(children "$program")
sleep 0.3
# shellcheck disable=SC2086
kill -s STOP $pids
kill -s INT "$program"
sleep 0.5
[ -d "/proc/$program" ] || fail "it did not wait for the step"
kill -s INT "$program"
code=0
wait "$program" || code=$?
[ "$code" -eq 130 ] || fail "second signal: exit code $code"
# shellcheck disable=SC2086
gone $pids

# A rank that is stopped is named, and the run goes on with it.
env --default-signal=INT "$bin/tiny_4" --steps 100000000 --quiet >out 2>err &
program=$!
ranks "$program" 4
pid=$(children "$program" | sed -n 3p | tr -d " ")
sleep 0.3
kill -s STOP "$pid"
sleep 0.5
says "rank 2 is stopped by SIGSTOP"
says "kill -CONT $pid"
kill -s CONT "$pid"
sleep 0.3
says "rank 2 is stopped" # once
kill -s INT "$program"
code=0
wait "$program" || code=$?
[ "$code" -eq 130 ] || fail "after a stop: exit code $code"

# SIGTERM to one rank asks all.
"$bin/tiny_2" --steps 100000000 --quiet --save saved >out 2>err &
program=$!
ranks "$program" 2
sleep 0.3
kill -s TERM "$(children "$program" | sed -n 2p)"
code=0
wait "$program" || code=$?
[ "$code" -eq 143 ] || fail "SIGTERM to a rank: exit code $code"
says 'SIGTERM to rank 1: stopping at the end of this step'
