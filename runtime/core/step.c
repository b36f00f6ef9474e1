/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a step. The walk over turns is the one that planc has proved (rt/schedule.h). */
#include <math.h>

#include "base/rt_status.h"
#include "core/loop.h"
#include "core/rate.h"

static void set_control(struct rt *rt, double lr, bool training)
{
	const struct rt_train *train = &rt->plan->train;
	double *control = rt_control_block(rt);
	control[RT_CONTROL_LR] = lr;
	control[RT_CONTROL_CORRECTION1] = rate_correction(train->beta1, rt->step + 1);
	control[RT_CONTROL_CORRECTION2] = rate_correction(train->beta2, rt->step + 1);
	control[RT_CONTROL_SEED] = (double)rt->options->seed;
	control[RT_CONTROL_STEP] = (double)rt->step;
	control[RT_CONTROL_TRAINING] = training ? 1 : 0;
}

/* Micro-batches of a lane on this rank. */
static int64_t per_lane(const struct rt *rt)
{
	int64_t lanes = rt->plan->train.lanes / rt->data_size;
	return rt->role->schedule.micro_batches / (lanes > 0 ? lanes : 1);
}

/* Lanes that are whole become one, level by level. */
static int end_lane(struct rt *rt, uint32_t lane, struct rt_at at,
		    int (*merge)(struct rt *, const struct rt_at *))
{
	at.level = rt_lane_level(lane);
	for (uint32_t i = 0; merge != NULL && i < rt_lane_merges(lane); i++) {
		at.level--;
		RT_TRY(merge(rt, &at));
	}
	return 0;
}

static int take_turn(struct rt *rt, const struct rt_turn *turn, int64_t lane_length)
{
	const struct rt_role *role = rt->role;
	uint32_t lane = (uint32_t)(turn->micro_batch / lane_length);
	bool ends = (turn->micro_batch + 1) % lane_length == 0;
	struct rt_at at = pipeline_at(rt, turn);
	at.level = rt_lane_level(lane);
	RT_TRY(pipeline_take(rt, turn));
	if (!turn->backward) {
		ends = ends && turn->chunk + 1 == role->schedule.chunks;
		RT_TRY(role->forward(rt, &at));
		return ends ? end_lane(rt, lane, at, role->merge_sums) : 0;
	}
	RT_TRY(role->backward(rt, &at));
	return ends ? end_lane(rt, lane, at, role->merge) : 0;
}

static int check_finite(const double *control)
{
	if (control[RT_CONTROL_FINITE] != 0)
		return 0;
	return rt_fail("not finite: loss %g, gradient norm %g", control[RT_CONTROL_LOSS],
		       control[RT_CONTROL_NORM]);
}

int step_run(struct rt *rt, double lr, struct report_step *out)
{
	const struct rt_train *train = &rt->plan->train;
	const struct rt_schedule *schedule = &rt->role->schedule;
	uint32_t turns = rt_schedule_turns(schedule);
	int64_t lane_length = per_lane(rt);
	rt->source = (struct batch_source){.mode = BATCH_TRAIN};
	set_control(rt, lr, true);
	RT_TRY(rt->role->begin(rt));
	for (uint32_t i = 0; i < turns; i++) {
		struct rt_turn turn = rt->walk.turns ? rt->walk.turns[i]
						     : rt_schedule_turn(schedule, 0, i);
		RT_TRY(pipeline_exchange(rt, i));
		RT_TRY(take_turn(rt, &turn, lane_length));
	}
	RT_TRY(pipeline_exchange(rt, turns));
	RT_TRY(rt->role->update(rt));
	const double *control = rt_control_block(rt);
	out->step = rt->step;
	out->loss = control[RT_CONTROL_LOSS];
	out->norm = control[RT_CONTROL_NORM];
	out->lr = lr;
	out->tokens = (rt->step + 1) * train->global_batch * train->tokens;
	return check_finite(control);
}

int step_validate(struct rt *rt, double *loss)
{
	const struct rt_plan *plan = rt->plan;
	int64_t windows = data_validation_windows(rt->data, &plan->train);
	int64_t round = rt->data_size * plan->train.micro_batch;
	double *sums = rt_sums(rt);
	rt->source = (struct batch_source){.mode = BATCH_VALIDATE, .windows = windows};
	set_control(rt, 0, false);
	RT_TRY(rt_clear(rt, 0, &(struct rt_clear){.at = sums, .bytes = 2 * sizeof *sums}));
	for (int64_t i = 0; i * round < windows; i++)
		RT_TRY(pipeline_forward(rt, i));
	if (rt->data_size > 1)
		RT_TRY(rt_all_reduce(rt, 0, (int)plan->data_group, sums, 2, RT_F64, RT_ORDER_TREE));
	if (plan->stages > 1)
		RT_TRY(rt_all_reduce(rt, 0, (int)plan->pipeline_group, sums, 2, RT_F64,
				     RT_ORDER_TREE));
	*loss = sums[1] > 0 ? sums[0] / sums[1] : 0;
	return isfinite(*loss) ? 0 : rt_fail("not finite: validation loss %g", *loss);
}
