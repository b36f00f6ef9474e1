/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over rows, the exact accumulator, random numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rt_rand.h"
#include "harness.h"
#include "rt/exact.h"

/* x [4, 5, 37] to y [5, 37], and to y [4, 37]. */
void test_reduce(void)
{
	static const int64_t layouts[2][8] = {{2, 5, 37, 37, 1, 1, 4, 185},
					      {2, 4, 185, 37, 1, 1, 5, 37}};
	struct call call = CALL_MIXED(reduce);
	for (int l = 0; l < 2; l++) {
		const int64_t *at = layouts[l];
		call.rows = at[1] * at[3];
		memcpy(call.size, at, sizeof(layouts[l]));
		call.in[0] = array_random(4 * 5 * 37);
		call.out[0] = array_random(call.rows);
		call.out[0].kind = KIND_G;
		double *want = calloc((size_t)call.rows, sizeof(*want));
		double *const list[RT_MAX_OUT] = {want};
		for (int64_t i = 0; i < call.rows * at[6]; i++) {
			int64_t row = i % call.rows, term = i / call.rows;
			want[row] += call.in[0].value[row / 37 * at[2] + row % 37 + term * at[7]];
		}
		call_check(&call, list, 1e-6);
		call_free(&call);
		free(want);
	}
}

void test_columns(void)
{
	static const int64_t rows[] = {1, 63, 64, 65, 200};
	for (int s = 0; s < 5; s++) {
		struct call call = CALL(columns);
		int64_t width = 1 + 24 * s * s, blocks = (rows[s] + 63) / 64;
		call.rows = rows[s];
		call.size[0] = width;
		call.in[0] = array_random(rows[s] * width);
		call.out[0] = array_filled(KIND_S, blocks * width, 3);
		double *want = calloc((size_t)(blocks * width), sizeof(*want));
		double *const list[RT_MAX_OUT] = {want};
		for (int64_t i = 0; i < rows[s] * width; i++)
			want[i / width / 64 * width + i % width] += call.in[0].value[i];
		call_check(&call, list, 1e-6);
		call_free(&call);
		free(want);
	}
}

/* The tree as the definition says it: pairs, the odd one carried up, level by level. */
static double tree_of(double *terms, int64_t count)
{
	while (count > 1) {
		int64_t up = 0;
		for (int64_t i = 0; i < count; i += 2)
			terms[up++] = i + 1 < count ? terms[i] + terms[i + 1] : terms[i];
		count = up;
	}
	return terms[0];
}

void test_tree_rows(void)
{
	for (int64_t blocks = 1; blocks < 24; blocks++) {
		struct call call = CALL_MIXED(tree_rows);
		int64_t width = 1 + 5 * blocks;
		call.rows = call.size[1] = width;
		call.size[0] = blocks;
		call.in[0] = array_random(blocks * width);
		call.in[0].kind = KIND_S;
		for (int64_t i = 0; i < blocks * width; i++)
			call.in[0].value[i] /= 3; /* short numbers are added without rounding */
		call.out[0] = array_random(width);
		call.out[0].kind = KIND_G;
		double *want = calloc((size_t)width, sizeof(*want)), terms[24];
		double *const list[RT_MAX_OUT] = {want};
		for (int64_t i = 0; i < width; i++) {
			for (int64_t b = 0; b < blocks; b++)
				terms[b] = call.in[0].value[b * width + i];
			want[i] = call.out[0].start[i] + tree_of(terms, blocks);
		}
		call_check(&call, list, 1e-6);
		if (memcmp(call.out[0].value, want, (size_t)width * sizeof(*want)) != 0)
			fail("tree_rows: another order than the balanced tree of %lld",
			     (long long)blocks);
		call_free(&call);
		free(want);
	}
}

