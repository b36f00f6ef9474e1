# SPDX-License-Identifier: Apache-2.0
# Output that takes nothing: the run fails with one line, after what it had to save.
. "$(dirname "$0")/common.sh"

lost='cannot write standard output: '
# full COMMAND..: into a full device, then into a pipe that nobody reads.
full() {
	if [ -w /dev/full ]; then
		expect 1 sh -c 'exec "$@" >/dev/full' full "$@"
		says "${lost}No space left on device"
	fi
	mkfifo pipe
	# The reader goes before the program starts.
	sh -c 'exec 3<>pipe 4>pipe 3<&-; exec "$@" >&4' full "$@" 2>err && fail "exit code 0: $*"
	says "${lost}Broken pipe"
	rm pipe
}
full "$bin/tiny_1" --help
full "$bin/tiny_1" --version
full "$bin/tiny_1" --steps 0 --quiet --bigram
full "$bin/tiny_2" --steps 0 --quiet --sample "the " 10
full "$bin/tiny_2" --steps 1 --quiet
full "$bin/tiny_2" --dry-run
full "$bin/tiny_2" --steps 1

# A disk that gets full: the log ends in a whole line.
code=0
(
	ulimit -f 800
	exec "$bin/tiny_1" --steps 100000 --quiet --log log --log-tensors
) >out 2>err || code=$?
[ "$code" -eq 1 ] || fail "exit code $code with a full disk"
says 'cannot write the log `log`: File too large'
[ "$(wc -c <log)" -gt 100000 ] || fail "a short log"
tail -1 log | grep -q '^{.*}$' && [ -z "$(tail -c1 log)" ] || fail "half a line: $(tail -1 log)"

# The reader goes during the training: the end of the step, and what is asked for then.
{
	"$bin/tiny_2" --steps 1000 --save saved 2>err || echo $? >code
} | head -2 >out
[ "$(cat code)" -eq 1 ] || fail "exit code of a run without a reader"
says "${lost}Broken pipe"
[ -s saved ] || fail "nothing saved"
[ ! -e saved.tmp ] || fail "a half file"

# Two runs with one target do not mix: the second says so, and leaves the first alone.
rm -f saved
exec 9>saved.tmp
flock 9
expect 1 "$bin/tiny_2" --steps 1 --quiet --save saved 9>&-
grep -q 'another run is writing it' err || fail "no word of the other run: $(cat err)"
[ -e saved.tmp ] && [ ! -e saved ] || fail "the file of the other run"
exec 9>&-
expect 0 "$bin/tiny_2" --steps 1 --quiet --save saved
[ -s saved ] && [ ! -e saved.tmp ] || fail "not saved when the other run was gone"
