/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that work on rows: lookups, norms, rotary positions, cross-entropy. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static double *zeros(int64_t count)
{
	return calloc((size_t)(count + 1), sizeof(double));
}

/* A call whose input `which` is outside fails, and says where. */
static void check_bad_index(struct call *call, int which, int64_t row, double value)
{
	double before = call->in[which].value[row];
	call->in[which].value[row] = value;
	if (call_run(call, RT_F32) == 0)
		fail("%s: index %g passes", call->name, value);
	else if (!strstr(devices[0]->fault, call->name) || !strstr(devices[0]->fault, "row"))
		fail("%s: the message is \"%s\"", call->name, devices[0]->fault);
	call->in[which].value[row] = before;
	if (call_run(call, RT_F32) != 0)
		fail("%s: a fault is not forgotten", call->name);
}

void test_lookup(void)
{
	struct call call = CALL(lookup);
	int64_t width = 17, vocab = 33, rows = 65;
	call.rows = rows;
	call.size[0] = width;
	call.size[1] = vocab;
	call.in[0] = array_index(rows, vocab);
	call.in[1] = array_random(vocab * width);
	call.out[0] = array_filled(KIND_T, rows * width, 0);
	double *want = zeros(rows * width);
	double *const list[RT_MAX_OUT] = {want};
	for (int64_t i = 0; i < rows * width; i++)
		want[i] =
			call.in[1].value[(int64_t)call.in[0].value[i / width] * width + i % width];
	call_check(&call, list, 0);
	check_bad_index(&call, 0, 40, 33);
	check_bad_index(&call, 0, 0, -1);
	call.in[0].value[5] = RT_NO_TARGET;
	memset(want + 5 * width, 0, (size_t)width * sizeof *want);
	call_check(&call, list, 0);
	call_free(&call);
	free(want);
}

void test_lookup_backward(void)
{
	struct call call = CALL_MIXED(lookup_backward);
	int64_t width = 17, vocab = 133, n = 400;
	call.rows = vocab;
	call.size[0] = width;
	call.size[1] = n;
	call.in[0] = array_index(n, vocab);
	call.in[1] = array_random(n * width);
	call.out[0] = array_random(vocab * width);
	call.out[0].kind = KIND_G;
	double *want = zeros(vocab * width);
	double *const list[RT_MAX_OUT] = {want};
	memcpy(want, call.out[0].start, (size_t)(vocab * width) * sizeof(double));
	for (int64_t i = 0; i < n * width; i++)
		want[(int64_t)call.in[0].value[i / width] * width + i % width] +=
			call.in[1].value[i];
	call_check(&call, list, 1e-6);
	call_free(&call);
	free(want);
}

static const struct {
	int64_t rows, width;
} norms[] = {{1, 1}, {3, 17}, {65, 65}, {130, 32}};

/* Rows with a mean that is large beside their spread. */
static struct call norm_call(struct call call, int64_t rows, int64_t width, bool bias)
{
	call.rows = rows;
	call.size[0] = width;
	call.scalar[0] = 1e-5;
	call.in[0] = array_random(rows * width);
	for (int64_t i = 0; i < rows * width; i++)
		call.in[0].value[i] = (float)(call.in[0].value[i] + (double)(i / width % 3) * 2);
	call.in[1] = array_random(width);
	if (bias)
		call.in[2] = array_random(width);
	for (int i = 0; i < (bias ? 3 : 2); i++)
		call.out[i] =
			array_filled(i == 0 ? KIND_T : KIND_S, i == 0 ? rows * width : rows, 0);
	return call;
}

