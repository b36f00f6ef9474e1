/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer against its formula in double, and what bf16 weights come to under it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rt_rand.h"
#include "harness.h"

enum { COUNT = 1500 };
static const double scalars[] = {0.9, 0.95, 1e-8, 0.1}; /* betas, eps, decay */

/* `rows` elements; out holds weight, moment1, moment2 from out[first] on. */
static struct call adamw_call(struct call call, int64_t rows, int first)
{
	call.rows = rows;
	call.in[0] = array_random(rows);
	call.in[1] = array_control();
	memcpy(call.scalar, scalars, sizeof(scalars));
	for (int i = 0; i < first + 3; i++)
		call.out[i] = array_random(rows);
	for (int64_t i = 0; i < rows; i++)
		call.out[first + 2].start[i] = fabs(call.out[first + 2].start[i]);
	return call;
}

/* Into want[first], want[first + 1], want[first + 2]. */
static void adamw_want(const struct call *call, int first, double *const *want)
{
	const double *s = call->scalar, *control = call->in[1].value;
	for (int64_t i = 0; i < call->rows; i++) {
		double g = call->in[0].value[i] * control[RT_CONTROL_FACTOR];
		double m = s[0] * call->out[first + 1].start[i] + (1 - s[0]) * g;
		double v = s[1] * call->out[first + 2].start[i] + (1 - s[1]) * g * g;
		double w = call->out[first].start[i];
		double root = sqrt(v / control[RT_CONTROL_CORRECTION2]) + s[2];
		double step = m / control[RT_CONTROL_CORRECTION1] / root + s[3] * w;
		want[first][i] = w - control[RT_CONTROL_LR] * step;
		want[first + 1][i] = m;
		want[first + 2][i] = v;
	}
}

void test_adamw(void)
{
	struct call call = adamw_call((struct call)CALL_MIXED(adamw), COUNT, 0);
	double want[3][COUNT];
	double *const list[RT_MAX_OUT] = {want[0], want[1], want[2]};
	call.in[0].kind = KIND_G;
	adamw_want(&call, 0, list);
	call_check(&call, list, 1e-6);
	call_free(&call);
}

/* What becomes of 768 weights at 1.0 in 100 steps at a learning rate of 6e-4: how many move, and
 * how far on average against the sign of their gradients, which they keep. Betas 0.9 and 0.95, no
 * decay. */
struct journey {
	int moved;
	double mean;
};

static struct journey after_100(struct call start, bool master, enum rt_type type)
{
	enum { WEIGHTS = 768 };
	struct call call = adamw_call(start, WEIGHTS, master);
	struct journey end = {0};
	call.scalar[3] = 0;
	call.size[1] = call.size[2] = WEIGHTS;
	for (int o = 0; o < 3 + master; o++) {
		for (int i = 0; i < WEIGHTS; i++)
			call.out[o].start[i] = o <= master ? 1 : 0;
		if (master && o > 0)
			call.out[o].kind = KIND_S;
	}
	for (int step = 1; step <= 100; step++) {
		double *control = call.in[1].value;
		control[RT_CONTROL_LR] = 6e-4;
		control[RT_CONTROL_FACTOR] = 1;
		control[RT_CONTROL_STEP] = step;
		control[RT_CONTROL_CORRECTION1] = 1 - pow(0.9, step);
		control[RT_CONTROL_CORRECTION2] = 1 - pow(0.95, step);
		for (int i = 0; i < WEIGHTS; i++)
			call.in[0].value[i] =
				(i % 2 ? 1 : -1) * (0.55 + 0.45 * sin(37 * i + 11 * step));
		call_run(&call, type);
		for (int o = 0; o < 3 + master; o++)
			memcpy(call.out[o].start, call.out[o].value, WEIGHTS * sizeof(double));
	}
	for (int i = 0; i < WEIGHTS; i++) {
		double moved = call.out[0].value[i] - 1;
		end.moved += moved != 0;
		end.mean += (i % 2 ? -moved : moved) / WEIGHTS;
	}
	call_free(&call);
	return end;
}

void test_adamw_master(void)
{
	struct call call = adamw_call((struct call)CALL_MIXED(adamw_master), COUNT, 1);
	double want[4][COUNT];
	double *const list[RT_MAX_OUT] = {want[1], want[1], want[2], want[3]};
	call.in[0].kind = KIND_G;
	for (int i = 1; i < 4; i++)
		call.out[i].kind = KIND_S;
	adamw_want(&call, 1, (double *[]){want[0], want[1], want[2], want[3]});
	call_check(&call, list, 1e-6);
	call_free(&call);
	int with = after_100((struct call)CALL(adamw_master), true, RT_BF16).moved;
	int without = after_100((struct call)CALL(adamw), false, RT_BF16).moved;
	if (with < 700)
		fail("adamw_master: %d of 768 weights move", with);
	if (without != 0)
		fail("adamw_bf16: %d of 768 weights move without a master copy", without);
}

