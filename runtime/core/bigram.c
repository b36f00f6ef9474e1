/* SPDX-License-Identifier: Apache-2.0 */
/* What a table of pairs would reach: a yardstick for the validation loss, from the same targets. */
#include <math.h>
#include <stdlib.h>

#include "core/data.h"

enum { KINDS = 256 };

static void count_pairs(const struct data_view *train, int64_t *pairs, int64_t *firsts)
{
	int32_t before = data_token(train->set, train->first);
	for (int64_t i = 1; i < train->tokens; i++) {
		int32_t token = data_token(train->set, train->first + i);
		pairs[before * KINDS + token]++;
		firsts[before]++;
		before = token;
	}
}

double data_bigram(const struct data *data, int64_t windows)
{
	int64_t *pairs = calloc(KINDS * KINDS + KINDS, sizeof *pairs);
	if (pairs == NULL)
		return NAN;
	int64_t *firsts = pairs + KINDS * KINDS, targets = windows * data->length;
	count_pairs(&data->train, pairs, firsts);
	double sum = 0;
	for (int64_t i = 0; i < targets; i++) {
		int32_t before = data_token(data->held.set, data->held.first + i);
		int32_t token = data_token(data->held.set, data->held.first + i + 1);
		sum -= log((double)(pairs[before * KINDS + token] + 1) /
			   (double)(firsts[before] + KINDS));
	}
	free(pairs);
	return targets > 0 ? sum / (double)targets : NAN;
}