void test_loss_sum(void)
{
	static const int64_t counts[] = {1, 64, 65, 1000};
	for (int s = 0; s < 4; s++) {
		struct call call = CALL(loss_sum);
		double want[2] = {1, 2};
		double *const list[RT_MAX_OUT] = {want};
		call.rows = 1;
		call.size[0] = counts[s];
		call.in[0] = array_random(counts[s]);
		call.in[0].kind = KIND_F64;
		call.in[1] = array_index(counts[s], 4);
		call.out[0] = array_filled(KIND_F64, 2, 0);
		call.out[0].start[0] = 1;
		call.out[0].start[1] = 2;
		for (int64_t i = 0; i < counts[s]; i++) {
			call.in[1].value[i] -= 1;
			want[0] += call.in[1].value[i] < 0 ? 0 : call.in[0].value[i];
			want[1] += call.in[1].value[i] >= 0;
		}
		call_check(&call, list, 1e-12);
		call_free(&call);
	}
}

static double exact_of(const struct array *words)
{
	int64_t at[RT_EXACT_WORDS];
	for (int i = 0; i < RT_EXACT_WORDS; i++)
		at[i] = (int64_t)words->value[i];
	return rt_exact_value(at);
}

void test_square_sum(void)
{
	static const int64_t counts[] = {1, 63, 64, 1000, 40000};
	for (int s = 0; s < 5; s++) {
		struct call call = CALL(square_sum);
		double want = 0;
		call.size[0] = counts[s];
		call.rows = (counts[s] + 63) / 64;
		call.in[0] = array_random(counts[s]);
		call.out[0] = array_filled(KIND_I64, RT_EXACT_WORDS, 0);
		for (int64_t i = 0; i < counts[s]; i++)
			want += call.in[0].value[i] * call.in[0].value[i];
		call_check(&call, NULL, 0);
		double got = exact_of(&call.out[0]);
		compare("square_sum", 1, &got, &want, 1e-12);
		call.in[0].value[counts[s] / 2] = NAN;
		call_run(&call, RT_F32);
		if (!isnan(exact_of(&call.out[0])))
			fail("square_sum: a NaN is lost");
		call.in[0].value[counts[s] / 2] = -INFINITY;
		call_run(&call, RT_F32);
		if (!isinf(exact_of(&call.out[0])))
			fail("square_sum: an infinity is lost");
		call_free(&call);
	}
}

/* sums: loss, count; norm of the summed gradient; clip. */
static void check_scale(double loss, double count, double norm, double clip, const double *want)
{
	struct call call = CALL(step_scale);
	int64_t words[RT_EXACT_WORDS] = {0};
	rt_exact_add(words, norm * norm);
	call.rows = 1;
	call.scalar[0] = clip;
	call.in[0] = array_filled(KIND_I64, RT_EXACT_WORDS, 0);
	for (int i = 0; i < RT_EXACT_WORDS; i++)
		call.in[0].value[i] = (double)words[i];
	call.in[1] = array_filled(KIND_F64, 2, loss);
	call.in[1].value[1] = count;
	call.out[0] = array_control();
	call_check(&call, NULL, 0);
	static const int word[] = {RT_CONTROL_LOSS, RT_CONTROL_COUNT, RT_CONTROL_NORM,
				   RT_CONTROL_FACTOR, RT_CONTROL_FINITE};
	for (int i = 0; i < 5; i++)
		compare("step_scale", 1, &call.out[0].value[word[i]], &want[i], 1e-14);
	if (call.out[0].value[RT_CONTROL_LR] != 0.01)
		fail("step_scale: writes words that are not its own");
	call_free(&call);
}

void test_step_scale(void)
{
	check_scale(12, 4, 3.2, 1, (double[]){3, 4, 0.8, 0.25, 1});
	check_scale(12, 4, 8, 1, (double[]){3, 4, 2, 0.125, 1});
	check_scale(12, 4, 8, 0, (double[]){3, 4, 2, 0.25, 1});
	check_scale(1.5, 1, 0, 1, (double[]){1.5, 1, 0, 1, 1});
	check_scale(0, 0, 0, 1, (double[]){0, 0, 0, 0, 1});
	check_scale(INFINITY, 4, 8, 1, (double[]){INFINITY, 4, 2, 0.125, 0});
}

