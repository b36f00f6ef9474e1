# SPDX-License-Identifier: Apache-2.0
# lib.sh: how one layout is built, run and compared with its twins. Sourced with $planc, $compare
# and $work set. $work/data is the data; $work/kept holds programs that several layouts are
# compared with, by a sum of their plan.
root=$(cd "$(dirname "$planc")/.." && pwd)
link=$(cat "$root/lib/planc/link.txt")
mkdir -p "$work/kept"

# 68 windows of 16 bytes: digits and line ends.
[ -f "$work/data" ] || seq 1 300 >"$work/data"

# compiled FOLDER: model.c and schedule.c to program, without optimizing
compiled() {
	(cd "$1" && ${CC:-cc} -O0 -w -std=c17 -ffp-contract=off -I"$root/include/planc" \
		model.c schedule.c -o program "$root/lib/planc/libplanc_rt.a" $link) >"$1/said" 2>&1
}

# trained FOLDER [OPTION...]: log, gradients and weights
trained() {
	at=$1
	shift
	timeout 120 "$at/program" --quiet --data "$work/data" --log "$at/log" \
		--save "$at/weights" --dump-gradients "$at/gradients" "$@" >"$at/said" 2>&1
}

# made FOLDER: $FOLDER/program.plan emitted, changed where a fault is planted, built and trained.
# Says what failed.
made() {
	"$planc" emit -q "$1/program.plan" -o "$1" >"$1/said" 2>&1 || {
		echo "not emitted: $(grep -m 1 -e ^error -e . "$1/said")"
		return 1
	}
	if [ -n "${2:-}" ]; then
		cp "$1/$2" "$1/right"
		sed "$3" "$1/right" >"$1/$2"
		! cmp -s "$1/right" "$1/$2" || {
			echo 'the emitted text has no such place'
			return 1
		}
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

# kept PLAN: the folder of this plan's program, made once. Another process may be making it.
kept() {
	folder=$work/kept/$(cksum <"$1" | tr ' ' -)
	if mkdir "$folder" 2>/dev/null; then
		cp "$1" "$folder/program.plan"
		made "$folder" >"$folder/failed" || {
			touch "$folder/ended"
			echo "$folder"
			return 1
		}
		rm "$folder/failed"
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

# same A B: every loss, norm, gradient and weight to the bit
same() {
	"$compare" log "$1/log" "$2/log" 0 0 && cmp "$1/gradients" "$2/gradients" &&
		cmp "$1/weights" "$2/weights"
}

# within PRECISION A B: the bounds of README.md
within() {
	case $1 in
	fp64) set -- "$2" "$3" 1e-10 1e-10 1e-9 1e-8 ;;
	fp32) set -- "$2" "$3" 1e-5 1e-4 1e-5 2e-5 ;;
	*) set -- "$2" "$3" 2e-3 5e-2 1e-1 1 ;;
	esac
	far=0
	"$compare" log "$1/log" "$2/log" "$3" "$4" || far=1
	"$compare" gradients "$1/gradients" "$2/gradients" "$5" || far=1
	"$compare" weights "$1/weights" "$2/weights" "$6" || far=1
	return $far
}

# compared FOLDER [FILE SED]: layout.plan of the folder with bits.plan and one.plan. FILE, SED: a
# fault planted into the emitted text. Prints the differences; fails where there are some.
compared() {
	precision=$(sed -n 's/^precision = //p' "$1/layout.plan")
	cp "$1/layout.plan" "$1/program.plan"
	made "$@" || return 1
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
	within "$precision" "$one" "$1" 2>&1 || differs=1
	return $differs
}
