# SPDX-License-Identifier: Apache-2.0
# Line 1: "memory", predicted, resident and outside bytes of all ranks; line 2: proportional bytes of
# all, and their number. Variables: arena and outside as planc says them, sanitized, name.
function bad(text) {
	print name ": " text
	wrong = 1
}
NR == 1 {
	n = (NF - 1) / 3
	for (i = 1; i <= n; i++) {
		predicted = $(1 + i)
		resident = $(1 + n + i)
		beside = $(1 + 2 * n + i)
		sum += predicted
		largest = predicted > largest ? predicted : largest
		most = beside > most ? beside : most
		if (predicted != resident)
			bad("rank " i - 1 ": " predicted " bytes predicted, " resident " in memory")
	}
}
NR == 2 {
	pss = $1
	seen = $2
}
END {
	if (n != 8 || seen != 8)
		bad(n " ranks in the log, " seen " processes")
	if (largest != arena)
		bad("the largest arena has " largest ", planc says " arena)
	if (sanitized == "" && most > outside)
		bad(most " bytes beside an arena, " outside " are stated")
	if (sanitized == "" && (pss < sum || pss - sum > n * outside))
		bad("the kernel counts " pss " bytes, the arenas have " sum)
	printf "%-7s arenas %7.2f MiB; beside one at most %5.2f MiB, by the kernel %5.2f MiB a rank\n",
		name, sum / 2 ^ 20, most / 2 ^ 20, (pss - sum) / n / 2 ^ 20
	exit wrong
}
