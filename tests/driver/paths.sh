#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Paths with what C, its comments, compilers and make take for something else.
. "$(dirname "$0")/lib.sh"
newline='
'

# made TARGET: make makes it again
made() {
	make -f all.mk -- "$1" 2>&1 | grep -qF "again $1"
}

# path FOLDER FILE OUTPUT
path() {
	mkdir -p "$1"
	cp tiny.plan "$1/$2"
	expect 0 build -q "$1/$2" -o "$3" --depfile=made.d || return
	"./$3/tiny" --quiet --steps 1 --log log || fail "the program of $1/$2"
	holds log '"event":"end"'
	case $1$2$3 in *"$newline"*) return ;; esac
	printf 'include made.d\n%%:\n\t@echo "again $@"\n' >all.mk
	for file in "$3/Makefile" "$3/tiny"; do
		made "$file" && fail "$file is made again though nothing changed: $(cat made.d)"
	done
	sleep 0.01
	touch "$1/$2"
	for file in "$3/Makefile" "$3/tiny"; do
		made "$file" || fail "$file is not made again: $(cat made.d)"
	done
}

path 'we*/ird' a.plan o
path 'a/*b' 'b.plan' 'c/*'
path 'what??/' 'c?.plan' 'out?'
path 'back\slash' 'd\.plan' 'back\ out'
path '"%s"' "e'%d.plan" '%d'
path 'x:y#z$(u)' '[a]&.plan' 'o:u#t$'
path "new${newline}line" "f${newline}.plan" "g${newline}h"
path "$(printf 'right \342\200\256 left')" "$(printf 'g\377.plan')" "$(printf '\376')"
path plain h.plan @out
path plain i.plan -x
finish
