# SPDX-License-Identifier: Apache-2.0
# Weights out and in again; files as the hub makes them; files that lie.
. "$(dirname "$0")/common.sh"

expect 0 "$bin/tiny_2" --steps 5 --quiet --save a --save-every 2
expect 0 "$bin/tiny_4" --steps 0 --quiet --init a --save b
cmp a b || fail "not the same weights after a round trip"
[ ! -e a.tmp ] || fail "a half file is left"

# The hub's way: a prefix, other types, keys in alphabetical order, buffers that are no weights.
for type in F32 F64 BF16 F16; do
	"$bin/hub_file" make "$type" hub
	expect 0 "$bin/tiny_1" --steps 0 --quiet --init hub --save c
	"$bin/hub_file" check c || fail "values of a $type file"
done

bad() {
	"$bin/hub_file" "$1" F32 wrong
	expect 1 "$bin/tiny_2" --steps 1 --quiet --init wrong
	says "$2"
}
bad missing 'tensor `lm_head.bias` is missing'
bad extra 'tensor `transformer.more.weight`: the plan has no such tensor'
bad shape 'tensor `transformer.wte.weight` has shape [16, 256], the plan has [256, 16]'
bad outside 'tensor `transformer.wte.weight`: data_offsets outside the file'
bad size 'tensor `transformer.wte.weight`: data_offsets that do not agree with its shape'
bad overlap 'it overlaps another tensor'
bad type 'tensor `transformer.wte.weight` is I32, not F32, F64, BF16 or F16'
bad json 'weights file `wrong`: header, offset'
bad length 'a header of 4294967295 bytes at offset 0'
head -c 4 hub >wrong
expect 1 "$bin/tiny_1" --steps 1 --quiet --init wrong
says 'shorter than the 8 bytes of its length'
expect 1 "$bin/tiny_1" --steps 1 --quiet --init nowhere
says 'weights file `nowhere`: No such file or directory'

# A full disk: no half file, the old one stays.
if [ -w /dev/full ]; then
	ln -s /dev/full full.tmp
	echo old >full
	expect 1 "$bin/tiny_2" --steps 1 --quiet --save full
	says 'cannot write `full`'
	[ "$(cat full)" = old ] || fail "the old file is lost"
fi
expect 1 "$bin/tiny_2" --steps 1 --quiet --save no/such/folder
says 'cannot write `no/such/folder.tmp`'

# What can be known is said before the training, and a device is not replaced.
expect 1 "$bin/tiny_1" --steps 100000000 --quiet --save /dev/null
says 'cannot write `/dev/null`: not a regular file'
[ -c /dev/null ] || fail "a device is replaced"
mkdir folder
expect 1 "$bin/tiny_1" --steps 100000000 --quiet --save folder
says 'cannot write `folder`: not a regular file'
ln -s behind link
: >behind
expect 0 "$bin/tiny_1" --steps 1 --quiet --save link
{ [ -L link ] && [ -s behind ]; } || fail "a link is replaced"

# Nobody writes into a pipe: no waiting for it.
mkfifo pipe
expect 1 "$bin/tiny_1" --steps 1 --quiet --init pipe
says 'weights file `pipe`: not a regular file'
expect 1 "$bin/tiny_1" --steps 1 --quiet --data pipe
says 'data file `pipe`: not a regular file'

# A long name keeps the reason.
long=$(printf '%0200d/' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19)
expect 1 "$bin/tiny_1" --steps 1 --quiet --init "${long}file"
says '/file`: No such file or directory'
expect 1 "$bin/tiny_1" --steps 1 --quiet --log "${long}file"
says '/file`: No such file or directory'

# A closed standard output: the log has no lines of it.
expect 0 sh -c "exec '$bin/tiny_1' --steps 2 --log closed.json >&-"
grep -qv '^{' closed.json && fail "the log has lines of standard output"
# A file that may not grow.
expect 1 sh -c "ulimit -f 1; exec '$bin/tiny_1' --steps 1 --quiet"
says 'File too large'
true
