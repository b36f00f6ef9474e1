# SPDX-License-Identifier: Apache-2.0
# A rank that fails ends all within 5 seconds, with one message that names rank, step and cause.
. "$(dirname "$0")/common.sh"

# fault NAME RANK STEP CODE TEXT..: STEP counts from 0, as a program does, messages from 1.
fault() {
	name=$1
	start=$(date +%s)
	export FAULT="$1" RANK="$2" STEP="$3"
	expect "$4" timeout -s KILL 20 "$bin/tiny_faults" --steps 100000000 --quiet \
		--check-replicas 1 --log log.json
	[ $(($(date +%s) - start)) -lt 8 ] || fail "$name: it took too long"
	says "$5"
	says "$6"
	! pgrep -x tiny_faults >/dev/null || fail "$name: a process is left"
	"$bin/json_lines" log.json event >/dev/null || fail "$name: the log"
}
fault abort 0 3 1 'rank 0, step 4: ' 'SIGABRT'
fault segv 3 0 1 'rank 3, step 1: ' 'SIGSEGV'
fault bus 2 2 1 'rank 2, step 3: ' 'SIGBUS'
fault kill 1 5 1 'rank 1, step 6: ' 'SIGKILL'
fault exit 1 1 7 'rank 1, step 2: ' 'ended with exit code 7'
fault fail 2 4 1 'rank 2, step 5: ' 'a step that fails'
fault assert 3 4 1 'rank 3, step 5: ' 'an assertion'
fault memory 1 2 1 'rank 1, step 3: ' 'out of memory'
fault lookup 2 1 1 'rank 2, step 2: ' '300'
fault nan 1 6 1 ', step 7: ' 'not finite'
fault replica 1 3 1 ', step 4: ' 'replicas differ: tensor `head`'
fault mismatch 2 3 1 ', step 4: ' 'group `data`: call '
