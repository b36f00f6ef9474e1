# SPDX-License-Identifier: Apache-2.0
# lib.sh: how one layout is built, run and compared with its twins. Sourced with $planc, $compare
# and $work set. $work/data is the data; $work/kept holds programs that several layouts are
# compared with, by a sum of their plan.
root=$(cd "$(dirname "$planc")/.." && pwd)
link=$(cat "$root/lib/planc/link.txt")
mkdir -p "$work/kept"
export OMP_WAIT_POLICY=passive # more threads than cores
replicas='--check-replicas 1'
. "$here/../equal/rounding.sh"

# 68 windows of 16 bytes: digits and line ends.
[ -f "$work/data" ] || seq 1 300 >"$work/data"

# masked FOLDER: in model.c, targets that do not count, by the number of their sample in the step:
# all of every fourth sample, of others up to four, so that ranks and micro-batches have unequal
# numbers
masked() {
	sed -i '/\.targets = targets/,/}));/{/}));/a\
	for (int64_t i = 0; i < N_BATCH * N_TOKENS; i++) {\
		int64_t sample = (int64_t)control[RT_CONTROL_SAMPLE] + i / N_TOKENS;\
		if (sample % 4 == 1 || i % N_TOKENS < sample % 5)\
			targets[i] = -1;\
	}
}' "$1/model.c"
	grep -q 'targets\[i\] = -1' "$1/model.c"
}

# compiled FOLDER: model.c and schedule.c to program: as fast as the compiler can
fast='-O0 -w -Wl,-S -fno-sanitize-address-use-after-scope'
compiled() {
	(cd "$1" && ${CC:-cc} $fast -std=c17 -ffp-contract=off -I"$root/include/planc" \
		model.c schedule.c -o program "$root/lib/planc/libplanc_rt.a" $link) >"$1/said" 2>&1
}

# trained FOLDER [OPTION...]: log, gradients, weights, and in `validated` losses of held-out data
trained() {
	at=$1
	shift
	timeout 120 "$at/program" --quiet --data "$work/data" --log "$at/log" \
		--save "$at/weights" --dump-gradients "$at/gradients" $replicas "$@" \
		>"$at/said" 2>&1 || return
	sed -n 's/.*"validation_loss":\([^,}]*\).*/\1/p' "$at/log" >"$at/validated"
}

# planted FOLDER FILE SED: a change of the emitted text
planted() {
	cp "$1/$2" "$1/right"
	sed "$3" "$1/right" >"$1/$2"
	! cmp -s "$1/right" "$1/$2"
}

# made FOLDER [FILE SED]: $FOLDER/program.plan emitted, changed where a fault is planted, built and
# trained. Says what failed.
made() {
	"$planc" emit -q "$1/program.plan" -o "$1" >"$1/said" 2>&1 || {
		echo "not emitted: $(grep -m 1 -e ^error -e . "$1/said")"
		return 1
	}
	if grep -q '^// some targets do not count' "$1/program.plan" && ! masked "$1"; then
		echo 'the emitted text loads no targets'
		return 1
	fi
	if [ -n "${2:-}" ] && ! planted "$@"; then
		echo 'the emitted text has no such place'
		return 1
	fi
	compiled "$1" || {
		echo "does not compile: $(head -n 3 "$1/said")"
		return 1
	}
	code=0
	trained "$1" || code=$?
	[ $code -eq 0 ] || {
		echo "ended with exit code $code: $(head -n 3 "$1/said")"
		return 1
	}
	grep -q '"ranks":{"arena":\(\[[0-9,]*\]\),"resident":\1,' "$1/log" || {
		echo 'the arena of a rank is not the one predicted'
		return 1
	}
}

# once FOLDER COMMAND...: prints the folder, in which the command has run once. Another process may
# be running it.
once() {
	folder=$1
	shift
	if mkdir "$folder" 2>/dev/null; then
		"$@" "$folder" >"$folder/failed.new"
		code=$?
		[ $code -eq 0 ] || mv "$folder/failed.new" "$folder/failed"
		touch "$folder/ended"
	fi
	waited=0
	until [ -f "$folder/ended" ]; do
		sleep 0.1
		waited=$((waited + 1))
		[ $waited -lt 3000 ] || break
	done
	echo "$folder"
	[ ! -f "$folder/failed" ]
}

made_of() { # PLAN FOLDER
	cp "$1" "$2/program.plan"
	made "$2"
}

# kept PLAN: the folder of this plan's program
kept() {
	once "$work/kept/$(cksum <"$1" | tr ' ' -)" made_of "$1"
}

# same A B: every loss, norm, gradient and weight to the bit
same() {
	"$compare" log "$1/log" "$2/log" 0 0 && cmp "$1/gradients" "$2/gradients" &&
		cmp "$1/weights" "$2/weights" && cmp "$1/validated" "$2/validated"
}

