/* SPDX-License-Identifier: Apache-2.0 */
/* Text from the model: byte after byte, each from a whole forward pass over the last T bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rt_rand.h"
#include "base/rt_status.h"
#include "core/loop.h"

enum { KINDS = 256 };

int sample_open(struct loop *loop)
{
	const struct rt_options *options = loop->rt->options;
	if (options->sample == NULL || loop->rt->rank != 0)
		return 0;
	loop->text_used = (int64_t)strlen(options->sample);
	loop->text_room = loop->text_used + options->sample_bytes;
	loop->text = malloc((size_t)loop->text_room + 1);
	if (loop->text == NULL)
		return rt_fail("out of memory for a sample of %lld bytes",
			       (long long)loop->text_room);
	memset(loop->text, 0, (size_t)loop->text_room + 1);
	memcpy(loop->text, options->sample, (size_t)loop->text_used);
	return 0;
}

static int likeliest(const double *logits, int kinds)
{
	int best = 0;
	for (int i = 1; i < kinds; i++)
		if (logits[i] > logits[best])
			best = i;
	return best;
}

/* `uniform` in [0, 1) cuts the cumulated softmax of logits / temperature. */
static int draw(const double *logits, int kinds, double temperature, double uniform)
{
	double share[KINDS], sum = 0, most = logits[likeliest(logits, kinds)];
	for (int i = 0; i < kinds; i++) {
		share[i] = exp((logits[i] - most) / temperature);
		sum += share[i];
	}
	double left = uniform * sum;
	for (int i = 0; i < kinds; i++) {
		left -= share[i];
		if (left < 0)
			return i;
	}
	return likeliest(logits, kinds);
}

static int next_byte(struct rt *rt, int64_t position, int64_t number)
{
	const struct rt_role *role = rt->role;
	const unsigned char *base = rt_layer(rt, role->logits, 0);
	const void *row = base + position * role->logits_columns * rt_type_bytes(role->logits_type);
	int kinds = rt->plan->train.vocab < KINDS ? (int)rt->plan->train.vocab : KINDS;
	double logits[KINDS];
	for (int i = 0; i < kinds; i++)
		logits[i] = rt_value(row, role->logits_type, i);
	if (rt->options->temperature <= 0)
		return likeliest(logits, kinds);
	struct rt_rand rand = {.seed = (uint64_t)rt->options->seed, .purpose = RT_RANDOM_SAMPLE};
	return draw(logits, kinds, rt->options->temperature,
		    rt_rand_uniform(&rand, (uint64_t)number));
}

int sample_run(struct loop *loop)
{
	struct rt *rt = loop->rt;
	if (loop->text == NULL)
		return 0;
	int64_t length = rt->plan->train.tokens;
	rt_control_block(rt)[RT_CONTROL_TRAINING] = 0;
	for (int64_t number = 0; loop->text_used < loop->text_room; number++) {
		int64_t window = loop->text_used < length ? loop->text_used : length;
		rt->source = (struct batch_source){.mode = BATCH_PROMPT,
						   .prompt = loop->text + loop->text_used - window,
						   .prompt_length = window};
		RT_TRY(rt->role->forward(rt, &(struct rt_at){0}));
		loop->text[loop->text_used++] = (unsigned char)next_byte(rt, window - 1, number);
	}
	report_say(&loop->report, true, "%s", "sample:\n");
	rt_write(STDOUT_FILENO, loop->text, (size_t)loop->text_used);
	rt_write(STDOUT_FILENO, "\n", 1);
	return 0;
}
