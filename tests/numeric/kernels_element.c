/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that work element by element. */
#include <math.h>
#include <stdlib.h>

#include "base/rt_rand.h"
#include "harness.h"

static const int64_t sizes[] = {1, 3, 17, 65, 1024, 5000};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

/* y = of(in[0], in[1]), by element. */
static void check_element(struct call *call, double (*of)(double a, double b), double tolerance)
{
	double *want = malloc((size_t)call->rows * sizeof(*want));
	for (int64_t i = 0; i < call->rows; i++)
		want[i] = of(call->in[0].value[i], call->in[1].value ? call->in[1].value[i] : 0);
	double *const list[RT_MAX_OUT] = {want};
	call_check(call, list, tolerance);
	free(want);
}

static struct array spread_numbers(int64_t count, double most)
{
	struct array a = array_random(count);
	for (int64_t i = 0; i < count; i++)
		a.value[i] = random_between(-most, most);
	return a;
}

static void check_value(struct call call, double (*of)(double a, double b))
{
	for (int s = 0; s < SIZES; s++) {
		call.rows = sizes[s];
		call.in[0] = spread_numbers(sizes[s], 12);
		if (call.rows > 4) {
			call.in[0].value[0] = 0;
			call.in[0].value[1] = -90;
			call.in[0].value[2] = 95;
		}
		call.out[0] = array_filled(KIND_T, sizes[s], 0);
		check_element(&call, of, 1e-6);
		call_free(&call);
	}
}

/* Slopes against differences of the values, in f64; f32 against f64. */
static void check_slope(struct call forward, struct call backward)
{
	forward.rows = backward.rows = 65;
	forward.in[0] = spread_numbers(65, 5);
	forward.out[0] = array_filled(KIND_T, 65, 0);
	backward.in[0] = array_like(&forward.in[0]);
	backward.in[1] = array_random(65);
	backward.out[0] = array_filled(KIND_T, 65, 0);
	call_run(&backward, RT_F64);
	struct array slopes = array_like(&backward.out[0]);
	double *const want[RT_MAX_OUT] = {slopes.value};
	call_check(&backward, want, 2e-6);
	call_gradient(&forward, backward.in[1].value, 0, slopes.value);
	call_free(&forward);
	call_free(&backward);
	free(slopes.value);
	free(slopes.start);
}

