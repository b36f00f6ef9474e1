/* SPDX-License-Identifier: Apache-2.0 */
/* LIB rows: products and their epilogues, copies, scratch. Attention is in kernels_attend.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu_dnnl.h"
#include "device/cpu/cpu_kernels.h"
#include "harness.h"
#include "rt/workspace.h"

/* One product, its operands as doubles; narrow: for bf16, rounded where that rounds. */
struct product {
	int64_t m, n, k;
	bool trans_a, trans_b, accumulate;
	bool bias, residual, pre;
	bool narrow, wide_c;
	enum rt_activation act;
	struct array a, b, c, bias_values, residual_values, pre_values;
	double *want, *want_pre;
};

static double activation_of(enum rt_activation act, double x)
{
	switch (act) {
	case RT_GELU:
		return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
	case RT_GELU_ERF:
		return 0.5 * x * erfc(x * -0.7071067811865476);
	case RT_SILU:
		return x / (1 + exp(-x));
	case RT_RELU:
		return x > 0 ? x : 0;
	default:
		return x;
	}
}

static double rounded(const struct product *p, double x)
{
	return p->narrow && !p->wide_c ? round_bf16(x) : x;
}

static double product_sum(const struct product *p, int64_t row, int64_t column)
{
	double sum = p->accumulate ? p->c.start[row * p->n + column] : 0;
	for (int64_t k = 0; k < p->k; k++)
		sum += p->a.value[p->trans_a ? k * p->m + row : row * p->k + k] *
		       p->b.value[p->trans_b ? column * p->k + k : k * p->n + column];
	return sum;
}

static void product_narrow(struct product *p)
{
	struct array *const arrays[] = {&p->a, &p->b, &p->c, &p->bias_values, &p->residual_values};
	for (int i = 0; i < 5; i++) {
		for (int64_t j = 0; (i != 2 || !p->wide_c) && j < arrays[i]->count; j++)
			arrays[i]->value[j] = arrays[i]->start[j] = round_bf16(arrays[i]->value[j]);
	}
	p->c.kind = p->wide_c ? KIND_S : KIND_T;
}

static void product_start(struct product *p)
{
	int64_t count = p->m * p->n;
	p->a = array_random(p->m * p->k);
	p->b = array_random(p->k * p->n);
	p->c = array_random(count);
	p->bias_values = array_random(p->n);
	p->residual_values = array_random(count);
	p->pre_values = array_random(count);
	p->want = calloc((size_t)count, sizeof(double));
	p->want_pre = calloc((size_t)count, sizeof(double));
	if (p->narrow)
		product_narrow(p);
	for (int64_t i = 0; i < count; i++) {
		double c = rounded(p, product_sum(p, i / p->n, i % p->n));
		c = rounded(p, c + (p->bias ? p->bias_values.value[i % p->n] : 0));
		p->want_pre[i] = c;
		c = rounded(p, activation_of(p->act, c));
		p->want[i] = rounded(p, c + (p->residual ? p->residual_values.value[i] : 0));
	}
}

static void product_free(struct product *p)
{
	struct array *const arrays[] = {
		&p->a, &p->b, &p->c, &p->bias_values, &p->residual_values, &p->pre_values};
	for (int i = 0; i < 6; i++) {
		free(arrays[i]->value);
		free(arrays[i]->start);
	}
	free(p->want);
	free(p->want_pre);
}

/* Runs it; typed c is left in `result` ([m, n] of the type). */
static void product_run(struct product *p, enum rt_type type, struct rt_device *device,
			int64_t workspace_bytes, void *result)
{
	void *a = array_pack(&p->a, type, p->a.value), *b = array_pack(&p->b, type, p->b.value);
	void *c = array_pack(&p->c, type, p->c.start);
	void *bias = array_pack(&p->bias_values, type, p->bias_values.value);
	void *residual = array_pack(&p->residual_values, type, p->residual_values.value);
	void *pre = array_pack(&p->pre_values, type, p->pre_values.start);
	void *workspace = aligned_alloc(64, (size_t)(workspace_bytes + 64) / 64 * 64);
	struct rt_matmul args = {
		.type = type,
		.m = p->m,
		.n = p->n,
		.k = p->k,
		.a = a,
		.b = b,
		.c = c,
		.trans_a = p->trans_a,
		.trans_b = p->trans_b,
		.accumulate = p->accumulate,
		.epilogue = {p->bias ? bias : NULL, p->residual ? residual : NULL, p->act,
			     p->pre ? pre : NULL},
		.workspace = workspace,
		.workspace_bytes = workspace_bytes,
		.wide_c = p->wide_c,
	};
	if (device->ops->matmul(device, 0, &args) != 0)
		fail("matmul: %s", device->fault);
	array_unpack(&p->c, type, c);
	array_unpack(&p->pre_values, type, pre);
	memcpy(result, c, (size_t)array_bytes(&p->c, type));
	free(a);
	free(b);
	free(c);
	free(bias);
	free(residual);
	free(pre);
	free(workspace);
}

