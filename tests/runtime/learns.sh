# SPDX-License-Identifier: Apache-2.0
# The loss falls below a good part of the bigrams', the log is JSON, options reach it.
. "$(dirname "$0")/common.sh"

expect 0 "$bin/tiny_2" --steps 120 --log log.json --log-tensors --bigram --seed 5 --sample "the " 40
[ -s err ] && fail "messages of a good run"
grep -q "^bigrams" out || fail "no bigrams"
grep -q "memory of a rank" out || fail "no memory table"
# Arena and outside are measured, nothing else: "  weights  1.00 MiB" has three fields.
awk '/^  arena / { arena = NF } /^  outside the arena / { outside = NF }
	/^ .*(weights|gradients|optimizer) / { items = items > NF ? items : NF }
	END { exit !(arena == 5 && outside == 7 && items <= 3) }' out || fail "the memory table"
grep -q "validation loss" out || fail "no validation"
[ "$(sed -n '/^sample:/,$p' out | sed 1d | head -c 4)" = "the " ] || fail "no sample"
"$bin/json_lines" log.json step loss grad_norm lr tokens tokens_per_s tensors >table
[ "$(wc -l <table)" -eq 120 ] || fail "not a line a step"
awk '$1 != NR - 1 { exit 1 }' table || fail "the log counts steps from 0"
grep -q '"event":"validation","steps":120,' log.json || fail "no validation in the log"
awk 'NR == 1 { first = $2 } { last = $2 } END { exit !(last < first - 2) }' table ||
	fail "the loss does not fall"
"$bin/json_lines" log.json event options >/dev/null
grep -q '"seed":5' log.json || fail "the seed is not logged"
grep -q '"event":"memory","predicted"' log.json || fail "no memory in the log"

# The same seed gives the same run, another one does not.
expect 0 "$bin/tiny_2" --steps 20 --quiet --seed 5 --save a
expect 0 "$bin/tiny_2" --steps 20 --quiet --seed 5 --save b
expect 0 "$bin/tiny_2" --steps 20 --quiet --seed 6 --save c
cmp a b || fail "two runs differ"
cmp -s a c && fail "the seed changes nothing"
expect 0 "$bin/tiny_1" --steps 0 --init a --sample "of" 30 --temperature 0 --quiet
cp out first
expect 0 "$bin/tiny_4" --steps 0 --init a --sample "of" 30 --temperature 0 --quiet
cmp out first || fail "the sample depends on the ranks"
