# SPDX-License-Identifier: Apache-2.0
# sets.tsv: set, mean and worst difference accepted (per cent, of what was measured), cause.
# predicted: MiB by row. peaks.tsv: column 12 measured, 13 predicted when it was committed.
BEGIN { FS = "\t" }
FILENAME ~ /sets\.tsv$/ {
	if ($1 != "set") {
		names[++sets] = $1
		mean[$1] = $2
		worst[$1] = $3
	}
	next
}
FILENAME ~ /predicted$/ {
	now[FNR] = $1
	next
}
{
	if (now[FNR] != $13) {
		printf "%s, %s: planc says %s MiB, the table %s\n", $1, $2, now[FNR], $13
		moved++
	}
	off = 100 * (now[FNR] / $12 - 1)
	sum[$1] += off
	size = off < 0 ? -off : off
	most[$1] = size > most[$1] ? size : most[$1]
	rows[$1]++
}
END {
	for (i = 1; i <= sets; i++) {
		set = names[i]
		found = rows[set] ? sum[set] / rows[set] : 0
		printf "%s: %d rows, mean %+.1f %%, worst %.1f %%\n", set, rows[set], found, most[set]
		far = found - mean[set]
		if (!rows[set] || far > 0.1 || far < -0.1 || most[set] > worst[set] + 0.1) {
			printf "%s: accepted are a mean of %+.1f %% and %.1f %% at worst\n", set,
				mean[set], worst[set]
			wrong = 1
		}
	}
	exit wrong || moved
}