/* Neighbours of x in bf16: below (towards zero) and above. */
static double towards_zero(double x)
{
	double near = round_bf16(x);
	return fabs(near) > fabs(x) ? round_bf16(near * (1 - 0x1p-9) - copysign(0x1p-134, x))
				    : near;
}

/* One element of the definition: the word's half decides how the remainder is rounded. */
static double stochastic_of(double x, uint32_t random)
{
	float value = (float)x;
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	uint32_t rest = bits & 0xffff, kept = bits & 0xffff0000;
	float low;
	kept += rest + (random & 0xffff) > 0xffff ? 0x10000 : 0;
	memcpy(&low, &kept, sizeof(low));
	return low;
}

/* bf16 is f32, rounded by the bits of the element's number; parts of a tensor have those of the
 * whole: rows are a slice, from element SLICE on, of a block of columns [5, 38) of each 101, that
 * begins two rows further down. Gradients in bf16 or fp32. */
static void check_rounding(bool wide_gradients)
{
	enum { HERE = 33, ALL = 101, ROW = 2 * ALL, COLUMN = 5, SLICE = 64 };
	const int64_t size[] = {9, HERE, ALL, ROW, COLUMN, SLICE};
	struct call call = adamw_call((struct call)CALL_MIXED(adamw_stochastic), COUNT, 0);
	struct rt_rand from = {7, RT_RANDOM_ROUND, 5, 9};
	double want[3][COUNT];
	call.in[0].kind = KIND_G;
	memcpy(call.size, size, sizeof(size));
	for (int i = 0; i < COUNT; i++) {
		for (int o = 0; o < 3; o++)
			call.out[o].start[i] = round_bf16(call.out[o].start[i]);
		if (!wide_gradients)
			call.in[0].value[i] = round_bf16(call.in[0].value[i]);
	}
	call_run(&call, RT_F32);
	for (int i = 0; i < COUNT; i++) {
		int at = SLICE + i;
		uint64_t element = (uint64_t)(at / HERE * ALL + ROW + COLUMN + at % HERE);
		uint32_t word[4];
		rt_rand_block(&from, element / 2, word);
		uint32_t first = word[element % 2 * 2], second = word[element % 2 * 2 + 1];
		want[0][i] = stochastic_of(call.out[0].value[i], first);
		want[1][i] = stochastic_of(call.out[1].value[i], first >> 16);
		want[2][i] = stochastic_of(call.out[2].value[i], second);
	}
	call.wide_gradients = wide_gradients;
	call_run(&call, RT_BF16);
	for (int o = 0; o < 3; o++)
		compare("adamw_stochastic_bf16", COUNT, call.out[o].value, want[o], 0);
	call_free(&call);
}

/* Without noise in the gradient, the mean of many roundings is what is rounded: within 5 standard
 * errors; each is one of the two neighbours. */
static void check_mean(void)
{
	enum { MANY = 40000 };
	struct call call = adamw_call((struct call)CALL(adamw_stochastic), MANY, 0);
	double sum = 0;
	call.size[1] = call.size[2] = MANY;
	for (int i = 0; i < MANY; i++) {
		call.in[0].value[i] = 0.75;
		call.out[0].start[i] = -0.625;
		call.out[1].start[i] = call.out[2].start[i] = 0.5;
	}
	call_run(&call, RT_F32);
	double exact = call.out[0].value[0], low = towards_zero(exact);
	call_run(&call, RT_BF16);
	double high = low;
	for (int i = 0; i < MANY; i++) {
		double w = call.out[0].value[i];
		high = w != low ? w : high;
		if (w != low && w != high)
			fail("adamw_stochastic: %g is no neighbour of %g", w, exact);
		sum += w;
	}
	if (fabs(sum / MANY - exact) > 5 * 0.5 * fabs(high - low) / sqrt(MANY))
		fail("adamw_stochastic: mean %.9g instead of %.9g", sum / MANY, exact);
	call_free(&call);
}

/* f32 and f64 do as adamw; bf16 has equal bits with any threads and instructions. */
void test_adamw_stochastic(void)
{
	struct call call = adamw_call((struct call)CALL(adamw_stochastic), COUNT, 0);
	double want[3][COUNT];
	double *const list[RT_MAX_OUT] = {want[0], want[1], want[2]};
	call.size[1] = call.size[2] = COUNT;
	call.bf16 = NULL;
	adamw_want(&call, 0, list);
	call_check(&call, list, 1e-6);
	call_free(&call);
	check_rounding(false);
	check_rounding(true);
	check_mean();
	struct journey exact = after_100((struct call)CALL(adamw), false, RT_F64);
	struct journey end = after_100((struct call)CALL(adamw_stochastic), false, RT_BF16);
	if (end.moved < 700)
		fail("adamw_stochastic: %d of 768 weights move", end.moved);
	if (fabs(end.mean - exact.mean) > 0.05 * exact.mean)
		fail("adamw_stochastic: weights move by %.5f on average instead of %.5f", end.mean,
		     exact.mean);
}
