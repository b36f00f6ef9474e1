/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table by index, and their gradients. */
#include "device/cpu/real.h"

KERNEL(lookup)
{
	const int32_t *index = args->in[0];
	const REAL *weight = args->in[1];
	REAL *y = args->out[0];
	int64_t width = args->size[0], limit = args->size[1];
	for (int64_t row = first; row < last; row++) {
		if (index[row] < 0 || index[row] >= limit) {
			cpu_bad_index("lookup", row, index[row], limit);
			continue;
		}
		memcpy(y + row * width, weight + index[row] * width, (size_t)width * sizeof(REAL));
	}
}

/* to += from */
INLINE void add_token(REAL *to, const REAL *from, int64_t width)
{
	PARALLEL_LOOP
	for (int64_t i = 0; i < width; i++)
		to[i] += from[i];
}

/* Each call looks through all indices and takes those of its rows: a weight row is written by one
 * thread, in the order of the tokens. */
KERNEL(lookup_backward)
{
	const int32_t *index = args->in[0];
	const REAL *dy = args->in[1];
	REAL *dweight = args->out[0];
	int64_t width = args->size[0], n = args->size[1];
	for (int64_t token = 0; token < n; token++) {
		if (index[token] >= first && index[token] < last)
			add_token(dweight + index[token] * width, dy + token * width, width);
	}
}

KERNEL(lookup_part)
{
	const int32_t *index = args->in[0];
	const REAL *weight = args->in[1];
	REAL *y = args->out[0];
	int64_t width = args->size[0], limit = args->size[1], here = args->size[2];
	for (int64_t row = first; row < last; row++) {
		int64_t from = index[row] - args->size[3];
		if (index[row] < 0 || index[row] >= limit)
			cpu_bad_index("lookup_part", row, index[row], limit);
		else if (from >= 0 && from < here)
			memcpy(y + row * width, weight + from * width,
			       (size_t)width * sizeof(REAL));
		else
			memset(y + row * width, 0, (size_t)width * sizeof(REAL));
	}
}

KERNEL(lookup_part_backward)
{
	const int32_t *index = args->in[0];
	const REAL *dy = args->in[1];
	REAL *dweight = args->out[0];
	int64_t width = args->size[0], n = args->size[1], limit = args->size[2];
	for (int64_t token = 0; token < n; token++) {
		int64_t to = index[token] - args->size[3];
		if (index[token] < limit && to >= first && to < last)
			add_token(dweight + to * width, dy + token * width, width);
	}
}

KERNEL(position)
{
	int32_t *index = args->out[0];
	for (int64_t row = first; row < last; row++)
		index[row] = (int32_t)(args->size[0] + row);
}
