# SPDX-License-Identifier: Apache-2.0
# Good and bad data files. Errors name file and offset.
. "$(dirname "$0")/common.sh"

# le16 and le32 NUMBER..: little-endian bytes.
le16() {
	for n in "$@"; do
		printf "\\$(printf %03o $((n & 255)))\\$(printf %03o $((n >> 8 & 255)))"
	done
}
le32() {
	for n in "$@"; do
		le16 $((n & 65535)) $((n >> 16 & 65535))
	done
}
# header MAGIC VERSION COUNT: of llm.c.
header() {
	le32 "$1" "$2" "$3"
	head -c 1012 /dev/zero
}
bad() {
	wanted=$1
	shift
	expect 1 "$@" --steps 3 --quiet
	says "$wanted"
}
bytes=$bin/tiny_1
tokens=$bin/tiny_tokens

bad 'no data file matches `none*`' "$bytes" --data 'none*'
: >empty
bad 'data file `empty`: empty, no token at offset 0' "$bytes" --data empty
printf 'short' >short
bad 'data file `short`: 5 tokens of data end at offset 5, one sample is 33' "$bytes" --data short
mkdir folder
bad 'data file `folder`: not a regular file' "$bytes" --data folder
bad 'held-out data end at' "$bytes" --validation short
head -c 200 text.txt >small
bad 'of held-out data' "$bytes" --data small

# Tokens with and without a header, over several files.
numbers=$(awk 'BEGIN { for (i = 0; i < 1000; i++) print i * 37 % 250 }')
# shellcheck disable=SC2086
le16 $numbers >body
{ header 20240520 1 1000; cat body; } >good.bin
cp body bare.bin
expect 0 "$tokens" --data good.bin --steps 3 --quiet --save a
expect 0 "$tokens" --data bare.bin --steps 3 --quiet --save b
cmp a b || fail "the header changes the tokens"
head -c 800 body >part.1
tail -c +801 body >part.2
expect 0 "$tokens" --data 'part.*' --steps 3 --quiet --save c
cmp a c || fail "the cut into files changes the tokens"

{ header 20240521 1 1000; cat body; } >magic.bin
bad 'data file `magic.bin`: magic number 20240521 at offset 0, not 20240520' \
	"$tokens" --data magic.bin
{ header 20240520 2 1000; cat body; } >version.bin
bad 'data file `version.bin`: version 2 at offset 4, not 1' "$tokens" --data version.bin
{ header 20240520 1 1001; cat body; } >count.bin
bad 'data file `count.bin`: a count of 1001 at offset 8, but 1000 tokens follow' \
	"$tokens" --data count.bin
{ cat body; printf x; } >odd.bin
bad 'data file `odd.bin`: an odd number of bytes, half a token at offset 2000' \
	"$tokens" --data odd.bin
header 20240520 1 1000 | head -c 100 >cut.bin
bad 'data file `cut.bin`: ends inside its header, at offset 100' "$tokens" --data cut.bin
{ head -c 600 body; le16 256; tail -c +603 body; } >outside.bin
bad 'data file `outside.bin`: token 256 at offset 600, the vocabulary has 256' \
	"$tokens" --data outside.bin
{ header 20240520 1 1000; cat outside.bin; } >outside2.bin
bad 'data file `outside2.bin`: token 256 at offset 1624' "$tokens" --data outside2.bin
expect 2 "$tokens" --data good.bin --bigram
says 'option `--bigram` needs a plan whose data is bytes(..)'
expect 2 "$tokens" --data good.bin --sample x 1
says 'option `--sample` needs a plan whose data is bytes(..)'
