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

/* Each call looks through all indices and takes those of its rows: a weight row is written by one
 * thread, in the order of the tokens. */
KERNEL(lookup_backward)
{
	const int32_t *index = args->in[0];
	const REAL *dy = args->in[1];
	REAL *dweight = args->out[0];
	int64_t width = args->size[0], n = args->size[1];
	for (int64_t token = 0; token < n; token++) {
		if (index[token] < first || index[token] >= last)
			continue;
		REAL *to = dweight + index[token] * width;
		const REAL *from = dy + token * width;
		PARALLEL_LOOP
		for (int64_t i = 0; i < width; i++)
			to[i] += from[i];
	}
}

KERNEL(position)
{
	int32_t *index = args->out[0];
	for (int64_t row = first; row < last; row++)
		index[row] = (int32_t)(args->size[0] + row);
}
