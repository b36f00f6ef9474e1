/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary positions (Su et al. 2021), with the frequency scaling of Llama 3.1. */
#include <math.h>

#include "device/cpu/real.h"

/* Long waves are slowed by `factor`, short ones stay, those between are mixed; factor 1: none. */
static double frequency(const struct rt_args *args, int64_t pair)
{
	double base = args->scalar[0], factor = args->scalar[1];
	double low = args->scalar[2], high = args->scalar[3], original = args->scalar[4];
	double plain = pow(base, -2.0 * (double)pair / (double)args->size[0]);
	double turns = original * plain / 6.283185307179586;
	if (factor == 1 || turns >= high)
		return plain;
	if (turns <= low)
		return plain / factor;
	double smooth = (turns - low) / (high - low);
	return (1 - smooth) * plain / factor + smooth * plain;
}

KERNEL(rope_table)
{
	REAL *table = args->out[0];
	int64_t pairs = args->size[0] / 2;
	for (int64_t pair = 0; pair < pairs; pair++) {
		double speed = frequency(args, pair);
		for (int64_t row = first; row < last; row++) {
			double angle = (double)(args->size[1] + row) * speed;
			table[(row * pairs + pair) * 2] = (REAL)cos(angle);
			table[(row * pairs + pair) * 2 + 1] = (REAL)sin(angle);
		}
	}
}

KERNEL(rope)
{
	int64_t tokens = args->size[0], heads = args->size[1], half = args->size[2] / 2;
	REAL sign = (REAL)args->scalar[0];
	for (int64_t i = first * heads; i < last * heads; i++) {
		const ELEM *x = (const ELEM *)args->in[0] + i * 2 * half;
		const REAL *turn = (const REAL *)args->in[1] + i / heads % tokens * 2 * half;
		ELEM *y = (ELEM *)args->out[0] + i * 2 * half;
		PARALLEL_LOOP
		for (int64_t j = 0; j < half; j++) {
			REAL cosine = turn[2 * j], sine = sign * turn[2 * j + 1];
			REAL low = real_of(x[j]), high = real_of(x[j + half]);
			y[j] = elem_of(low * cosine - high * sine);
			y[j + half] = elem_of(high * cosine + low * sine);
		}
	}
}
