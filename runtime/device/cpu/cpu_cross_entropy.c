/* SPDX-License-Identifier: Apache-2.0 */
/* Cross-entropy of rows of logits, by tiles of the vocabulary. */
#include "device/cpu/cpu_math.h"

enum { TILE = 512 };

static REAL tile_most(const REAL *x, int64_t count)
{
	REAL lane[LANES], most = x[0];
	int64_t i = 0;
	for (int64_t l = 0; l < LANES; l++)
		lane[l] = x[0];
	for (; i + LANES <= count; i += LANES) {
		for (int64_t l = 0; l < LANES; l++)
			lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
	}
	for (; i < count; i++)
		lane[0] = x[i] > lane[0] ? x[i] : lane[0];
	for (int64_t l = 0; l < LANES; l++)
		most = lane[l] > most ? lane[l] : most;
	return most;
}

/* log of the sum of e^x; what is summed is relative to the largest logit so far. */
static double row_lse(const REAL *x, int64_t count)
{
	REAL most = x[0], power[TILE];
	double sum = 0;
	for (int64_t left = 0; left < count; left += TILE) {
		int64_t part = least(TILE, count - left);
		REAL high = tile_most(x + left, part);
		double tile;
		if (high > most) {
			sum *= exp((double)most - (double)high);
			most = high;
		}
		PARALLEL_LOOP
		for (int64_t i = 0; i < part; i++)
			power[i] = real_exp(x[left + i] - most);
		ROW_SUM(tile, part, ROW(power));
		sum += tile;
	}
	return (double)most + log(sum);
}

KERNEL(cross_entropy)
{
	const REAL *logits = args->in[0];
	const int32_t *target = args->in[1];
	double *lse = args->out[0], *loss = args->out[1];
	int64_t width = args->size[0], vocab = args->size[1];
	for (int64_t row = first; row < last; row++) {
		const REAL *x = logits + row * width;
		lse[row] = row_lse(x, vocab);
		loss[row] = 0;
		if (target[row] >= vocab)
			cpu_bad_index("cross_entropy", row, target[row], vocab);
		else if (target[row] >= 0)
			loss[row] = lse[row] - (double)x[target[row]];
	}
}

KERNEL(cross_entropy_backward)
{
	const REAL *logits = args->in[0];
	const int32_t *target = args->in[1];
	const double *lse = args->in[2];
	REAL *dlogits = args->out[0];
	int64_t width = args->size[0], vocab = args->size[1];
	for (int64_t row = first; row < last; row++) {
		const REAL *x = logits + row * width;
		REAL *dx = dlogits + row * width;
		double from = lse[row];
		int64_t counted = target[row] >= 0 ? vocab : 0;
		PARALLEL_LOOP
		for (int64_t i = 0; i < counted; i++)
			dx[i] = real_exp((REAL)((double)x[i] - from));
		memset(dx + counted, 0, (size_t)(width - counted) * sizeof(REAL));
		if (target[row] >= vocab)
			cpu_bad_index("cross_entropy_backward", row, target[row], vocab);
		else if (target[row] >= 0)
			dx[target[row]] -= 1;
	}
}