static void product_compare(const struct product *p, double tolerance)
{
	compare("matmul", p->m * p->n, p->c.value, p->want, tolerance);
	if (p->pre)
		compare("matmul pre_activation", p->m * p->n, p->pre_values.value, p->want_pre,
			tolerance);
}

/* bf16 against the formula, rounded where the contract says: but for a few sums that lie close to
 * halfway between two numbers, the same numbers. */
static void product_compare_narrow(const struct product *p, const char *code)
{
	int64_t count = p->m * p->n, others = 0;
	if (p->wide_c) {
		compare(code, count, p->c.value, p->want, 2e-5);
		return;
	}
	compare(code, count, p->c.value, p->want, 0x1p-6);
	for (int64_t i = 0; i < count; i++)
		others += p->c.value[i] != p->want[i];
	if (others > 2 + count / 50)
		fail("%s: %lld of %lld sums are rounded otherwise", code, (long long)others,
		     (long long)count);
	if (p->pre)
		compare(code, count, p->pre_values.value, p->want_pre, 0x1p-6);
}

static void product_check_narrow(struct product p)
{
	void *result = malloc((size_t)(p.m * p.n) * 4);
	p.narrow = true;
	product_start(&p);
	for (int d = 0; d < DEVICES; d++) {
		uint64_t full = rt_matmul_workspace_threads(RT_BF16, (uint64_t)p.m, (uint64_t)p.n,
							    (uint64_t)p.k, 3);
		product_run(&p, RT_BF16, devices[d], d == 2 ? 0 : (int64_t)full, result);
		product_compare_narrow(&p, "matmul_bf16");
	}
	product_free(&p);
	free(result);
}

static void product_check(struct product *p)
{
	void *first = malloc((size_t)(p->m * p->n) * 8), *again = malloc((size_t)(p->m * p->n) * 8);
	product_start(p);
	for (int d = 0; d < DEVICES; d++) {
		uint64_t full = rt_matmul_workspace_threads(RT_F32, (uint64_t)p->m, (uint64_t)p->n,
							    (uint64_t)p->k, 3);
		product_run(p, RT_F32, devices[d], d == 2 ? 0 : (int64_t)full, first);
		product_compare(p, 2e-5);
	}
	product_run(p, RT_F64, devices[0], 0, first);
	product_compare(p, 1e-12);
	for (int d = 0; d < DEVICES; d++) {
		cpu_isa_limit((enum cpu_isa)d);
		product_run(p, RT_F64, devices[d], 0, again);
		if (memcmp(first, again, (size_t)(p->m * p->n) * 8) != 0)
			fail("matmul_f64: other bits with other threads or instructions");
	}
	cpu_isa_limit(CPU_ISA_AVX512);
	product_free(p);
	free(first);
	free(again);
}

void test_matmul(void)
{
	static const int64_t shapes[][3] = {{1, 1, 1}, {3, 17, 65}, {65, 33, 17}, {130, 70, 200}};
	for (int s = 0; s < 4; s++) {
		for (int bits = 0; bits < 64; bits += s == 3 ? 5 : 1) {
			struct product p = {
				.m = shapes[s][0],
				.n = shapes[s][1],
				.k = shapes[s][2],
				.trans_a = bits & 1,
				.trans_b = bits & 2,
				.accumulate = bits & 4,
				.bias = bits & 8,
				.residual = bits & 16,
				.pre = bits & 32,
				.act = (enum rt_activation)((bits / 8 + s) % 5),
			};
			if (bits < 8)
				p.act = RT_NONE;
			product_check(&p);
			product_check_narrow(p);
			p.wide_c = true;
			p.act = RT_NONE;
			if (!p.residual && !p.pre)
				product_check_narrow(p);
		}
	}
}

/* The code without a library, alone. */
static void check_own(enum rt_type type, bool accumulate, bool wide_c)
{
	struct product p = {.m = 65,
			    .n = 70,
			    .k = 130,
			    .trans_b = true,
			    .accumulate = accumulate,
			    .narrow = type == RT_BF16,
			    .wide_c = wide_c};
	product_start(&p);
	void *a = array_pack(&p.a, type, p.a.value), *b = array_pack(&p.b, type, p.b.value);
	void *c = array_pack(&p.c, type, p.c.value);
	struct rt_matmul args = {.type = type,
				 .m = p.m,
				 .n = p.n,
				 .k = p.k,
				 .a = a,
				 .b = b,
				 .c = c,
				 .trans_b = true,
				 .accumulate = accumulate,
				 .wide_c = wide_c};
	for (int64_t item = 0; item < 4; item++)
		(type == RT_BF16 ? cpu_item_bf16 : cpu_item_f32)(CPU_ITEM_matmul)(&args, item,
										  NULL);
	array_unpack(&p.c, type, c);
	if (p.narrow)
		product_compare_narrow(&p, "matmul_bf16 without a library");
	else
		product_compare(&p, 2e-5);
	product_free(&p);
	free(a);
	free(b);
	free(c);
}

