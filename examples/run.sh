#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [TEXT]: builds planc, compiles first-light.plan and trains it on TEXT, or on the texts of
# Debian's package `fortunes`. Everything made lies under build/. Ends with 0 if the validation loss
# is under 0.85 of what a table of byte pairs reaches on the same held-out bytes.
set -u
text=${1:-}
case $text in '' | /*) ;; *) text=$PWD/$text ;; esac
cd "$(dirname "$0")/.." || exit 1
build=build/release
work=build/first-light
fortunes=/usr/share/games/fortunes
needed='bison cmake flex gcc libc6-dev make pkg-config libdnnl-dev libhwloc-dev libjansson-dev'
[ -n "$text" ] || needed="$needed fortunes"

stop() {
	echo "run.sh: $*" >&2
	exit 1
}

# Where there is no package database, what a build cannot do without is looked for by itself.
missing() {
	for package in $needed; do
		case $package in
		bison | cmake | flex | gcc | make | pkg-config)
			command -v "$package" >/dev/null 2>&1 || echo "$package"
			;;
		fortunes)
			[ -f $fortunes/science ] || echo "$package"
			;;
		libdnnl-dev) headers "$package" oneapi/dnnl/dnnl.h -ldnnl ;;
		libhwloc-dev) headers "$package" hwloc.h -lhwloc ;;
		libjansson-dev) headers "$package" jansson.h -ljansson ;;
		libc6-dev) headers "$package" stdio.h -lc ;;
		esac
	done
}

# headers PACKAGE HEADER LIBRARY: prints PACKAGE unless the compiler finds both
headers() {
	command -v gcc >/dev/null 2>&1 &&
		printf '#include <%s>\nint main(void) { return 0; }\n' "$2" |
		gcc -x c - "$3" -o /dev/null 2>/dev/null || echo "$1"
}

install_missing() {
	list=$(missing)
	[ -n "$list" ] || return 0
	list=$(echo "$list" | tr '\n' ' ')
	[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1 ||
		stop "please install these packages, then start again: $list"
	echo "installing $list"
	# shellcheck disable=SC2086
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends $list; } >/dev/null ||
		stop "could not install $list"
}

build_planc() {
	echo "building planc in $build"
	mkdir -p "$work" "$work/data"
	jobs=$(nproc 2>/dev/null || echo 2)
	{
		cmake --preset release -DWITH_TESTS=OFF &&
			cmake --build $build -j "$jobs" --target planc planc_rt
	} >$work/build.log 2>&1 || {
		tail -n 20 $work/build.log >&2
		stop "the build failed, all of it is in $work/build.log"
	}
}

# The files are sorted by topic. Their entries are interleaved so that every stretch of the result
# has the mixture of the whole: entry i of n of a file belongs at (i + 1/2) / n.
mix_fortunes() {
	LC_ALL=C
	export LC_ALL
	for file in "$fortunes"/*; do
		case $file in *.dat | *.u8) continue ;; esac
		[ -f "$file" ] && printf '%s\n' "$file"
	done | sort | xargs awk '
		FNR == 1 { close_entry(); files++ }
		$0 == "%" { close_entry(); next }
		{ entry = entry $0 "\n" }
		function close_entry() {
			if (entry != "") text[files, count[files]++] = entry
			entry = ""
		}
		END {
			close_entry()
			for (;;) {
				best = 0
				for (f = 1; f <= files; f++) {
					if (next_one[f] >= count[f]) continue
					at = (next_one[f] + 0.5) / count[f]
					if (!best || at < least) { best = f; least = at }
				}
				if (!best) exit
				printf "%s\n", text[best, next_one[best]++]
			}
		}'
}

prepare_data() {
	rm -f $work/data/*.txt
	if [ -n "$text" ]; then
		[ -r "$text" ] || stop "cannot read $text"
		cp "$text" $work/data/text.txt || exit 1
	else
		mix_fortunes >$work/data/fortunes.txt
	fi
	bytes=$(cat $work/data/*.txt | wc -c)
	echo "training text: $bytes bytes"
	[ "$bytes" -gt 100000 ] || stop "this text is too short to learn from"
}

# figure NAME FILE: the last number that follows "NAME": in a log
figure() {
	sed -n "s/.*\"$1\":\([0-9.eE+-]*\).*/\1/p" "$2" | tail -n 1
}

install_missing
build_planc
prepare_data
planc=$PWD/$build/bin/planc
(cd examples && "$planc" build first-light.plan -o ../$work/out) ||
	stop "first-light.plan was not built"
(cd examples && "$planc" show memory first-light.plan) || exit 1
cd $work || exit 1
bigrams=$(./out/first_light --bigram --steps 0 --quiet |
	sed -n 's/^bigrams.*cross-entropy \([0-9.]*\) .*/\1/p')
./out/first_light --bigram --log log.jsonl --sample 'The ' 400 || stop "the program failed"
loss=$(figure validation_loss log.jsonl)
[ -n "$loss" ] && [ -n "$bigrams" ] || stop "no validation loss was found in $work/log.jsonl"
awk -v loss="$loss" -v bigrams="$bigrams" 'BEGIN {
	good = loss < 0.85 * bigrams
	printf "\nvalidation loss %.4f, bigrams %.4f nats a byte: %.2f of it, %s 0.85\n", loss, \
		bigrams, loss / bigrams, good ? "under" : "not under"
	exit !good
}'
