/* SPDX-License-Identifier: Apache-2.0 */
/* Norms of rows. Statistics are summed in double and kept in T; backward uses the kept values. */
#include <math.h>

#include "device/cpu/real.h"

enum { TILE = 64 };

KERNEL(layernorm)
{
	const REAL *x = args->in[0], *weight = args->in[1], *bias = args->in[2];
	REAL *y = args->out[0], *means = args->out[1], *rstds = args->out[2];
	int64_t width = args->size[0];
	for (int64_t row = first; row < last; row++) {
		const REAL *in = x + row * width;
		REAL *out = y + row * width;
		double sum, square;
		ROW_SUM(sum, width, ROW(in));
		double middle = sum / (double)width;
		ROW_SUM(square, width, (ROW(in) - middle) * (ROW(in) - middle));
		REAL mean = means[row] = (REAL)middle;
		REAL rstd = rstds[row] = (REAL)(1 / sqrt(square / (double)width + args->scalar[0]));
		PARALLEL_LOOP
		for (int64_t i = 0; i < width; i++)
			out[i] = (in[i] - mean) * rstd * weight[i] + bias[i];
	}
}

/* dx = rstd (g - mean(g) - n mean(g n)) with g = dy weight, n = (x - mean) rstd. */
static void layernorm_row(const REAL *x, const REAL *weight, REAL mean, REAL rstd, const REAL *dy,
			  REAL *dx, int64_t width)
{
	double sum, along;
	double middle = mean;
	ROW_SUM(sum, width, ROW(dy) * ROW(weight));
	ROW_SUM(along, width, ROW(dy) * ROW(weight) * (ROW(x) - middle));
	REAL shift = (REAL)(sum / (double)width), slope = (REAL)(along * rstd / (double)width);
	PARALLEL_LOOP
	for (int64_t i = 0; i < width; i++)
		dx[i] = rstd * (dy[i] * weight[i] - shift - (x[i] - mean) * rstd * slope);
}

/* Sums of columns [left, left + TILE) over the rows of one block. */
static void layernorm_columns(const struct rt_args *args, int64_t first, int64_t last, int64_t left,
			      double *dweight, double *dbias)
{
	const REAL *means = args->in[2], *rstds = args->in[3];
	int64_t width = args->size[0], count = least(TILE, width - left);
	for (int64_t row = first; row < last; row++) {
		const REAL *x = (const REAL *)args->in[0] + row * width + left;
		const REAL *dy = (const REAL *)args->in[4] + row * width + left;
		double mean = means[row], rstd = rstds[row];
		PARALLEL_LOOP
		for (int64_t i = 0; i < count; i++) {
			dweight[i] += dy[i] * (((double)x[i] - mean) * rstd);
			dbias[i] += dy[i];
		}
	}
}

static void narrow(REAL *out, const double *sums, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		out[i] = (REAL)sums[i];
}

KERNEL(layernorm_backward)
{
	const REAL *x = args->in[0], *weight = args->in[1], *mean = args->in[2];
	const REAL *rstd = args->in[3], *dy = args->in[4];
	int64_t width = args->size[0], block = CPU_BLOCK_layernorm_backward;
	for (int64_t row = first; row < last; row += block) {
		int64_t end = least(row + block, last);
		int64_t partial = row / block * width;
		for (int64_t left = 0; left < width; left += TILE) {
			double dweight[TILE] = {0}, dbias[TILE] = {0};
			int64_t count = least(TILE, width - left);
			layernorm_columns(args, row, end, left, dweight, dbias);
			narrow((REAL *)args->out[1] + partial + left, dweight, count);
			narrow((REAL *)args->out[2] + partial + left, dbias, count);
		}
		for (int64_t r = row; r < end; r++)
			layernorm_row(x + r * width, weight, mean[r], rstd[r], dy + r * width,
				      (REAL *)args->out[0] + r * width, width);
	}
}

KERNEL(rmsnorm)
{
	const REAL *x = args->in[0], *weight = args->in[1];
	REAL *y = args->out[0], *rstds = args->out[1];
	int64_t width = args->size[0];
	for (int64_t row = first; row < last; row++) {
		const REAL *in = x + row * width;
		REAL *out = y + row * width;
		double square;
		ROW_SUM(square, width, ROW(in) * ROW(in));
		REAL rstd = rstds[row] = (REAL)(1 / sqrt(square / (double)width + args->scalar[0]));
		PARALLEL_LOOP
		for (int64_t i = 0; i < width; i++)
			out[i] = in[i] * rstd * weight[i];
	}
}

/* dx = rstd (g - n mean(g n)) with g = dy weight, n = x rstd. */
static void rmsnorm_row(const REAL *x, const REAL *weight, REAL rstd, const REAL *dy, REAL *dx,
			int64_t width)
{
	double along;
	ROW_SUM(along, width, ROW(dy) * ROW(weight) * ROW(x));
	REAL slope = (REAL)(along * rstd / (double)width);
	PARALLEL_LOOP
	for (int64_t i = 0; i < width; i++)
		dx[i] = rstd * (dy[i] * weight[i] - x[i] * rstd * slope);
}

static void rmsnorm_columns(const struct rt_args *args, int64_t first, int64_t last, int64_t left,
			    double *dweight)
{
	const REAL *rstds = args->in[2];
	int64_t width = args->size[0], count = least(TILE, width - left);
	for (int64_t row = first; row < last; row++) {
		const REAL *x = (const REAL *)args->in[0] + row * width + left;
		const REAL *dy = (const REAL *)args->in[3] + row * width + left;
		double rstd = rstds[row];
		PARALLEL_LOOP
		for (int64_t i = 0; i < count; i++)
			dweight[i] += dy[i] * ((double)x[i] * rstd);
	}
}

KERNEL(rmsnorm_backward)
{
	const REAL *x = args->in[0], *weight = args->in[1], *rstd = args->in[2], *dy = args->in[3];
	int64_t width = args->size[0], block = CPU_BLOCK_rmsnorm_backward;
	for (int64_t row = first; row < last; row += block) {
		int64_t end = least(row + block, last);
		int64_t partial = row / block * width;
		for (int64_t left = 0; left < width; left += TILE) {
			double dweight[TILE] = {0};
			rmsnorm_columns(args, row, end, left, dweight);
			narrow((REAL *)args->out[1] + partial + left, dweight,
			       least(TILE, width - left));
		}
		for (int64_t r = row; r < end; r++)
			rmsnorm_row(x + r * width, weight, rstd[r], dy + r * width,
				    (REAL *)args->out[0] + r * width, width);
	}
}