/* Products of bf16 with every rest of K over 32, and some that oneDNN 2.6.3 gets wrong or ends in
 * SIGILL, where the processor has tiles. */
void test_matmul_rests(void)
{
	static const int64_t wrong[][3] = {{90, 24, 63},    {70, 24, 63},    {194, 20, 1471},
					   {199, 53, 1247}, {262, 56, 1407}, {263, 46, 1407}};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong) * 2; i++)
		product_check_narrow((struct product){.m = wrong[i / 2][0],
						      .n = wrong[i / 2][1],
						      .k = wrong[i / 2][2],
						      .wide_c = i % 2});
	for (int64_t k = 33; k <= 96; k++)
		product_check_narrow((struct product){.m = 60 + k % 5 * 15,
						      .n = 17 + k % 7,
						      .k = k,
						      .trans_a = k % 3 == 0,
						      .trans_b = k % 2,
						      .wide_c = k % 4 < 2});
}

/* A wide result is for bf16, and after it comes a bias at most. */
static void check_wide_refused(void)
{
	float a[1] = {1}, b[1] = {1}, c[1] = {0};
	struct rt_matmul args = {
		.type = RT_F32, .m = 1, .n = 1, .k = 1, .a = a, .b = b, .c = c, .wide_c = true};
	if (devices[0]->ops->matmul(devices[0], 0, &args) == 0)
		fail("matmul: fp32 takes a wide result");
	args.type = RT_BF16;
	args.epilogue.act = RT_RELU;
	if (devices[0]->ops->matmul(devices[0], 0, &args) == 0)
		fail("matmul: a wide result takes an epilogue");
}

static int64_t random_size(double most)
{
	return (int64_t)exp(random_between(0, log(most)));
}

/* The bound of rt/workspace.h holds for what the library asks for with one thread. */
void test_workspace(void)
{
	struct cpu_dnnl *dnnl = NULL;
	char fault[RT_DEVICE_FAULT];
	struct rt_device_options options = {.threads = 1, .ranks = 1};
	struct rt_device *one = cpu_device_open(&options, fault);
	check_own(RT_F32, false, false);
	check_own(RT_BF16, false, false);
	check_own(RT_BF16, true, false);
	check_own(RT_BF16, true, true);
	check_wide_refused();
	for (int i = 0; i < 800; i++) {
		int64_t unit = i % 2 ? 64 : 1, most = i % 2 ? 64 : 4096;
		struct rt_matmul args = {
			.type = i < 400 ? RT_F32 : RT_BF16,
			.m = unit * random_size((double)most),
			.n = unit * random_size((double)most),
			.k = unit * random_size((double)most),
			.trans_a = random_below(2),
			.trans_b = random_below(2),
			.accumulate = random_below(2),
		};
		args.wide_c = args.type == RT_BF16 && random_below(2);
		if (i % 50 == 0) {
			cpu_dnnl_close(dnnl);
			dnnl = cpu_dnnl_open();
		}
		uint64_t bound = rt_matmul_workspace(args.type, (uint64_t)args.m, (uint64_t)args.n,
						     (uint64_t)args.k);
		int64_t asked = cpu_dnnl_scratch(dnnl, &args);
		if (asked > (int64_t)bound)
			fail("workspace: %lld bytes for %s %lld x %lld x %lld, bound %llu",
			     (long long)asked, args.type == RT_F32 ? "f32" : "bf16",
			     (long long)args.m, (long long)args.n, (long long)args.k,
			     (unsigned long long)bound);
	}
	cpu_dnnl_close(dnnl);
	one->ops->close(one);
}

void test_copy(void)
{
	char from[1001], to[1001];
	struct rt_copy args = {.to = to, .from = from, .bytes = 1001};
	for (int i = 0; i < 1001; i++)
		from[i] = (char)i;
	if (devices[1]->ops->copy(devices[1], 0, &args) != 0 || memcmp(from, to, 1001) != 0)
		fail("copy: other bytes");
}

void test_clear(void)
{
	char at[1001];
	struct rt_clear args = {.at = at + 1, .bytes = 999};
	memset(at, 1, sizeof(at));
	devices[1]->ops->clear(devices[1], 0, &args);
	for (int i = 1; i < 1000; i++) {
		if (at[i] != 0)
			fail("clear: byte %d stays", i);
	}
	if (at[0] != 1 || at[1000] != 1)
		fail("clear: bytes beside are gone");
}

/* Reads data, so it belongs to core and is tested there. */
void test_load_batch(void)
{
}
