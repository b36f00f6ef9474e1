/* SPDX-License-Identifier: Apache-2.0 */
#include "core/data.h"

#include <string.h>

#include "base/rt_status.h"
#include "core/rt_core.h"
#include "core/rt_options.h"

/* Sets up to this size are looked at as a whole before the start. */
enum { CHECK_TOKENS = 1 << 24 };

static void cut_windows(struct data_view *view, int64_t length)
{
	view->windows = view->tokens > length ? (view->tokens - 1) / length : 0;
}

static int too_short(const struct data_view *view, const char *what, int64_t length)
{
	const struct data_file *last = &view->set->files[view->set->nfiles - 1];
	return rt_fail("data file `%s`: %lld tokens of %s end at offset %lld, one sample is %lld",
		       last->path, (long long)view->tokens, what, (long long)last->bytes,
		       (long long)length + 1);
}

static int open_held(struct data *data, const struct rt_plan *plan,
		     const struct rt_options *options)
{
	struct data_view *train = &data->train, *held = &data->held;
	if (options->validation != NULL) {
		struct rt_data from = {.kind = plan->validation.glob != NULL ? plan->validation.kind
									     : plan->data.kind,
				       .glob = options->validation};
		if (data_set_open(&data->sets[1], &from, plan->train.vocab) != 0)
			return -1;
		held->set = &data->sets[1];
		held->tokens = held->set->tokens;
	} else if (plan->train.validate_share > 0) {
		held->set = train->set;
		held->tokens = (int64_t)((double)train->tokens * plan->train.validate_share);
		train->tokens -= held->tokens;
		held->first = train->tokens;
	} else {
		return 0;
	}
	cut_windows(held, data->length);
	return held->windows > 0 ? 0 : too_short(held, "held-out data", data->length);
}

static int check_sets(const struct data *data, bool all)
{
	for (int i = 0; i < 2; i++) {
		const struct data_set *set = &data->sets[i];
		if (set->nfiles > 0 && (all || set->tokens <= CHECK_TOKENS))
			if (data_set_check(set) != 0)
				return -1;
	}
	return 0;
}

int data_open(struct data *data, const struct rt_plan *plan, const struct rt_options *options)
{
	struct rt_data from = {.kind = plan->data.kind, .glob = options->data};
	memset(data, 0, sizeof *data);
	data->length = plan->train.tokens;
	if (data_set_open(&data->sets[0], &from, plan->train.vocab) != 0)
		return -1;
	data->train.set = &data->sets[0];
	data->train.tokens = data->sets[0].tokens;
	if (data->train.tokens <= data->length)
		return too_short(&data->train, "data", data->length);
	if (open_held(data, plan, options) != 0)
		return -1;
	cut_windows(&data->train, data->length);
	if (data->train.windows == 0)
		return too_short(&data->train, "training data", data->length);
	return check_sets(data, options->check_data);
}

void data_close(struct data *data)
{
	data_set_close(&data->sets[0]);
	data_set_close(&data->sets[1]);
}

int64_t data_validation_windows(const struct data *data, const struct rt_train *train)
{
	int64_t most = train->validate_batches * train->global_batch;
	return most > 0 && most < data->held.windows ? most : data->held.windows;
}

/* ---- the row of the kernel table ---------------------------------------------------------- */

static void mask(int32_t *tokens, int64_t from, int64_t to, int32_t value)
{
	for (int64_t i = from; tokens != NULL && i < to; i++)
		tokens[i] = value;
}

/* A stage of a pipeline may read only one of tokens and targets. */
static int32_t *row_at(int32_t *at, int64_t offset)
{
	return at != NULL ? at + offset : NULL;
}

static int load_train(struct rt *rt, int64_t sample, const struct rt_load_batch *args, int64_t row)
{
	const struct data_view *view = &rt->data->train;
	int64_t n = rt->step * rt->plan->train.global_batch + sample + row;
	int64_t window = data_order((uint64_t)rt->options->seed, n, view->windows);
	return data_window(view, window, args->length, row_at(args->tokens, row * args->length),
			   row_at(args->targets, row * args->length));
}

static int load_held(struct rt *rt, int64_t window, const struct rt_load_batch *args, int64_t row)
{
	int32_t *tokens = row_at(args->tokens, row * args->length);
	int32_t *targets = row_at(args->targets, row * args->length);
	if (window < rt->source.windows)
		return data_window(&rt->data->held, window, args->length, tokens, targets);
	mask(tokens, 0, args->length, 0);
	mask(targets, 0, args->length, RT_NO_TARGET);
	return 0;
}

static void load_prompt(const struct batch_source *source, const struct rt_load_batch *args)
{
	mask(args->tokens, 0, args->batch * args->length, 0);
	mask(args->targets, 0, args->batch * args->length, RT_NO_TARGET);
	for (int64_t i = 0; args->tokens != NULL && i < source->prompt_length; i++)
		args->tokens[i] = source->prompt[i];
}

int rt_load_batch(struct rt *rt, int stream, const struct rt_at *at,
		  const struct rt_load_batch *args)
{
	(void)stream;
	const struct rt_train *train = &rt->plan->train;
	if (args->length != rt->data->length)
		return rt_fail("load_batch: samples of %lld tokens, the data has %lld",
			       (long long)args->length, (long long)rt->data->length);
	args->control[RT_CONTROL_SAMPLE] = 0;
	if (rt->source.mode == BATCH_PROMPT) {
		load_prompt(&rt->source, args);
		return 0;
	}
	int64_t share = train->global_batch / rt->data_size;
	int64_t sample = rt->data_index * share + at->micro_batch * args->batch;
	int64_t round = at->micro_batch * rt->data_size + rt->data_index;
	if (rt->source.mode == BATCH_TRAIN)
		args->control[RT_CONTROL_SAMPLE] = (double)sample;
	for (int64_t row = 0; row < args->batch; row++) {
		int failed = rt->source.mode == BATCH_TRAIN
				     ? load_train(rt, sample, args, row)
				     : load_held(rt, round * args->batch + row, args, row);
		if (failed)
			return -1;
	}
	return 0;
}
