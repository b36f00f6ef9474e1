/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rate.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

double rate_at(const struct rt_train *train, int64_t step, int64_t steps)
{
	if (step < train->warmup)
		return train->lr * (double)(step + 1) / (double)train->warmup;
	int64_t span = steps - 1 - train->warmup;
	double done = span > 0 ? (double)(step - train->warmup) / (double)span : 0;
	double low = train->lr * train->final_share;
	if (done > 1)
		done = 1;
	switch (train->when) {
	case RT_LINEAR:
		return train->lr + (low - train->lr) * done;
	case RT_COSINE:
		return low + (train->lr - low) * 0.5 * (1 + cos(pi * done));
	case RT_CONSTANT:
		break;
	}
	return train->lr;
}

double rate_correction(double beta, int64_t t)
{
	return 1 - pow(beta, (double)t);
}
