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
bad 'option `--steps`: `-1` is not a whole number' --steps -1
bad 'option `--steps`: `99999999999999999999` is out of range' --steps 99999999999999999999
bad 'option `--threads`: `0` is out of range' --threads 0
bad 'option `--temperature`: `hot` is not a number' --temperature hot
bad 'option `--sample` needs TEXT N' --sample text
bad 'option `--sample`: `few` is not a whole number' --sample text few
bad 'option `--quiet` takes no value' --quiet=yes
bad 'option `--save-every` needs `--save FILE`' --save-every 3
bad 'option `--data`: its GLOB is empty' --data ""

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
expect 1 "$bin/tiny_1" --steps 1 --log no/such/folder --quiet
says 'cannot write the log `no/such/folder`'
