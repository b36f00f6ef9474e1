#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# settings.sh ROOT: the language reference names every block and setting, word, preset, quantity,
# operator and option of a lint, each as code.
set -eu
cd "${1:?usage: settings.sh ROOT}"

# rows MACRO FILE FIELDS: the first fields of each row of a table
rows() {
	sed -n "s/^$1(\(.*\))$/\1/p" "compiler/plan/$2" | awk -F', *' -v fields="$3" '{
		for (i = 1; i <= fields; i++) {
			gsub(/"/, "", $i)
			print $i
		}
	}'
}

names() {
	rows SETTING schema.def 2 | paste - - | while read -r block name; do
		grep -q "^INNER($block, $name)" compiler/plan/resolve/limits.def || echo "$name"
	done
	rows BLOCK schema.def 1
	sed -n 's/^WORDS([a-z_]*, [a-z_]*, "\(.*\)")$/\1/p' compiler/plan/setting_words.def |
		tr ' ' '\n'
	rows PRESET resolve/presets.def 1
	sed -n 's/^QUANTITY([A-Z_]*, "\([^"]*\)".*/\1/p' compiler/plan/quantities.def
	rows OPERATOR operators.def 1 | grep -vxE 'add|sub|mul'
	sed -n 's/^DIAG(\(W[0-9]*\),.*/\1/p' compiler/base/diags.def
}

missing=$(names | sort -u | while read -r name; do
	grep -qE "(^|[^A-Za-z0-9_])$name([^A-Za-z0-9_]|\$)" grammar/*.md || echo "$name"
done)
[ -z "$missing" ] && exit 0
echo "the reference in grammar/ does not name:"
printf '%s\n' "$missing"
exit 1
