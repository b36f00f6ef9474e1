#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# features.sh PLAN_GEN MODELS EACH FIRST: how many of the layouts that splits.sh compares show each
# feature. Fails where one is shown by none.
set -eu
"$1" select "$2" "$3" "$4" | "$1" table