# bounds PRECISION: loss, norm, gradients, weights, by README.md
bounds() {
	case $1 in
	fp64) echo 1e-10 1e-10 1e-9 1e-8 ;;
	fp32) echo 1e-5 1e-4 1e-5 2e-5 ;;
	bf16) echo - - - 3e-3 ;;
	wire) echo - - - 1e-3 ;;
	esac
}

# precision PLAN: the narrowest type in it; `wire`: where nothing but what is sent is bf16
precision() {
	if grep '^precision' "$1" | grep -q 'compute = fp32.* = bf16'; then
		echo wire
		return
	fi
	for type in bf16 fp32 fp64; do
		! grep '^precision' "$1" | grep -q "$type" || break
	done
	echo "$type"
}

# near A B LOSS: as many losses of held-out data, each within this bound
near() {
	paste "$1/validated" "$2/validated" | awk -v most="$3" '
		NF != 2 || $2 / $1 - 1 > most || 1 - $2 / $1 > most {
			bad = 1
			print "validation: " $0
		}
		END { exit bad }'
}

# within PLAN A B [EXACT UNITS]: every line begins with the precision. EXACT, UNITS: for bf16,
# folders of A in fp64 and of what a rounding is
within() {
	kind=$(precision "$1") want=$2 got=$3 exact=${4:-} units=${5:-}
	set -- $(bounds "$kind")
	bad=0
	{
		if [ -n "$units" ]; then
			roundings "$units/units" "$exact" "$got" || bad=1
		else
			"$compare" log "$want/log" "$got/log" "$1" "$2" || bad=1
			"$compare" gradients "$want/gradients" "$got/gradients" "$3" || bad=1
			near "$want" "$got" "$1" || bad=1
		fi
		"$compare" weights "$want/weights" "$got/weights" "$4" || bad=1
	} >"$work/compared.$$" 2>&1
	sed "s/^/$kind /" "$work/compared.$$"
	return $bad
}

# remembered FOLDER: the bytes that planc predicts are those of the fullest rank; `made` has seen
# that every rank has what its tables say
remembered() {
	predicted=$(sed -n 's/.*"arena_bytes": \([0-9]*\).*/\1/p' "$1/manifest.json")
	most=$(sed -n 's/.*"ranks":{"arena":\[\([0-9,]*\)\].*/\1/p' "$1/log" | tr , '\n' |
		sort -n | tail -n 1)
	[ -n "$predicted" ] && [ "$predicted" = "$most" ] && return 0
	echo "memory: planc says $predicted bytes, the fullest rank has $most"
	return 1
}

# compared FOLDER [FILE SED]: layout.plan of the folder with bits.plan and one.plan. FILE, SED: a
# fault planted into the emitted text. Prints the differences; fails where there are some.
compared() {
	cp "$1/layout.plan" "$1/program.plan"
	made "$@" || return 1
	remembered "$1" || return 1
	bits=$(kept "$1/bits.plan") || {
		echo "twin for bits: $(cat "$bits/failed")"
		return 1
	}
	one=$(kept "$1/one.plan") || {
		echo "twin on one rank: $(cat "$one/failed")"
		return 1
	}
	differs=0
	same "$bits" "$1" >"$1/said" 2>&1 || {
		echo 'other bits than its twin:'
		cat "$1/said"
		differs=1
	}
	if [ -f "$1/layout64.plan" ]; then
		compared_exact "$1" "$one" || differs=1
	else
		within "$1/layout.plan" "$one" "$1" || differs=1
	fi
	return $differs
}

# compared_exact FOLDER ONE: as `compared`, with one rank: the layout in fp64, and in its own
# precision
compared_exact() {
	wide=$(kept "$1/layout64.plan") || {
		echo "in fp64: $(cat "$wide/failed")"
		return 1
	}
	one64=$(kept "$1/one64.plan") || {
		echo "twin on one rank in fp64: $(cat "$one64/failed")"
		return 1
	}
	apart=0
	within "$1/layout64.plan" "$one64" "$wide" || apart=1
	rounds=
	case $(precision "$1/layout.plan") in
	bf16 | wire) rounds=$(rounded "$1" "$2" "$one64") || {
		echo "in roundings: $rounds"
		return 1
	} ;;
	esac
	within "$1/layout.plan" "$2" "$1" $rounds || apart=1
	return $apart
}

# rounded FOLDER ONE WIDE: folders of ONE in fp64 and of what a rounding of one rank is; or what
# failed. Where nothing but what is sent is bf16, one rank in bf16 stands for ONE, which rounds
# nothing.
rounded() {
	coarse=$2
	if [ "$(precision "$1/layout.plan")" = wire ]; then
		sed 's/^precision .*/precision = mixed_bf16/' "$1/one.plan" >"$1/coarse.plan"
		coarse=$(kept "$1/coarse.plan") || {
			cat "$coarse/failed"
			return 1
		}
	fi
	start=$(once "$2-exact" exact "$2" "$3") || {
		cat "$start/at.said" "$start/said"
		return 1
	}
	roughly=$(once "$coarse-units" units "$coarse" "$3") || {
		cat "$roughly"/*said "$roughly"/*/said
		return 1
	}
	echo "$start $roughly"
}
