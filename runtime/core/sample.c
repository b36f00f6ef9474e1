/* SPDX-License-Identifier: Apache-2.0 */
/* Text from the model: byte after byte, each from a whole forward pass over the last T bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rt_rand.h"
#include "base/rt_status.h"
#include "core/loop.h"

enum { KINDS = 256 };

int sample_open(struct loop *loop)
{
	const struct rt_options *options = loop->rt->options;
	bool here = loop->rt->data_index == 0 || rt_weights_sliced(loop->rt->plan);
	if (options->sample == NULL || !here)
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

/* Logits of one position; where the vocabulary is cut, each member of its group reads the parts of
 * all. */
static int read_logits(struct rt *rt, int64_t position, int kinds, double *logits)
{
	const struct rt_role *role = rt->role;
	int64_t columns = role->logits_columns;
	bool cut = columns < rt->plan->train.vocab;
	if (cut)
		RT_TRY(comm_barrier(&rt->comm, role->logits_group));
	for (int i = 0; i < kinds; i++) {
		int rank = cut ? rt->comm.groups[role->logits_group].ranks[i / columns] : rt->rank;
		logits[i] = rt_value(rt_layer_of(rt, rank, role->logits, 0), role->logits_type,
				     position * columns + i % columns);
	}
	return cut ? comm_barrier(&rt->comm, role->logits_group) : 0;
}

static int choose(struct rt *rt, int64_t position, int64_t number, int *byte)
{
	int kinds = rt->plan->train.vocab < KINDS ? (int)rt->plan->train.vocab : KINDS;
	double logits[KINDS];
	RT_TRY(read_logits(rt, position, kinds, logits));
	struct rt_rand rand = {.seed = (uint64_t)rt->options->seed, .purpose = RT_RANDOM_SAMPLE};
	*byte = rt->options->temperature <= 0
			? likeliest(logits, kinds)
			: draw(logits, kinds, rt->options->temperature,
			       rt_rand_uniform(&rand, (uint64_t)number));
	return 0;
}

/* The last stage chooses and tells the others. */
static int next_byte(struct rt *rt, int64_t position, int64_t number, int *byte)
{
	const struct rt_plan *plan = rt->plan;
	double *word = rt_sums(rt);
	if (rt->role->logits != NULL)
		RT_TRY(choose(rt, position, number, byte));
	if (plan->stages <= 1)
		return 0;
	if (rt->role->logits != NULL)
		*word = *byte;
	RT_TRY(comm_broadcast(&rt->comm, (int)plan->pipeline_group, word, sizeof *word,
			      (int)plan->stages - 1));
	*byte = (int)*word;
	return 0;
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
		RT_TRY(pipeline_forward(rt, 0));
		int byte = 0;
		RT_TRY(next_byte(rt, window - 1, number, &byte));
		loop->text[loop->text_used++] = (unsigned char)byte;
	}
	if (rt->rank != 0)
		return 0;
	report_say(&loop->report, true, "%s", "sample:\n");
	report_write(&loop->report, loop->text, (size_t)loop->text_used);
	report_write(&loop->report, "\n", 1);
	return 0;
}