static double gelu_of(double x, double none)
{
	(void)none;
	return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

static double gelu_erf_of(double x, double none)
{
	(void)none;
	return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static double silu_of(double x, double none)
{
	(void)none;
	return x / (1 + exp(-x));
}

static double relu_of(double x, double none)
{
	(void)none;
	return x > 0 ? x : 0;
}

#define ACTIVATION(name)                                                                           \
	void test_##name(void)                                                                     \
	{                                                                                          \
		check_value((struct call)CALL(name), name##_of);                                   \
	}                                                                                          \
	void test_##name##_backward(void)                                                          \
	{                                                                                          \
		check_slope((struct call)CALL(name), (struct call)CALL(name##_backward));          \
	}

ACTIVATION(gelu)
ACTIVATION(gelu_erf)
ACTIVATION(silu)
ACTIVATION(relu)

static double add_of(double a, double b)
{
	return a + b;
}

static double sub_of(double a, double b)
{
	return a - b;
}

static double mul_of(double a, double b)
{
	return a * b;
}

/* [5, 7, 33] with [5, 1, 33] (b repeated over the middle), and both turned around. */
static void check_pair_layout(struct call call, double (*of)(double a, double b))
{
	static const int64_t layout[] = {3, 5, 231, 7, 33, 33, 1, 3, 5, 33, 7, 0, 33, 1};
	double *want = malloc(1155 * sizeof(*want));
	double *const list[RT_MAX_OUT] = {want};
	for (int turned = 0; turned < 2; turned++) {
		call.rows = 1155;
		for (int i = 0; i < 14; i++)
			call.size[i] = layout[turned ? (i + 7) % 14 : i];
		call.in[0] = array_random(turned ? 165 : 1155);
		call.in[1] = array_random(turned ? 1155 : 165);
		call.out[0] = array_filled(KIND_T, 1155, 0);
		for (int64_t i = 0; i < 1155; i++) {
			int64_t short_at = i / 231 * 33 + i % 33;
			want[i] = of(call.in[0].value[turned ? short_at : i],
				     call.in[1].value[turned ? i : short_at]);
		}
		call_check(&call, list, 1e-7);
		call_free(&call);
	}
	free(want);
}

static void check_pair(struct call call, double (*of)(double a, double b))
{
	for (int s = 0; s < SIZES; s++) {
		int64_t layout[] = {1, sizes[s], 1, 1, sizes[s], 1};
		call.rows = sizes[s];
		for (int i = 0; i < 6; i++)
			call.size[i] = layout[i];
		call.in[0] = array_random(sizes[s]);
		call.in[1] = array_random(sizes[s]);
		call.out[0] = array_filled(KIND_T, sizes[s], 0);
		check_element(&call, of, 1e-7);
		call_free(&call);
	}
	check_pair_layout(call, of);
}

#define PAIR(name)                                                                                 \
	void test_##name(void)                                                                     \
	{                                                                                          \
		check_pair((struct call)CALL(name), name##_of);                                    \
	}

PAIR(add)
PAIR(sub)
PAIR(mul)

static double scale_of(double a, double none)
{
	(void)none;
	return a * 0.75;
}

void test_scale(void)
{
	struct call call = CALL(scale);
	call.scalar[0] = 0.75;
	check_value(call, scale_of);
}

void test_accumulate(void)
{
	struct call call = CALL_MIXED(accumulate);
	call.rows = 1500;
	call.in[0] = array_random(1500);
	call.out[0] = array_random(1500);
	call.out[0].kind = KIND_G;
	double *want = malloc(1500 * sizeof(*want));
	for (int i = 0; i < 1500; i++)
		want[i] = call.in[0].value[i] + call.out[0].start[i];
	double *const list[RT_MAX_OUT] = {want};
	call_check(&call, list, 1e-7);
	call_free(&call);
	free(want);
}

/* Halfway cases, the ends of the range, subnormals, infinities, NaN. */
static struct array edge_numbers(enum kind kind)
{
	static const double edges[] = {0,
				       -0.0,
				       1,
				       1 + 0x1p-8,
				       1 + 0x3p-8,
				       1 + 0x1p-9,
				       1 + 0x5p-10,
				       -0x1p-126,
				       0x1p-133,
				       0x1p-134,
				       0x3p-134,
				       0x1p-140,
				       0x1p127,
				       0x1.fep127,
				       0x1.fffffep127,
				       0x1.feffp127,
				       INFINITY,
				       -INFINITY,
				       NAN,
				       3.14159};
	enum { COUNT = sizeof(edges) / sizeof(*edges) };
	struct array a = array_filled(kind, COUNT, 0);
	for (int i = 0; i < COUNT; i++)
		a.value[i] = a.start[i] = (float)edges[i];
	return a;
}

static void check_convert(struct call call, enum kind from, enum kind to)
{
	call.in[0] = edge_numbers(from);
	call.rows = call.in[0].count;
	call.out[0] = array_filled(to, call.rows, 3);
	double *const list[RT_MAX_OUT] = {call.in[0].value};
	call_check(&call, list, 0);
	call_free(&call);
}

void test_narrow(void)
{
	check_convert((struct call)CALL(narrow), KIND_S, KIND_T);
}

void test_widen(void)
{
	check_convert((struct call)CALL(widen), KIND_T, KIND_S);
}

/* The mask is the generator's word of the global element, whatever the split. */
void test_dropout(void)
{
	struct call call = CALL(dropout);
	call.rows = 3 * 1001;
	call.size[0] = 9;
	call.size[1] = 1001;
	call.scalar[0] = 0.2;
	call.in[0] = array_random(call.rows);
	call.in[1] = array_control();
	call.out[0] = array_filled(KIND_T, call.rows, 0);
	double *want = malloc((size_t)call.rows * sizeof(*want)), kept = 0;
	double *const list[RT_MAX_OUT] = {want};
	struct rt_rand from = {7, RT_RANDOM_DROPOUT, 5, 9};
	for (int64_t i = 0; i < call.rows; i++) {
		bool keep =
			rt_rand_word(&from, (uint64_t)(3 * 1001 + i)) >= (uint32_t)(0.2 * 0x1p32);
		want[i] = keep ? call.in[0].value[i] / 0.8 : 0;
		kept += keep;
	}
	call_check(&call, list, 1e-6);
	if (fabs(kept / (double)call.rows - 0.8) > 0.03)
		fail("dropout: %g of the elements are kept", kept / (double)call.rows);
	call.in[1].value[RT_CONTROL_TRAINING] = 0;
	double *const same[RT_MAX_OUT] = {call.in[0].value};
	call_check(&call, same, 0);
	call_free(&call);
	free(want);
}
