# SPDX-License-Identifier: Apache-2.0
# Lines of KEPT: case, stage, layers of all micro-batches that planc keeps. Lines of trace.tsv:
# case, stages, chunks, micro-batches, rank, GB. The line through all ranks, and how far they are
# from it.
NR == FNR {
	kept[$1, $2] = $3
	next
}
{
	x = kept[$1, $5] / 8 # micro-batches of a stage of eight layers
	n++
	at[n] = x
	gb[n] = $6
	sx += x
	sy += $6
	sxx += x * x
	sxy += x * $6
}
END {
	slope = (n * sxy - sx * sy) / (n * sxx - sx * sx)
	base = (sy - slope * sx) / n
	for (i = 1; i <= n; i++) {
		far = gb[i] - base - slope * at[i]
		far = far < 0 ? -far : far
		worst = far > worst ? far : worst
		share = far / gb[i] > share ? far / gb[i] : share
	}
	printf "trace: %d ranks, %.2f GB + %.2f GB a micro-batch, at most %.2f GB apart (%.1f %%)\n", n,
		base, slope, worst, 100 * share
	exit !(n == 16 && worst <= 1.2)
}
