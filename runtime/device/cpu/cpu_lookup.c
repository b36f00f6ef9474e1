/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table by index, and their gradients. */
#include "device/cpu/real.h"

KERNEL(lookup)
{
	const int32_t *index = args->in[0];
	const ELEM *weight = args->in[1];
	ELEM *y = args->out[0];
	int64_t width = args->size[0], limit = args->size[1];
	for (int64_t row = first; row < last; row++) {
		if (index[row] == RT_NO_TARGET)
			memset(y + row * width, 0, (size_t)width * sizeof(ELEM));
		else if (index[row] < 0 || index[row] >= limit)
			cpu_bad_index("lookup", row, index[row], limit);
		else
			memcpy(y + row * width, weight + index[row] * width,
			       (size_t)width * sizeof(ELEM));
	}
}

enum { ROWS = 32, TILE = 256 };

/* Columns of weight rows that a tile of gradients is summed for; a row starts at its first token.
 */
struct sums {
	REAL sum[ROWS][TILE];
	bool started[ROWS];
};

INLINE void add_token(REAL *restrict sum, const ELEM *restrict from, int64_t count)
{
	PARALLEL_LOOP
	for (int64_t i = 0; i < count; i++)
		sum[i] += real_of(from[i]);
}

/* Adds dy[token] to row index[token] - start of dweight for the rows [first, last) of a block, in
 * the order of the tokens; indices from `limit` on are left out. Each block looks through all
 * indices: a weight row is written by one thread. */
static void add_block(const struct rt_args *args, int64_t first, int64_t last, int64_t limit,
		      int64_t start)
{
	const int32_t *index = args->in[0];
	int64_t width = args->size[0], n = args->size[1];
	for (int64_t left = 0; left < width; left += TILE) {
		const ELEM *dy = (const ELEM *)args->in[1] + left;
		GRAD *dweight = (GRAD *)args->out[0] + first * width + left;
		int64_t count = least(TILE, width - left);
		struct sums s;
		memset(s.started, 0, sizeof(s.started));
		for (int64_t token = 0; token < n; token++) {
			int64_t row = index[token] - start - first;
			if (index[token] >= limit || row < 0 || row >= last - first)
				continue;
			for (int64_t i = 0; !s.started[row] && i < count; i++)
				s.sum[row][i] = grad_real(dweight[row * width + i]);
			s.started[row] = true;
			add_token(s.sum[row], dy + token * width, count);
		}
		for (int64_t row = 0; row < last - first; row++) {
			for (int64_t i = 0; s.started[row] && i < count; i++)
				dweight[row * width + i] = grad_of(s.sum[row][i]);
		}
	}
}

KERNEL(lookup_backward)
{
	for (int64_t row = first; row < last; row += ROWS)
		add_block(args, row, least(row + ROWS, last), INT64_MAX, 0);
}

KERNEL(lookup_part_backward)
{
	for (int64_t row = first; row < last; row += ROWS)
		add_block(args, row, least(row + ROWS, last), args->size[2], args->size[3]);
}

KERNEL(lookup_part)
{
	const int32_t *index = args->in[0];
	const ELEM *weight = args->in[1];
	ELEM *y = args->out[0];
	int64_t width = args->size[0], limit = args->size[1], here = args->size[2];
	for (int64_t row = first; row < last; row++) {
		int64_t from = index[row] - args->size[3];
		if (index[row] != RT_NO_TARGET && (index[row] < 0 || index[row] >= limit))
			cpu_bad_index("lookup_part", row, index[row], limit);
		else if (from >= 0 && from < here)
			memcpy(y + row * width, weight + from * width,
			       (size_t)width * sizeof(ELEM));
		else
			memset(y + row * width, 0, (size_t)width * sizeof(ELEM));
	}
}

KERNEL(position)
{
	int32_t *index = args->out[0];
	for (int64_t row = first; row < last; row++)
		index[row] = (int32_t)(args->size[0] + row);
}
