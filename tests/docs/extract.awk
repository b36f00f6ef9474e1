# SPDX-License-Identifier: Apache-2.0
# extract.awk -v out=DIR FILE.md: writes each fenced block that a test looks at to DIR/NNN.text, and
# to DIR/NNN.kind "LINE LANGUAGE DIRECTIVE". A directive is a comment `<!-- test: ... -->` on the
# line before the fence; `<!-- test: copy FROM TO -->` stands by itself.

function start(lang) {
	n++
	name = sprintf("%s/%03d", out, n)
	printf "%d %s %s\n", NR, lang, directive >(name ".kind")
	close(name ".kind")
	printf "" >(name ".text")
}

/^<!-- test: .* -->$/ {
	directive = $0
	sub(/^<!-- test: /, "", directive)
	sub(/ -->$/, "", directive)
	if (directive ~ /^copy /) {
		start("none")
		close(name ".text")
		directive = ""
	}
	next
}

/^```/ && !inside {
	inside = 1
	lang = substr($0, 4)
	taken = 0
	if (lang ~ /^plan/ || directive != "") {
		start(lang == "" ? "text" : lang)
		taken = 1
	}
	waiting = lang == "text" || lang == ""
	next
}

/^```$/ {
	inside = 0
	directive = ""
	if (taken)
		close(name ".text")
	next
}

# A text that is a whole plan counts as one.
inside && !taken && waiting && /^(plan|library) [a-z]/ {
	start("plan")
	taken = 1
}

inside {
	waiting = waiting && ($0 == "" || $0 ~ /^\/\//)
	if (taken)
		print >(name ".text")
	next
}

NF { directive = "" }