static void norm_row(const struct call *call, int64_t row, bool centred, double *const *want)
{
	int64_t width = call->size[0];
	const double *x = call->in[0].value + row * width, *weight = call->in[1].value;
	double mean = 0, square = 0;
	for (int64_t i = 0; centred && i < width; i++)
		mean += x[i] / (double)width;
	for (int64_t i = 0; i < width; i++)
		square += (x[i] - mean) * (x[i] - mean) / (double)width;
	double rstd = 1 / sqrt(square + call->scalar[0]);
	for (int64_t i = 0; i < width; i++)
		want[0][row * width + i] =
			(x[i] - mean) * rstd * weight[i] + (centred ? call->in[2].value[i] : 0);
	if (centred)
		want[1][row] = mean;
	want[centred ? 2 : 1][row] = rstd;
}

static void check_norm(struct call start, bool centred)
{
	for (int s = 0; s < 4; s++) {
		int64_t rows = norms[s].rows, width = norms[s].width;
		struct call call = norm_call(start, rows, width, centred);
		double *want[RT_MAX_OUT] = {zeros(rows * width), zeros(rows), zeros(rows)};
		for (int64_t row = 0; row < rows; row++)
			norm_row(&call, row, centred, want);
		call_check(&call, want, width == 1 ? 1e-4 : 4e-6);
		for (int i = 0; i < 3; i++)
			free(want[i]);
		call_free(&call);
	}
}

void test_layernorm(void)
{
	check_norm((struct call)CALL(layernorm), true);
}

void test_rmsnorm(void)
{
	check_norm((struct call)CALL(rmsnorm), false);
}

/* Sums of partials [blocks, width] over blocks. */
static double *fold(const struct array *partials, int64_t width)
{
	double *sum = zeros(width);
	for (int64_t i = 0; i < partials->count; i++)
		sum[i % width] += partials->value[i];
	return sum;
}

/* Backward reads what forward kept; its inputs are those of forward without the bias, what forward
 * kept, and dy. */
static struct call norm_backward_call(struct call call, const struct call *forward, bool centred)
{
	int64_t rows = forward->rows, width = forward->size[0], blocks = (rows + 63) / 64, next = 0;
	call.rows = rows;
	call.size[0] = width;
	call.in[next++] = array_like(&forward->in[0]);
	call.in[next++] = array_like(&forward->in[1]);
	call.in[next++] = array_like(&forward->out[1]);
	if (centred)
		call.in[next++] = array_like(&forward->out[2]);
	call.in[next] = array_random(rows * width);
	call.out[0] = array_filled(KIND_T, rows * width, 0);
	call.out[1] = array_filled(KIND_S, blocks * width, 3);
	if (centred)
		call.out[2] = array_filled(KIND_S, blocks * width, 3);
	return call;
}

static void check_norm_backward(struct call start, struct call backward, bool centred)
{
	for (int s = 1; s < 4; s++) {
		struct call forward = norm_call(start, norms[s].rows, norms[s].width, centred);
		call_run(&forward, RT_F64);
		struct call call = norm_backward_call(backward, &forward, centred);
		const double *dy = call.in[centred ? 4 : 3].value;
		call_run(&call, RT_F64);
		double *want[RT_MAX_OUT] = {0};
		for (int i = 0; i < 3 && call.out[i].value; i++) {
			want[i] = zeros(call.out[i].count);
			memcpy(want[i], call.out[i].value,
			       (size_t)call.out[i].count * sizeof(double));
		}
		call_check(&call, want, 3e-5);
		double *weight = fold(&call.out[1], call.size[0]);
		call_gradient(&forward, dy, 1, weight);
		if (centred) {
			double *bias = fold(&call.out[2], call.size[0]);
			call_gradient(&forward, dy, 2, bias);
			free(bias);
		}
		if (s == 1)
			call_gradient(&forward, dy, 0, call.out[0].value);
		for (int i = 0; i < 3; i++)
			free(want[i]);
		free(weight);
		call_free(&forward);
		call_free(&call);
	}
}

void test_layernorm_backward(void)
{
	check_norm_backward((struct call)CALL(layernorm), (struct call)CALL(layernorm_backward),
			    true);
}

void test_rmsnorm_backward(void)
{
	check_norm_backward((struct call)CALL(rmsnorm), (struct call)CALL(rmsnorm_backward), false);
}

