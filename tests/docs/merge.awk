# SPDX-License-Identifier: Apache-2.0
# merge.awk [-v block=NAME] FRAGMENT FRAME: the frame with the fragment put in. Blocks of the fragment
# that a plan has once replace those of the frame; other statements are added. With `block`, the
# fragment stands in that block of the frame and replaces settings of the same name there.

function bare(line) {
	sub(/\/\/.*/, "", line)
	gsub(/"[^"]*"/, "", line)
	return line
}

# What a statement replaces.
function key(line,    words) {
	split(line, words, /[^a-z0-9_]+/)
	if (words[1] ~ /^(import|let|param|device|link|architecture)$/)
		return words[1] " " words[2]
	return words[1]
}

function depth_of(line,    opened, closed) {
	line = bare(line)
	opened = gsub(/[{(\[]/, "", line)
	closed = gsub(/[})\]]/, "", line)
	return opened - closed
}

# Names of all statements of a line at depth 0: "a = 1, b = 2".
function take_names(line,    n, parts, i) {
	line = bare(line)
	gsub(/[{(\[][^})\]]*[})\]]?/, "", line)
	n = split(line, parts, /,/)
	for (i = 1; i <= n; i++) {
		sub(/^[ \t]+/, "", parts[i])
		if (parts[i] ~ /^[a-z]/)
			given[key(parts[i])] = 1
	}
}

NR == FNR {
	text = text (block != "" && $0 != "" ? "  " : "") $0 "\n"
	if (depth == 0 && !more && $0 ~ /^[a-z]/)
		take_names($0)
	depth += depth_of($0)
	more = bare($0) ~ /(,|else|\+)[ \t]*$/
	next
}

FNR == 1 { depth = 0 }

# Inside the block that the fragment belongs to.
within {
	if (depth == 1 && $0 ~ /^}/) {
		printf "%s", text
		within = 0
	} else if (depth == 1) {
		line = $0
		sub(/^[ \t]+/, "", line)
		skip = key(line) in given
	}
	if (within && skip) {
		depth += depth_of($0)
		next
	}
	depth += depth_of($0)
	print
	next
}

depth == 0 && /^[a-z]/ {
	skip = block == "" && (key($0) in given) && key($0) !~ /^(require|allow)/
	within = block != "" && key($0) == block
	if (within)
		done = 1
}
{
	depth += depth_of($0)
	if (!skip)
		print
}

END {
	if (block == "")
		printf "\n%s", text
	else if (!done)
		printf "\n%s {\n%s}\n", block, text
}
