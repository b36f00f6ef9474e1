#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh PLANC VERSION BUILD: an installed planc works elsewhere, without the build tree.
. "$(dirname "$0")/lib.sh"

cmake --install "$3" --prefix "$scratch/prefix" >installed 2>&1 || {
	cat installed
	fail 'cmake --install'
}
mv prefix moved
planc=$scratch/moved/bin/planc
expect 0 version
expect 0 build tiny.plan -o made
./made/tiny --steps 1 >out 2>err || fail 'the program of an installed planc'
expect 0 explain E0401
finish
