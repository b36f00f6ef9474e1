# SPDX-License-Identifier: Apache-2.0
# Unknown and malformed options: an error that names them, exit code 2.
. "$(dirname "$0")/common.sh"

bad() {
	wanted=$1
	shift
	expect 2 "$bin/tiny_1" "$@"
	says "$wanted"
}
bad 'unknown option `--stepz`' --stepz 3
bad 'unknown argument `text.txt`' text.txt
bad 'option `--steps` needs N' --steps
bad 'option `--steps`: `x` is not a whole number' --steps x
bad 'option `--steps`: `-1` is out of range, the least is 0' --steps -1
bad 'option `--steps`: `-x` is not a whole number' --steps -x
bad 'option `--steps`: `99999999999999999999` is out of range' --steps 99999999999999999999
bad 'option `--threads`: `0` is out of range' --threads 0
bad 'option `--threads`: `4096` is out of range, 1 to 1024' --threads 4096
bad 'option `--temperature`: `hot` is not a number' --temperature hot
bad 'option `--sample` needs TEXT N' --sample text
bad 'option `--sample`: `few` is not a whole number' --sample text few
bad 'option `--quiet` takes no value' --quiet=yes
bad 'option `--save-every` needs `--save FILE`' --save-every 3
bad 'option `--data`: its GLOB is empty' --data ""
bad 'option `--log-tensors` needs `--log FILE`' --log-tensors
bad 'option `--steps` is given twice' --steps 1 --steps=2
bad 'option `--seed`: `9007199254740992` is out of range' --seed 9007199254740992
expect 0 "$bin/tiny_1" --steps 1 --quiet --quiet --seed 9007199254740991

expect 0 "$bin/tiny_1" --help
for option in steps data validation seed threads log log-tensors dump-gradients init save \
	save-every sample temperature dry-run check-replicas bigram quiet help version; do
	grep -q -- "--$option" out || fail "--$option is not in the help"
done
expect 0 "$bin/tiny_1" --version
expect 0 "$bin/tiny_1" --dry-run
grep -q "step 1/1" out || fail "a dry run is one step"
grep -q "arena" out || fail "a dry run shows memory"
expect 0 "$bin/tiny_1" --steps=3 --quiet

# Before the first step: what starts, and that it is more than the machine has.
expect 0 "$bin/tiny_2" --steps 1 --threads 1
head -1 out | grep -q '^starting `tiny`: 2 ranks of 1 thread, 8.96 K weights' ||
	fail "no first line"
many=$(($(getconf _NPROCESSORS_ONLN) + 1))
expect 0 "$bin/tiny_1" --steps 0 --threads "$many"
grep -q "^warning: $many threads on [0-9]* core" out || fail "no warning of too many threads"
expect 0 "$bin/tiny_1" --steps 1 --threads "$many" --quiet
grep -q '^starting\|^warning' out && fail "it is not quiet"

# One file for two options: refused before it is written.
cp text.txt data.txt
ln data.txt other
expect 2 "$bin/tiny_1" --steps 1 --log both --save ./both
says 'options `--log` and `--save` name one file, `both`'
[ ! -e both ] || fail "it is written"
for option in log save dump-gradients; do
	expect 2 "$bin/tiny_1" --steps 1 --data data.txt "--$option" other
	says "option \`--$option\`: \`other\` is a file of the data"
done
cmp data.txt text.txt || fail "the data are written"
expect 0 "$bin/tiny_1" --steps 1 --quiet --save both
expect 2 "$bin/tiny_1" --steps 1 --log both --init both
says 'options `--log` and `--init` name one file'
expect 0 "$bin/tiny_1" --steps 1 --quiet --save both --init both
expect 0 "$bin/tiny_1" --steps 1 --quiet --log /dev/null

# Linked with a runtime that has other tables.
expect 1 "$bin/tiny_other" --steps 1
says 'with the tables of another runtime'

expect 0 "$bin/tiny_1" -h
grep -q -- '--help' out || fail "-h is no help"
expect 1 "$bin/tiny_1" --steps 1 --log no/such/folder --quiet
says 'cannot write the log `no/such/folder`'

# More threads than cores wait without spinning; a user's word stands.
waits() { # waits POLICY COMMAND..: how the program was told to wait
	policy=$1
	shift
	"$@" --steps 100000000 --quiet --threads $(($(nproc) + 1)) >out 2>err &
	program=$!
	ranks "$program" 2
	tr '\0' '\n' <"/proc/$program/environ" >told
	kill -s TERM "$program"
	wait "$program" || :
	grep -qx "OMP_WAIT_POLICY=$policy" told || fail "not told to wait: $policy"
}
waits passive "$bin/tiny_2"
waits active env OMP_WAIT_POLICY=active "$bin/tiny_2"
