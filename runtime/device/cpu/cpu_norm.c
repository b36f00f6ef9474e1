/* SPDX-License-Identifier: Apache-2.0 */
/* Norms of rows. Statistics are summed in double and kept in S; backward uses the kept values. */
#include <math.h>

#include "device/cpu/real.h"

enum { TILE = 64 };

KERNEL(layernorm)
{
	const ELEM *x = args->in[0], *weight = args->in[1], *bias = args->in[2];
	ELEM *y = args->out[0];
	REAL *means = args->out[1], *rstds = args->out[2];
	int64_t width = args->size[0];
	for (int64_t row = first; row < last; row++) {
		const ELEM *in = x + row * width;
		ELEM *out = y + row * width;
		double sum, square;
		ROW_SUM(sum, width, ROW(in));
		double middle = sum / (double)width;
		ROW_SUM(square, width, (ROW(in) - middle) * (ROW(in) - middle));
		REAL mean = means[row] = (REAL)middle;
		REAL rstd = rstds[row] = (REAL)(1 / sqrt(square / (double)width + args->scalar[0]));
		PARALLEL_LOOP
		for (int64_t i = 0; i < width; i++)
			out[i] = elem_of((real_of(in[i]) - mean) * rstd * real_of(weight[i]) +
					 real_of(bias[i]));
	}
}

/* dx = rstd (g - mean(g) - n mean(g n)) with g = dy weight, n = (x - mean) rstd. */
static void layernorm_row(const ELEM *x, const ELEM *weight, REAL mean, REAL rstd, const ELEM *dy,
			  ELEM *dx, int64_t width)
{
	double sum, along;
	double middle = mean;
	ROW_SUM(sum, width, ROW(dy) * ROW(weight));
	ROW_SUM(along, width, ROW(dy) * ROW(weight) * (ROW(x) - middle));
	REAL shift = (REAL)(sum / (double)width), slope = (REAL)(along * rstd / (double)width);
	PARALLEL_LOOP
	for (int64_t i = 0; i < width; i++)
		dx[i] = elem_of(rstd * (real_of(dy[i]) * real_of(weight[i]) - shift -
					(real_of(x[i]) - mean) * rstd * slope));
}

/* Sums of columns [left, left + TILE) over the rows of one block. */
static void layernorm_columns(const struct rt_args *args, int64_t first, int64_t last, int64_t left,
			      double *dweight, double *dbias)
{
	const REAL *means = args->in[2], *rstds = args->in[3];
	int64_t width = args->size[0], count = least(TILE, width - left);
	for (int64_t row = first; row < last; row++) {
		const ELEM *x = (const ELEM *)args->in[0] + row * width + left;
		const ELEM *dy = (const ELEM *)args->in[4] + row * width + left;
		double mean = means[row], rstd = rstds[row];
		PARALLEL_LOOP
		for (int64_t i = 0; i < count; i++) {
			dweight[i] += real_of(dy[i]) * (((double)real_of(x[i]) - mean) * rstd);
			dbias[i] += real_of(dy[i]);
		}
	}
}

static void store_sums(REAL *out, const double *sums, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		out[i] = (REAL)sums[i];
}

KERNEL(layernorm_backward)
{
	const ELEM *x = args->in[0], *weight = args->in[1], *dy = args->in[4];
	const REAL *mean = args->in[2], *rstd = args->in[3];
	int64_t width = args->size[0], block = CPU_BLOCK_layernorm_backward;
	for (int64_t row = first; row < last; row += block) {
		int64_t end = least(row + block, last);
		int64_t partial = row / block * width;
		for (int64_t left = 0; left < width; left += TILE) {
			double dweight[TILE] = {0}, dbias[TILE] = {0};
			int64_t count = least(TILE, width - left);
			layernorm_columns(args, row, end, left, dweight, dbias);
			store_sums((REAL *)args->out[1] + partial + left, dweight, count);
			store_sums((REAL *)args->out[2] + partial + left, dbias, count);
		}
		for (int64_t r = row; r < end; r++)
			layernorm_row(x + r * width, weight, mean[r], rstd[r], dy + r * width,
				      (ELEM *)args->out[0] + r * width, width);
	}
}

KERNEL(rmsnorm)
{
	const ELEM *x = args->in[0], *weight = args->in[1];
	ELEM *y = args->out[0];
	REAL *rstds = args->out[1];
	int64_t width = args->size[0];
	for (int64_t row = first; row < last; row++) {
		const ELEM *in = x + row * width;
		ELEM *out = y + row * width;
		double square;
		ROW_SUM(square, width, ROW(in) * ROW(in));
		REAL rstd = rstds[row] = (REAL)(1 / sqrt(square / (double)width + args->scalar[0]));
		PARALLEL_LOOP
		for (int64_t i = 0; i < width; i++)
			out[i] = elem_of(real_of(in[i]) * rstd * real_of(weight[i]));
	}
}

/* dx = rstd (g - n mean(g n)) with g = dy weight, n = x rstd. */
static void rmsnorm_row(const ELEM *x, const ELEM *weight, REAL rstd, const ELEM *dy, ELEM *dx,
			int64_t width)
{
	double along;
	ROW_SUM(along, width, ROW(dy) * ROW(weight) * ROW(x));
	REAL slope = (REAL)(along * rstd / (double)width);
	PARALLEL_LOOP
	for (int64_t i = 0; i < width; i++)
		dx[i] = elem_of(rstd * (real_of(dy[i]) * real_of(weight[i]) -
					real_of(x[i]) * rstd * slope));
}

static void rmsnorm_columns(const struct rt_args *args, int64_t first, int64_t last, int64_t left,
			    double *dweight)
{
	const REAL *rstds = args->in[2];
	int64_t width = args->size[0], count = least(TILE, width - left);
	for (int64_t row = first; row < last; row++) {
		const ELEM *x = (const ELEM *)args->in[0] + row * width + left;
		const ELEM *dy = (const ELEM *)args->in[3] + row * width + left;
		double rstd = rstds[row];
		PARALLEL_LOOP
		for (int64_t i = 0; i < count; i++)
			dweight[i] += real_of(dy[i]) * ((double)real_of(x[i]) * rstd);
	}
}

KERNEL(rmsnorm_backward)
{
	const ELEM *x = args->in[0], *weight = args->in[1], *dy = args->in[3];
	const REAL *rstd = args->in[2];
	int64_t width = args->size[0], block = CPU_BLOCK_rmsnorm_backward;
	for (int64_t row = first; row < last; row += block) {
		int64_t end = least(row + block, last);
		int64_t partial = row / block * width;
		for (int64_t left = 0; left < width; left += TILE) {
			double dweight[TILE] = {0};
			rmsnorm_columns(args, row, end, left, dweight);
			store_sums((REAL *)args->out[1] + partial + left, dweight,
				   least(TILE, width - left));
		}
		for (int64_t r = row; r < end; r++)
			rmsnorm_row(x + r * width, weight, rstd[r], dy + r * width,
				    (ELEM *)args->out[0] + r * width, width);
	}
}