/* Position 1000, pairs of a head of 128 with base 500000 and the scaling of Llama 3.1 (factor 8,
 * low 1, high 4, original 8192): pair 0 is not scaled, pair 63 is slowed by 8. */
void test_rope_table(void)
{
	struct call call = CALL(rope_table);
	const double scalars[] = {500000, 8, 1, 4, 8192};
	call.rows = 19;
	call.size[0] = 128;
	call.size[1] = 990;
	memcpy(call.scalar, scalars, sizeof(scalars));
	call.out[0] = array_filled(KIND_S, 19 * 128, 0);
	double *want = zeros(19 * 128);
	double *const list[RT_MAX_OUT] = {want};
	for (int64_t i = 0; i < 19 * 64; i++) {
		double speed = pow(500000, -(double)(i % 64) / 64),
		       wave = 6.283185307179586 / speed;
		double smooth = (8192 / wave - 1) / 3;
		double mixed = (1 - smooth) * speed / 8 + smooth * speed;
		speed = wave < 2048 ? speed : wave > 8192 ? speed / 8 : mixed;
		want[2 * i] = cos((double)(990 + i / 64) * speed);
		want[2 * i + 1] = sin((double)(990 + i / 64) * speed);
	}
	call_check(&call, list, 1e-7);
	call_free(&call);
	free(want);
}

static struct array rope_angles(int64_t tokens, int64_t head)
{
	struct array table = array_filled(KIND_S, tokens * head, 0);
	for (int64_t i = 0; i < tokens * head / 2; i++) {
		double angle = random_between(-3, 3);
		table.value[2 * i] = (float)cos(angle);
		table.value[2 * i + 1] = (float)sin(angle);
	}
	return table;
}

void test_rope(void)
{
	struct call call = CALL(rope);
	int64_t tokens = 5, heads = 3, head = 6, rows = 10, count = rows * heads * head;
	call.rows = rows;
	call.size[0] = tokens;
	call.size[1] = heads;
	call.size[2] = head;
	call.scalar[0] = 1;
	call.in[0] = array_random(count);
	call.in[1] = rope_angles(tokens, head);
	call.out[0] = array_filled(KIND_T, count, 0);
	double *want = zeros(count);
	double *const list[RT_MAX_OUT] = {want};
	for (int64_t i = 0; i < count; i++) {
		int64_t d = i % head, token = i / head / heads % tokens, pair = d % 3;
		const double *turn = call.in[1].value + (token * 3 + pair) * 2;
		const double *x = call.in[0].value + i - d;
		want[i] = d < 3 ? x[pair] * turn[0] - x[pair + 3] * turn[1]
				: x[pair + 3] * turn[0] + x[pair] * turn[1];
	}
	call_check(&call, list, 1e-6);
	struct call back = call;
	struct array dy = array_random(count);
	back.in[0] = dy;
	back.scalar[0] = -1;
	call_run(&back, RT_F64);
	memcpy(want, back.out[0].value, (size_t)count * sizeof(double));
	call_gradient(&call, dy.value, 0, want);
	call_free(&call);
	free(dy.value);
	free(dy.start);
	free(want);
}

/* Targets below 0 are not counted; columns from `vocab` on hold what must not be read. */
static struct call loss_call(int64_t rows, int64_t width, int64_t vocab)
{
	struct call call = CALL(cross_entropy);
	call.rows = rows;
	call.size[0] = width;
	call.size[1] = vocab;
	call.in[0] = array_random(rows * width);
	for (int64_t i = 0; i < rows * width; i++)
		call.in[0].value[i] = i % width < vocab ? (float)(20 * call.in[0].value[i]) : 1000;
	call.in[1] = array_index(rows, vocab);
	for (int64_t i = 1; i < rows; i += 3)
		call.in[1].value[i] = -1;
	call.out[0] = array_filled(KIND_F64, rows, 0);
	call.out[1] = array_filled(KIND_F64, rows, 0);
	return call;
}

