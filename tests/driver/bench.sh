#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench.sh PLANC BENCH: time and memory of `planc check` for a plan of 96 layers and 175e9 weights.
# Goal: 50 ms and 64 MiB, in a release build.
. "$(dirname "$0")/lib.sh"
"$2" 20 "$planc" check -q gpt3_175b.plan
