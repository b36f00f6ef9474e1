/* SPDX-License-Identifier: Apache-2.0 */
#include "interpret.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rate.h"
#include "rt/schedule.h"

enum { NOTHING = 0xff };

struct row {
	const char *name;
	uint32_t ins, outs;
	const struct rt_kernel *f32, *f64;
};

static const struct row rows[] = {
#define LIB(name) {#name, 0, 0, NULL, NULL},
#define LOOP(name, block, ins, outs, sizes, scalars)                                               \
	{#name, ins, outs, &rt_##name##_f32, &rt_##name##_f64},
#include "rt/kernels.def"
#undef LIB
#undef LOOP
};

static const uint8_t type_bytes[] = {
#define RT_TYPE(name, bytes, text) bytes,
#include "rt/types.def"
#undef RT_TYPE
};

static const struct buffer *buffer_of(const struct interpret *in, uint32_t buffer)
{
	return &in->program->buffers[buffer];
}

static const struct place *place_of(const struct interpret *in, uint32_t buffer)
{
	return &in->layout->homes[0].places[buffer];
}

static uint64_t round_copy(int64_t index, uint64_t copies, uint64_t stride)
{
	return (uint64_t)index % copies * stride;
}

void *interpret_copy(const struct interpret *in, uint32_t buffer, struct interpret_at at)
{
	const struct buffer *b = buffer_of(in, buffer);
	const struct place *p = place_of(in, buffer);
	return in->arena + p->offset + round_copy(at.layer, b->layers, p->layer_stride) +
	       round_copy(at.slot, b->slots, p->slot_stride) +
	       round_copy(at.level, b->levels, p->level_stride);
}

double interpret_get(const struct interpret *in, uint32_t buffer, struct interpret_at at,
		     uint64_t i)
{
	const void *copy = interpret_copy(in, buffer, at);
	return buffer_of(in, buffer)->type == RT_F64 ? ((const double *)copy)[i]
						     : ((const float *)copy)[i];
}

void interpret_set(const struct interpret *in, uint32_t buffer, struct interpret_at at, uint64_t i,
		   double value)
{
	void *copy = interpret_copy(in, buffer, at);
	if (buffer_of(in, buffer)->type == RT_F64)
		((double *)copy)[i] = value;
	else
		((float *)copy)[i] = (float)value;
}

/* All copies, padding between and behind them included. */
static void fill(struct interpret *in, uint32_t buffer, int byte)
{
	const struct buffer *b = buffer_of(in, buffer);
	const struct place *p = place_of(in, buffer);
	memset(in->arena + p->offset, byte, p->level_stride * b->levels);
}

static void fill_life(struct interpret *in, enum life life)
{
	for (uint32_t i = 0; in->guarded && i < in->program->nbuffers; i++)
		if (buffer_of(in, i)->life == life)
			fill(in, i, NOTHING);
}

/* What the runtime makes before the first step: weights, moments and control words start as zeros.
 */
static void clear_state(struct interpret *in)
{
	for (uint32_t i = 0; i < in->program->graph->nparams; i++) {
		const struct param_buffers *p = &in->program->params[i];
		const uint32_t state[] = {p->weight, p->master, p->moment1, p->moment2};
		for (int k = 0; k < 4; k++)
			if (state[k] != NO_ID)
				fill(in, state[k], 0);
	}
	fill(in, in->role->control, 0);
}

struct interpret *interpret_open(const struct compiled_plan *compiled)
{
	struct interpret *in = calloc(1, sizeof *in);
	const struct rt_device_options options = {.threads = 1, .ranks = 1};
	char fault[RT_DEVICE_FAULT];
	size_t bytes = compiled->layout.homes[0].arena;
	in->program = &compiled->program;
	in->layout = &compiled->layout;
	in->role = &compiled->program.roles[0];
	in->device = cpu_device_open(&options, fault);
	in->arena = aligned_alloc(512, (bytes + 511) / 512 * 512);
	in->before = malloc(bytes);
	if (!in->device || !in->arena || !in->before) {
		fprintf(stderr, "no device or no memory\n");
		exit(2);
	}
	memset(in->arena, NOTHING, bytes);
	clear_state(in);
	return in;
}

void interpret_close(struct interpret *in)
{
	in->device->ops->close(in->device);
	free(in->arena);
	free(in->before);
	free(in);
}

/* ---- one step ------------------------------------------------------------------------------ */

static void *address(const struct interpret *in, const struct use *use, struct interpret_at at)
{
	if (use->buffer == NO_ID)
		return NULL;
	if (use->level_plus)
		at = (struct interpret_at){.level = at.level + use->level_plus};
	at.layer += use->layer_plus;
	return interpret_copy(in, use->buffer, at);
}

static int64_t stream_of(const struct step *step, uint32_t size, struct interpret_at at)
{
	return step->sizes[size].value + (step->stream_by_layer ? at.layer : 0);
}

static int run_loop(struct interpret *in, const struct step *step, struct interpret_at at)
{
	const struct row *row = &rows[step->row];
	enum rt_type type = step->type == RT_I32 ? in->program->compute : step->type;
	struct rt_args args = {0};
	for (uint32_t i = 0; i < row->ins; i++)
		args.in[i] = address(in, &step->uses[i], at);
	for (uint32_t i = 0; i < row->outs; i++)
		args.out[i] = address(in, &step->uses[row->ins + i], at);
	for (uint32_t i = 0; i < step->nsizes; i++)
		args.size[i] = i ? step->sizes[i].value : stream_of(step, 0, at);
	memcpy(args.scalar, step->scalars, sizeof args.scalar);
	return in->device->ops->run(in->device, 0, type == RT_F64 ? row->f64 : row->f32,
				    step->rows.value, &args);
}

static int run_matmul(struct interpret *in, const struct step *step, struct interpret_at at)
{
	const struct use *u = step->uses;
	uint32_t workspace = u[MATMUL_WORKSPACE].buffer;
	struct rt_matmul args = {
		.type = step->type,
		.m = step->sizes[0].value,
		.n = step->sizes[1].value,
		.k = step->sizes[2].value,
		.a = address(in, &u[MATMUL_A], at),
		.b = address(in, &u[MATMUL_B], at),
		.c = address(in, &u[MATMUL_C], at),
		.trans_a = step->flags & STEP_TRANS_A,
		.trans_b = step->flags & STEP_TRANS_B,
		.accumulate = step->flags & STEP_ADDS,
		.epilogue = {.bias = address(in, &u[MATMUL_BIAS], at)},
		.workspace = address(in, &u[MATMUL_WORKSPACE], at),
		.workspace_bytes = (int64_t)buffer_of(in, workspace)->bytes,
	};
	return in->device->ops->matmul(in->device, 0, &args);
}

static struct rt_attend_forward attention(struct interpret *in, const struct step *step,
					  struct interpret_at at)
{
	const struct use *u = step->uses;
	return (struct rt_attend_forward){
		.type = step->type,
		.batch = step->sizes[0].value,
		.tokens = step->sizes[1].value,
		.heads = step->sizes[2].value,
		.kv_heads = step->sizes[3].value,
		.head = step->sizes[4].value,
		.scale = 1 / sqrt((double)step->sizes[4].value),
		.dropout = step->scalars[0],
		.stream_id = stream_of(step, 5, at),
		.causal = step->flags & STEP_CAUSAL,
		.q = address(in, &u[0], at),
		.k = address(in, &u[1], at),
		.v = address(in, &u[2], at),
		.control = address(in, &u[step->nuses - 1], at),
		.out = address(in, &u[3], at),
	};
}

static int run_attend(struct interpret *in, const struct step *step, struct interpret_at at)
{
	const struct use *u = step->uses;
	struct rt_attend_backward args = {.forward = attention(in, step, at)};
	args.forward.lse = address(in, &u[4], at);
	if (step->row == RT_ROW_attend_forward)
		return in->device->ops->attend_forward(in->device, 0, &args.forward);
	args.dout = address(in, &u[5], at);
	args.dq = address(in, &u[6], at);
	args.dk = address(in, &u[7], at);
	args.dv = address(in, &u[8], at);
	return in->device->ops->attend_backward(in->device, 0, &args);
}

static int run_stored(struct interpret *in, const struct step *step, struct interpret_at at)
{
	const struct use *u = step->uses;
	struct rt_attend_stored_backward args = {
		.forward = {.attend = attention(in, step, at),
			    .probabilities = address(in, &u[4], at),
			    .dropped = address(in, &u[5], at),
			    .mask = address(in, &u[6], at)}};
	if (step->row == RT_ROW_attend_stored_forward) {
		args.forward.scores = address(in, &u[7], at);
		return in->device->ops->attend_stored_forward(in->device, 0, &args.forward);
	}
	args.dout = address(in, &u[7], at);
	args.dq = address(in, &u[8], at);
	args.dk = address(in, &u[9], at);
	args.dv = address(in, &u[10], at);
	return in->device->ops->attend_stored_backward(in->device, 0, &args);
}

static int run_load(struct interpret *in, const struct step *step, struct interpret_at at)
{
	int64_t batch = step->sizes[0].value, n = batch * step->sizes[1].value;
	double *control = address(in, &step->uses[2], at);
	memcpy(address(in, &step->uses[0], at), in->tokens + at.micro_batch * n, (size_t)n * 4);
	memcpy(address(in, &step->uses[1], at), in->targets + at.micro_batch * n, (size_t)n * 4);
	control[RT_CONTROL_SAMPLE] = (double)(at.micro_batch * batch);
	return 0;
}

/* Bytes that a step over whole buffers covers, from the address of a use. */
static uint64_t whole_bytes(const struct interpret *in, const struct step *step, uint32_t use)
{
	const struct buffer *b = buffer_of(in, step->uses[use].buffer);
	uint64_t level = place_of(in, step->uses[use].buffer)->level_stride;
	if (step->row == RT_ROW_clear && b->levels > 1)
		return step->uses[use].level_plus ? level : b->levels * level;
	return b->param == NO_ID ? b->bytes : (uint64_t)step->rows.value * type_bytes[b->type];
}

static int run_clear(struct interpret *in, const struct step *step, struct interpret_at at)
{
	struct rt_clear args = {.at = address(in, &step->uses[0], at),
				.bytes = (int64_t)whole_bytes(in, step, 0)};
	return in->device->ops->clear(in->device, 0, &args);
}

static int run_kernel(struct interpret *in, const struct step *step, struct interpret_at at)
{
	switch (step->row) {
	case RT_ROW_matmul:
		return run_matmul(in, step, at);
	case RT_ROW_attend_forward:
	case RT_ROW_attend_backward:
		return run_attend(in, step, at);
	case RT_ROW_attend_stored_forward:
	case RT_ROW_attend_stored_backward:
		return run_stored(in, step, at);
	case RT_ROW_load_batch:
		return run_load(in, step, at);
	case RT_ROW_clear:
		return run_clear(in, step, at);
	default:
		return run_loop(in, step, at);
	}
}

/* ---- guards -------------------------------------------------------------------------------- */

/* Puts what a step may write back to what it was, so that any other change is left over. */
static void excuse(struct interpret *in, const struct step *step, struct interpret_at at,
		   const unsigned char *after)
{
	for (uint32_t i = 0; i < step->nuses; i++) {
		if (!step->uses[i].write)
			continue;
		size_t from =
			(size_t)((unsigned char *)address(in, &step->uses[i], at) - in->arena);
		uint64_t bytes = buffer_of(in, step->uses[i].buffer)->bytes;
		if (step->flags & STEP_WHOLE)
			bytes = whole_bytes(in, step, i);
		memcpy(in->before + from, after + from, bytes);
	}
}

static void check_writes(struct interpret *in, const struct segment *segment, uint32_t s,
			 struct interpret_at at)
{
	size_t bytes = in->layout->homes[0].arena;
	excuse(in, &segment->steps[s], at, in->arena);
	if (!memcmp(in->before, in->arena, bytes))
		return;
	for (size_t i = 0; i < bytes; i++) {
		if (in->before[i] == in->arena[i])
			continue;
		fprintf(stderr, "%s step %u (%s) changes byte %zu, which is not its own\n",
			segment->name->text, s, rows[segment->steps[s].row].name, i);
		in->faults++;
		return;
	}
}

static void poison_fresh(struct interpret *in, uint32_t segment, uint32_t s)
{
	for (uint32_t i = 0; i < in->program->nbuffers; i++) {
		const struct buffer *b = buffer_of(in, i);
		if (b->life == LIFE_SEGMENT && b->segment == segment && b->from == s)
			fill(in, i, NOTHING);
	}
}

static void run_segment(struct interpret *in, uint32_t index, struct interpret_at at)
{
	const struct segment *segment = &in->program->segments[index];
	for (uint32_t s = 0; s < segment->nsteps; s++) {
		if (in->guarded) {
			poison_fresh(in, index, s);
			memcpy(in->before, in->arena, in->layout->homes[0].arena);
		}
		if (segment->steps[s].kind != STEP_KERNEL ||
		    run_kernel(in, &segment->steps[s], at) != 0) {
			fprintf(stderr, "%s step %u: %s\n", segment->name->text, s,
				in->device->fault);
			in->faults++;
		}
		if (in->guarded)
			check_writes(in, segment, s, at);
	}
}

/* ---- walks --------------------------------------------------------------------------------- */

static void run_sweep(struct interpret *in, const struct sweep *sweep, struct interpret_at at)
{
	uint64_t count = sweep->count ? sweep->count : 1;
	at.layer = (int64_t)sweep->first;
	for (uint64_t i = 0; i < count; i++, at.layer += sweep->step)
		for (uint32_t k = 0; k < sweep->ncalls; k++)
			run_segment(in, sweep->calls[k].segment, at);
}

static void run_body(struct interpret *in, const struct body *body, struct interpret_at at)
{
	for (uint32_t i = 0; i < body->nsweeps; i++)
		run_sweep(in, &body->sweeps[i], at);
}

void interpret_control(struct interpret *in, int64_t step)
{
	const struct plan *plan = in->program->plan;
	double *control = interpret_copy(in, in->role->control, (struct interpret_at){0});
	control[RT_CONTROL_LR] = plan->optimizer.lr.f;
	control[RT_CONTROL_CORRECTION1] = rate_correction(plan->optimizer.beta1.f, step + 1);
	control[RT_CONTROL_CORRECTION2] = rate_correction(plan->optimizer.beta2.f, step + 1);
	control[RT_CONTROL_SEED] = (double)plan->train.seed.i;
	control[RT_CONTROL_STEP] = (double)step;
	control[RT_CONTROL_TRAINING] = 1;
}

void interpret_start(struct interpret *in)
{
	run_body(in, &in->role->start, (struct interpret_at){0});
}

void interpret_begin(struct interpret *in)
{
	run_body(in, &in->role->begin, (struct interpret_at){0});
}

static void end_lane(struct interpret *in, uint32_t lane, const struct body *merge)
{
	int64_t level = rt_lane_level(lane);
	for (uint32_t i = 0; i < rt_lane_merges(lane); i++)
		run_body(in, merge, (struct interpret_at){.level = --level});
}

void interpret_turns(struct interpret *in, uint32_t first, uint32_t last)
{
	const struct rt_schedule *schedule = &in->role->schedule;
	uint32_t length = schedule->micro_batches / in->role->lanes;
	for (uint32_t i = 0; i < rt_schedule_turns(schedule); i++) {
		struct rt_turn turn = rt_schedule_turn(schedule, 0, i);
		uint32_t lane = turn.micro_batch / length;
		struct interpret_at at = {.slot = turn.slot,
					  .level = rt_lane_level(lane),
					  .micro_batch = turn.micro_batch};
		if (turn.micro_batch < first || turn.micro_batch >= last)
			continue;
		fill_life(in, turn.backward ? LIFE_TURN : LIFE_SLOT);
		run_body(in, turn.backward ? &in->role->backward : &in->role->forward, at);
		if ((turn.micro_batch + 1) % length == 0)
			end_lane(in, lane,
				 turn.backward ? &in->role->merge : &in->role->merge_sums);
	}
}

void interpret_update(struct interpret *in, bool weights)
{
	struct body body = in->role->update;
	body.nsweeps -= !weights;
	run_body(in, &body, (struct interpret_at){0});
}

void interpret_step(struct interpret *in, int64_t step)
{
	interpret_control(in, step);
	interpret_begin(in);
	interpret_turns(in, 0, in->role->schedule.micro_batches);
	interpret_update(in, false);
}

double interpret_loss(struct interpret *in)
{
	struct interpret_at at = {0};
	double *sums = interpret_copy(in, in->role->sums, at);
	sums[0] = sums[1] = 0;
	for (uint32_t i = 0; i < in->role->schedule.micro_batches; i++) {
		at.micro_batch = i;
		run_body(in, &in->role->forward, at);
	}
	return sums[0];
}