static double lse_of(const double *x, int64_t count)
{
	double sum = 0;
	for (int64_t i = 0; i < count; i++)
		sum += exp(x[i] - 20);
	return 20 + log(sum);
}

/* Label 3 of logits 0 1 2 3. */
static void check_known_loss(void)
{
	struct call call = loss_call(1, 8, 4);
	double want[2] = {3.4401896985611953, 0.4401896985611953};
	double *const list[RT_MAX_OUT] = {&want[0], &want[1]};
	for (int i = 0; i < 4; i++)
		call.in[0].value[i] = i;
	call.in[1].value[0] = 3;
	call_check(&call, list, 1e-7);
	call_free(&call);
}

static const struct {
	int64_t rows, width, vocab;
} losses[] = {{1, 1, 1}, {3, 17, 17}, {17, 64, 63}, {9, 1216, 1200}};

void test_cross_entropy(void)
{
	check_known_loss();
	for (int s = 0; s < 4; s++) {
		int64_t rows = losses[s].rows;
		struct call call = loss_call(rows, losses[s].width, losses[s].vocab);
		double *want[RT_MAX_OUT] = {zeros(rows), zeros(rows)};
		for (int64_t i = 0; i < rows; i++) {
			const double *x = call.in[0].value + i * losses[s].width;
			int64_t target = (int64_t)call.in[1].value[i];
			want[0][i] = lse_of(x, losses[s].vocab);
			want[1][i] = target < 0 ? 0 : want[0][i] - x[target];
		}
		call_check(&call, want, 1e-6);
		check_bad_index(&call, 1, 0, (double)losses[s].vocab);
		call_free(&call);
		free(want[0]);
		free(want[1]);
	}
}

/* Against differences of the summed loss, in f64. */
static void check_loss_slope(struct call *forward, const double *got)
{
	struct array *x = &forward->in[0];
	for (int64_t i = 0; i < x->count; i++) {
		double here = x->value[i], sum[2] = {0, 0};
		for (int side = 0; side < 2; side++) {
			x->value[i] = here + (side ? 1e-5 : -1e-5);
			call_run(forward, RT_F64);
			for (int64_t r = 0; r < forward->rows; r++)
				sum[side] += forward->out[1].value[r];
		}
		x->value[i] = here;
		double want = (sum[1] - sum[0]) / 2e-5;
		compare("gradient of cross_entropy", 1, &got[i], &want, 1e-7);
	}
}

void test_cross_entropy_backward(void)
{
	for (int s = 0; s < 4; s++) {
		struct call forward = loss_call(losses[s].rows, losses[s].width, losses[s].vocab);
		struct call call = CALL(cross_entropy_backward);
		call_run(&forward, RT_F64);
		call.rows = forward.rows;
		call.size[0] = forward.size[0];
		call.size[1] = forward.size[1];
		call.in[0] = array_like(&forward.in[0]);
		call.in[1] = array_like(&forward.in[1]);
		call.in[2] = array_like(&forward.out[0]);
		call.out[0] = array_random(forward.in[0].count);
		call_run(&call, RT_F64);
		double *want[RT_MAX_OUT] = {zeros(call.out[0].count)};
		memcpy(want[0], call.out[0].value, (size_t)call.out[0].count * sizeof(double));
		call_check(&call, want, 2e-6);
		if (s < 3)
			check_loss_slope(&forward, want[0]);
		check_bad_index(&call, 1, 0, (double)losses[s].vocab);
		call_free(&forward);
		call_free(&call);
		free(want[0]);
	}
}

void test_position(void)
{
	struct call call = CALL(position);
	call.rows = 1500;
	call.size[0] = 7;
	call.out[0] = array_filled(KIND_I32, 1500, 0);
	double *want[RT_MAX_OUT] = {zeros(1500)};
	for (int i = 0; i < 1500; i++)
		want[0][i] = 7 + i;
	call_check(&call, want, 0);
	call_free(&call);
	free(want[0]);
}
