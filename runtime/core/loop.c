/* SPDX-License-Identifier: Apache-2.0 */
#include "core/loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/rt_status.h"
#include "comm/wait.h"
#include "core/rate.h"

enum { TEST_SECONDS = 30 };

/* Where parameters are cut, rank 0 reads the arenas of others: they have written before a meeting,
 * and write again after the next one. */
static int meet(struct loop *loop)
{
	struct rt_comm *comm = &loop->rt->comm;
	return rt_params_cut(loop->rt->plan) ? comm_barrier(comm, comm->ngroups - 1) : 0;
}

static int write_weights(struct loop *loop, const char *path, enum weights_part part, double factor)
{
	if (path == NULL)
		return 0;
	RT_TRY(meet(loop));
	if (loop->rt->rank == 0) {
		world_writing(loop->rt->world, path);
		RT_TRY(weights_write(loop->rt, path, part, factor));
		world_writing(loop->rt->world, NULL);
	}
	return meet(loop);
}

static int dump_gradients(struct loop *loop)
{
	double count = rt_control_block(loop->rt)[RT_CONTROL_COUNT];
	return write_weights(loop, loop->rt->options->dump_gradients, WEIGHTS_GRADIENTS,
			     count > 0 ? 1 / count : 0);
}

/* All ranks stop at the same step: each tells whether it has seen a signal, or that nobody reads
 * its lines any more; all read all. */
static int agree_to_stop(struct loop *loop, bool *stop)
{
	struct world *world = loop->rt->world;
	uint64_t round;
	bool asked = world_stop(world) != 0 || loop->report.lost != 0;
	RT_TRY(loop_gather(loop, asked, &round));
	*stop = false;
	for (int rank = 0; rank < world->ranks; rank++)
		*stop = *stop || world_read(world, round, rank) != 0;
	return 0;
}

static bool validates(const struct rt *rt)
{
	return rt->data->held.windows > 0 &&
	       (rt->plan->train.validate_every > 0 || rt->options->validation != NULL);
}

static int validate(struct loop *loop)
{
	double loss;
	RT_TRY(step_validate(loop->rt, &loss));
	loop->validated = loop->done;
	return report_validation(&loop->report, loop->done, loss);
}

static bool due(int64_t every, int64_t done)
{
	return every > 0 && done % every == 0;
}

/* Every rank measures itself, rank 0 tells. A round at a time: what is posted next overwrites. */
static int tell_memory(struct loop *loop)
{
	struct memory_use use;
	memory_measure(loop->rt, &use);
	for (int i = 0; i < 2; i++) {
		uint64_t round;
		RT_TRY(loop_gather(loop, (uint64_t)(i ? use.outside : use.arena), &round));
		for (int rank = 0; loop->report.ranks && rank < loop->rt->world->ranks; rank++) {
			int64_t bytes = (int64_t)world_read(loop->rt->world, round, rank);
			*(i ? &loop->report.ranks[rank].outside
			    : &loop->report.ranks[rank].arena) = bytes;
		}
	}
	return report_memory(&loop->report, &use);
}

static int after_step(struct loop *loop)
{
	const struct rt_options *options = loop->rt->options;
	if (loop->done == 1) {
		RT_TRY(dump_gradients(loop));
		RT_TRY(tell_memory(loop));
	}
	if (due(options->check_replicas, loop->done))
		RT_TRY(replicas_check(loop));
	if (validates(loop->rt) && due(loop->rt->plan->train.validate_every, loop->done))
		RT_TRY(validate(loop));
	if (due(options->save_every, loop->done) && loop->done < loop->steps)
		RT_TRY(write_weights(loop, options->save, WEIGHTS_VALUES, 1));
	return 0;
}

static int one_step(struct loop *loop)
{
	struct rt *rt = loop->rt;
	struct report_step step = {0};
	double start = wait_clock();
	rt->step = loop->done;
	RT_TRY(step_run(rt, rate_at(&rt->plan->train, rt->step, loop->steps), &step));
	step.seconds = wait_clock() - start;
	loop->done++;
	bool tensors = rt->options->log_tensors && rt->options->log != NULL;
	if (tensors)
		RT_TRY(meet(loop));
	RT_TRY(report_step(&loop->report, &step));
	return tensors ? meet(loop) : 0;
}

/* *stopped: before the last step. */
static int train(struct loop *loop, bool *stopped)
{
	while (loop->done < loop->steps) {
		world_step(loop->rt->world, loop->done);
		RT_TRY(agree_to_stop(loop, stopped));
		if (*stopped)
			return 0;
		RT_TRY(one_step(loop));
		RT_TRY(after_step(loop));
	}
	return 0;
}

/* A dry run is there for its memory: what differs from the prediction is an error. */
static int finish_dry_run(const struct loop *loop, const struct memory_use *use)
{
	if (use->arena == loop->rt->role->arena)
		return 0;
	return rt_fail("the arena has %lld bytes in memory, %lld were predicted",
		       (long long)use->arena, (long long)loop->rt->role->arena);
}

static int finish(struct loop *loop, bool stopped)
{
	const struct rt_options *options = loop->rt->options;
	struct memory_use use = {0};
	memory_measure(loop->rt, &use);
	if (options->dry_run)
		return finish_dry_run(loop, &use) != 0 ? -1 : report_lost(&loop->report);
	if (!stopped && validates(loop->rt) && loop->validated != loop->done)
		RT_TRY(validate(loop));
	RT_TRY(write_weights(loop, options->save, WEIGHTS_VALUES, 1));
	if (!stopped)
		RT_TRY(sample_run(loop));
	if (stopped)
		report_say(&loop->report, false, "stopped after %lld steps\n",
			   (long long)loop->done);
	RT_TRY(meet(loop));
	RT_TRY(loop->rt->rank == 0 ? report_end(&loop->report, loop->done, &use) : 0);
	return report_lost(&loop->report);
}

static int begin(struct loop *loop, const struct weights_file *init)
{
	struct rt *rt = loop->rt;
	RT_TRY(comm_test(&rt->comm, TEST_SECONDS));
	RT_TRY(report_open(&loop->report, rt, loop->steps));
	RT_TRY(sample_open(loop));
	report_start(&loop->report);
	weights_draw(rt);
	if (init != NULL)
		RT_TRY(weights_read(rt, init));
	weights_warm();
	return rt->role->start != NULL ? rt->role->start(rt) : 0;
}

int loop_run(struct rt *rt, const struct weights_file *init)
{
	struct loop loop = {.rt = rt, .validated = -1};
	bool stopped = false;
	loop.steps = rt->options->dry_run ? 1 : rt->options->steps;
	int failed = begin(&loop, init) != 0 || train(&loop, &stopped) != 0 ||
		     finish(&loop, stopped) != 0;
	report_close(&loop.report);
	free(loop.text);
	return failed ? -1 : 0;
}
