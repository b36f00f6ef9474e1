/* SPDX-License-Identifier: Apache-2.0 */
/* Cross-entropy of rows of logits, by tiles of the vocabulary; of whole rows and of parts. */
#include <math.h>

#include "device/cpu/cpu_math.h"

enum { TILE = 512 };

static REAL tile_most(const ELEM *x, int64_t count)
{
	REAL lane[LANES], most = real_of(x[0]);
	int64_t i = 0;
	for (int64_t l = 0; l < LANES; l++)
		lane[l] = most;
	for (; i + LANES <= count; i += LANES) {
		for (int64_t l = 0; l < LANES; l++)
			lane[l] = real_of(x[i + l]) > lane[l] ? real_of(x[i + l]) : lane[l];
	}
	for (; i < count; i++)
		lane[0] = real_of(x[i]) > lane[0] ? real_of(x[i]) : lane[0];
	for (int64_t l = 0; l < LANES; l++)
		most = lane[l] > most ? lane[l] : most;
	return most;
}

/* The sum of e^(x - most) over a tile. */
INLINE double tile_sum(const ELEM *x, REAL most, int64_t count)
{
	REAL power[TILE];
	double sum;
	PARALLEL_LOOP
	for (int64_t i = 0; i < count; i++)
		power[i] = real_exp(real_of(x[i]) - most);
	ROW_SUM(sum, count, ROW_REAL(power));
	return sum;
}

/* log of the sum of e^x; what is summed is relative to the largest logit so far. */
static double row_lse(const ELEM *x, int64_t count)
{
	REAL most = real_of(x[0]);
	double sum = 0;
	for (int64_t left = 0; left < count; left += TILE) {
		int64_t part = least(TILE, count - left);
		REAL high = tile_most(x + left, part);
		if (high > most) {
			sum *= exp((double)most - (double)high);
			most = high;
		}
		sum += tile_sum(x + left, most, part);
	}
	return (double)most + log(sum);
}

/* Gradient of `width` logits, of which `count` are real; the rest get 0. A target
 * of -1: none of them. */
static void row_slope(const ELEM *x, ELEM *dx, double lse, int64_t count, int64_t target,
		      int64_t width)
{
	REAL chosen = target < 0 ? 0 : real_exp((REAL)((double)real_of(x[target]) - lse)) - 1;
	PARALLEL_LOOP
	for (int64_t i = 0; i < count; i++)
		dx[i] = elem_of(real_exp((REAL)((double)real_of(x[i]) - lse)));
	memset(dx + count, 0, (size_t)(width - count) * sizeof(ELEM));
	if (target >= 0)
		dx[target] = elem_of(chosen);
}

KERNEL(cross_entropy)
{
	const ELEM *logits = args->in[0];
	const int32_t *target = args->in[1];
	double *lse = args->out[0], *loss = args->out[1];
	int64_t width = args->size[0], vocab = args->size[1];
	for (int64_t row = first; row < last; row++) {
		const ELEM *x = logits + row * width;
		lse[row] = row_lse(x, vocab);
		loss[row] = 0;
		if (target[row] >= vocab)
			cpu_bad_index("cross_entropy", row, target[row], vocab);
		else if (target[row] >= 0)
			loss[row] = lse[row] - (double)real_of(x[target[row]]);
	}
}

KERNEL(cross_entropy_backward)
{
	const ELEM *logits = args->in[0];
	const int32_t *target = args->in[1];
	const double *lse = args->in[2];
	ELEM *dlogits = args->out[0];
	int64_t width = args->size[0], vocab = args->size[1];
	for (int64_t row = first; row < last; row++) {
		bool counted = target[row] >= 0, bad = target[row] >= vocab;
		row_slope(logits + row * width, dlogits + row * width, lse[row],
			  counted ? vocab : 0, counted && !bad ? target[row] : -1, width);
		if (bad)
			cpu_bad_index("cross_entropy_backward", row, target[row], vocab);
	}
}

/* Columns of a part that are real: sizes are those of the rows vocab_*. */
INLINE int64_t part_columns(const struct rt_args *args)
{
	int64_t real = args->size[1] - args->size[2];
	return real < 0 ? 0 : least(real, args->size[0]);
}

KERNEL(vocab_max)
{
	const ELEM *logits = args->in[0];
	double *max = args->out[0];
	int64_t count = part_columns(args);
	for (int64_t row = first; row < last; row++)
		max[row] = count > 0 ? (double)tile_most(logits + row * args->size[0], count)
				     : -(double)INFINITY;
}

KERNEL(vocab_sum)
{
	const double *max = args->in[1];
	const int32_t *target = args->in[2];
	double *sum = args->out[0], *label = args->out[1];
	int64_t count = part_columns(args), vocab = args->size[1];
	for (int64_t row = first; row < last; row++) {
		const ELEM *x = (const ELEM *)args->in[0] + row * args->size[0];
		int64_t at = target[row] - args->size[2];
		sum[row] = 0;
		for (int64_t left = 0; left < count; left += TILE)
			sum[row] += tile_sum(x + left, (REAL)max[row], least(TILE, count - left));
		label[row] = target[row] >= 0 && at >= 0 && at < count ? (double)real_of(x[at]) : 0;
		if (target[row] >= vocab)
			cpu_bad_index("vocab_sum", row, target[row], vocab);
	}
}

KERNEL(vocab_loss)
{
	const double *max = args->in[0], *sum = args->in[1], *label = args->in[2];
	const int32_t *target = args->in[3];
	double *lse = args->out[0], *loss = args->out[1];
	for (int64_t row = first; row < last; row++) {
		lse[row] = max[row] + log(sum[row]);
		loss[row] = target[row] < 0 ? 0 : lse[row] - label[row];
	}
}

KERNEL(vocab_backward)
{
	const ELEM *logits = args->in[0];
	const int32_t *target = args->in[1];
	const double *lse = args->in[2];
	ELEM *dlogits = args->out[0];
	int64_t width = args->size[0], vocab = args->size[1], count = part_columns(args);
	for (int64_t row = first; row < last; row++) {
		bool counted = target[row] >= 0;
		int64_t at = target[row] - args->size[2];
		row_slope(logits + row * width, dlogits + row * width, lse[row],
			  counted ? count : 0, counted && at >= 0 && at < count ? at : -1, width);
		if (target[row] >= vocab)
			cpu_bad_index("vocab_backward", row, target[row], vocab);
	}
}