/* The same numbers in two orders and in two parts give the same words once carried. */
static void check_exact_order(void)
{
	enum { COUNT = 3000 };
	int64_t up[RT_EXACT_WORDS] = {0}, down[RT_EXACT_WORDS] = {0}, part[RT_EXACT_WORDS] = {0};
	double numbers[COUNT];
	for (int i = 0; i < COUNT; i++)
		numbers[i] = ldexp(random_between(-1, 1), (int)random_below(580) - 300);
	for (int i = 0; i < COUNT; i++) {
		rt_exact_add(up, numbers[i]);
		rt_exact_add(i % 2 ? down : part, numbers[COUNT - 1 - i]);
	}
	rt_exact_carry(part);
	for (int i = 0; i < RT_EXACT_WORDS; i++)
		down[i] += part[i];
	rt_exact_carry(up);
	rt_exact_carry(down);
	if (memcmp(up, down, sizeof(up)) != 0)
		fail("exact: the order of additions moves a bit");
}

static void check_exact_value(double a, double b, double c, double want)
{
	int64_t words[RT_EXACT_WORDS] = {0};
	rt_exact_add(words, a);
	rt_exact_add(words, b);
	rt_exact_add(words, c);
	double got = rt_exact_value(words);
	if (got != want && !(isnan(got) && isnan(want)))
		fail("exact: %a + %a + %a is %a instead of %a", a, b, c, got, want);
}

void test_exact(void)
{
	check_exact_value(0, 0, 0, 0);
	check_exact_value(1, 0x1p-53, 0, 1);
	check_exact_value(1, 0x1p-53, 0x1p-298, 1 + 0x1p-52);
	check_exact_value(0x1p200, 1, -0x1p200, 1);
	check_exact_value(-0x1.8p-100, -0x1p-298, 0x1.8p-100, -0x1p-298);
	check_exact_value(0x1.fffffep127 * 0x1.fffffep127, 0, 0, 0x1.fffffep127 * 0x1.fffffep127);
	check_exact_value(0x1p765, -0x1p-700, 0, 0x1p765);
	check_exact_value(0x1p767, 1, 1, INFINITY);
	check_exact_value(INFINITY, 1, 1, INFINITY);
	check_exact_value(INFINITY, NAN, 1, NAN);
	check_exact_value(0x1p-760, 0x1p-1060, 0, 0);
	for (int i = 0; i < 1000; i++) {
		double a = ldexp(random_between(-1, 1), (int)random_below(600) - 300);
		double b = ldexp(random_between(-1, 1), (int)random_below(600) - 300);
		check_exact_value(a, b, 0, a + b);
	}
	check_exact_order();
}

/* Known answers of the reference implementation of Philox 4x32-10 (Random123's kat_vectors). */
static void check_philox(void)
{
	static const uint32_t cases[3][10] = {
		{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
		 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
		 0x94fdcceb, 0x5001e420, 0x24126ea1},
	};
	for (int i = 0; i < 3; i++) {
		uint32_t out[4];
		rt_philox(cases[i], cases[i] + 4, out);
		if (memcmp(out, cases[i] + 6, sizeof(out)) != 0)
			fail("random: philox gives %08x %08x %08x %08x in case %d", out[0], out[1],
			     out[2], out[3], i);
	}
}

void test_random(void)
{
	struct rt_rand from = {7, RT_RANDOM_INIT, 1, 2}, other = {7, RT_RANDOM_DATA, 1, 2};
	double sum = 0, square = 0, uniform = 0, most = 0;
	enum { COUNT = 100000 };
	check_philox();
	for (uint64_t i = 0; i < COUNT; i++) {
		double x = rt_rand_normal(&from, i), u = rt_rand_uniform(&from, i);
		sum += x;
		square += x * x;
		uniform += u;
		most = u > most ? u : most;
	}
	if (fabs(sum / COUNT) > 0.01 || fabs(square / COUNT - 1) > 0.01)
		fail("random: normal numbers of mean %g, square %g", sum / COUNT, square / COUNT);
	if (fabs(uniform / COUNT - 0.5) > 0.005 || most >= 1)
		fail("random: uniform numbers of mean %g, at most %g", uniform / COUNT, most);
	if (rt_rand_uniform(&from, 0) == rt_rand_uniform(&other, 0))
		fail("random: two purposes share their numbers");
}
