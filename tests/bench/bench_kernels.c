/* SPDX-License-Identifier: Apache-2.0 */
/* bench_kernels [THREADS] [NAME..]: time of each kernel at the shapes of the first example (a small
 * Llama, fp32), in microseconds, GFLOP/s and GB/s. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/device.h"
#include "rt/workspace.h"

enum {
	BATCH = 8,
	TOKENS = 128,
	ROWS = BATCH * TOKENS,
	EMBED = 192,
	FFN = 512,
	VOCAB = 256,
	HEADS = 6,
	KV_HEADS = 2,
	HEAD = 32,
	WEIGHTS = 1 << 20,
	ARRAYS = 9
};

static float *arrays[ARRAYS];
static int32_t *indices;
static double *wide[3];
static struct rt_device *device;
static int names;
static char **name_list;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int wanted(const char *name)
{
	for (int i = 0; i < names; i++) {
		if (strcmp(name_list[i], name) == 0)
			return 1;
	}
	return names == 0;
}

/* Best of some runs. */
static void measure(const char *name, int (*run)(const void *), const void *args, double flops,
		    double bytes)
{
	double best = 1e9, end = now() + 0.3;
	if (!wanted(name))
		return;
	while (now() < end) {
		double start = now();
		if (run(args) != 0) {
			printf("%-34s %s\n", name, device->fault);
			return;
		}
		double took = now() - start;
		best = took < best ? took : best;
	}
	printf("%-34s %9.1f us %8.1f GFLOP/s %8.1f GB/s\n", name, best * 1e6, flops / best * 1e-9,
	       bytes / best * 1e-9);
}

struct loop {
	const struct rt_kernel *kernel;
	int64_t rows;
	struct rt_args args;
};

static int run_loop(const void *args)
{
	const struct loop *l = args;
	return device->ops->run(device, 0, l->kernel, l->rows, &l->args);
}

/* elements: of T, read and written in all. */
static void loop(const char *name, const struct loop *l, double elements)
{
	measure(name, run_loop, l, 0, elements * sizeof(float));
}

static int run_matmul(const void *args)
{
	return device->ops->matmul(device, 0, args);
}

static void matmul(int64_t m, int64_t n, int64_t k, bool trans_a, bool trans_b, bool accumulate)
{
	struct rt_matmul args = {
		.type = RT_F32,
		.m = m,
		.n = n,
		.k = k,
		.a = arrays[0],
		.b = arrays[1],
		.c = arrays[2],
		.trans_a = trans_a,
		.trans_b = trans_b,
		.accumulate = accumulate,
		.workspace = arrays[3],
		.workspace_bytes = 4 << 20,
	};
	char name[80];
	snprintf(name, sizeof(name), "matmul %lldx%lldx%lld%s%s%s", (long long)m, (long long)n,
		 (long long)k, trans_a ? " ta" : "", trans_b ? " tb" : "", accumulate ? " +=" : "");
	measure(name, run_matmul, &args, 2.0 * (double)(m * n * k),
		(double)(m * n + n * k + m * k) * sizeof(float));
}

static int run_forward(const void *args)
{
	return device->ops->attend_forward(device, 0, args);
}

static int run_backward(const void *args)
{
	return device->ops->attend_backward(device, 0, args);
}

/* Counts the products that a causal mask leaves. */
static void attend(int64_t batch, int64_t tokens)
{
	struct rt_attend_backward args = {
		.forward = {.type = RT_F32,
			    .batch = batch,
			    .tokens = tokens,
			    .heads = HEADS,
			    .kv_heads = KV_HEADS,
			    .head = HEAD,
			    .scale = 0.17,
			    .causal = true,
			    .q = arrays[0],
			    .k = arrays[1],
			    .v = arrays[2],
			    .out = arrays[3],
			    .lse = arrays[4]},
		.dout = arrays[5],
		.dq = arrays[6],
		.dk = arrays[7],
		.dv = arrays[8],
	};
	double flops = 2.0 * (double)(batch * HEADS * tokens * (tokens + 1) * HEAD);
	char name[80];
	snprintf(name, sizeof(name), "attend_forward %lld tokens", (long long)tokens);
	measure(name, run_forward, &args.forward, flops, 0);
	snprintf(name, sizeof(name), "attend_backward %lld tokens", (long long)tokens);
	measure(name, run_backward, &args, 2.5 * flops, 0);
}

static void matmuls(void)
{
	static const int64_t sides[][2] = {
		{EMBED, EMBED}, {64, EMBED}, {FFN, EMBED}, {EMBED, FFN}, {VOCAB, EMBED}};
	for (int i = 0; i < 5; i++) {
		matmul(ROWS, sides[i][0], sides[i][1], false, true, false);
		matmul(ROWS, sides[i][1], sides[i][0], false, false, false);
		matmul(sides[i][0], sides[i][1], ROWS, true, false, true);
	}
}

static void elements(void)
{
	struct loop l = {
		&rt_silu_f32, ROWS * FFN, {.in = {arrays[0], arrays[1]}, .out = {arrays[2]}}};
	loop("silu", &l, 2.0 * ROWS * FFN);
	l.kernel = &rt_silu_backward_f32;
	loop("silu_backward", &l, 3.0 * ROWS * FFN);
	l.kernel = &rt_gelu_f32;
	loop("gelu", &l, 2.0 * ROWS * FFN);
	l.kernel = &rt_gelu_backward_f32;
	loop("gelu_backward", &l, 3.0 * ROWS * FFN);
	l.kernel = &rt_mul_f32;
	memcpy(l.args.size, (int64_t[]){1, ROWS * FFN, 1, 1, ROWS * FFN, 1}, 6 * sizeof(int64_t));
	loop("mul", &l, 3.0 * ROWS * FFN);
	l.kernel = &rt_add_f32;
	l.rows = ROWS * EMBED;
	l.args.size[1] = l.args.size[4] = l.rows;
	l.args.out[0] = arrays[0];
	loop("add in place", &l, 3.0 * ROWS * EMBED);
	memcpy(l.args.size, (int64_t[]){2, ROWS, EMBED, EMBED, 1, 2, ROWS, 0, EMBED, 1},
	       10 * sizeof(int64_t));
	loop("add broadcast", &l, 2.0 * ROWS * EMBED);
	l.kernel = &rt_accumulate_f32;
	loop("accumulate", &l, 3.0 * ROWS * EMBED);
	l = (struct loop){&rt_adamw_f32,
			  WEIGHTS,
			  {.in = {arrays[0], wide[0]},
			   .out = {arrays[1], arrays[2], arrays[3]},
			   .scalar = {0.9, 0.95, 1e-8, 0.1}}};
	loop("adamw", &l, 7.0 * WEIGHTS);
	l = (struct loop){&rt_dropout_f32,
			  ROWS * EMBED,
			  {.in = {arrays[0], wide[0]},
			   .out = {arrays[1]},
			   .size = {1, TOKENS * EMBED},
			   .scalar = {0.1}}};
	loop("dropout", &l, 2.0 * ROWS * EMBED);
}

static void rows(void)
{
	struct loop l = {&rt_rmsnorm_f32,
			 ROWS,
			 {.in = {arrays[0], arrays[1]},
			  .out = {arrays[2], arrays[3]},
			  .size = {EMBED},
			  .scalar = {1e-5}}};
	loop("rmsnorm", &l, 2.0 * ROWS * EMBED);
	l = (struct loop){&rt_rmsnorm_backward_f32,
			  ROWS,
			  {.in = {arrays[0], arrays[1], arrays[3], arrays[4]},
			   .out = {arrays[5], arrays[6]},
			   .size = {EMBED}}};
	loop("rmsnorm_backward", &l, 3.0 * ROWS * EMBED);
	l = (struct loop){&rt_layernorm_f32,
			  ROWS,
			  {.in = {arrays[0], arrays[1], arrays[1]},
			   .out = {arrays[2], arrays[3], arrays[4]},
			   .size = {EMBED},
			   .scalar = {1e-5}}};
	loop("layernorm", &l, 2.0 * ROWS * EMBED);
	l = (struct loop){&rt_layernorm_backward_f32,
			  ROWS,
			  {.in = {arrays[0], arrays[1], arrays[3], arrays[4], arrays[5]},
			   .out = {arrays[6], arrays[7], arrays[8]},
			   .size = {EMBED}}};
	loop("layernorm_backward", &l, 3.0 * ROWS * EMBED);
	l = (struct loop){&rt_rope_f32,
			  ROWS,
			  {.in = {arrays[0], arrays[1]},
			   .out = {arrays[2]},
			   .size = {TOKENS, HEADS, HEAD},
			   .scalar = {1}}};
	loop("rope", &l, 2.0 * ROWS * EMBED);
	l = (struct loop){
		&rt_columns_f32, ROWS, {.in = {arrays[0]}, .out = {arrays[1]}, .size = {EMBED}}};
	loop("columns", &l, 1.0 * ROWS * EMBED);
	l = (struct loop){&rt_tree_rows_f32,
			  EMBED,
			  {.in = {arrays[0]}, .out = {arrays[1]}, .size = {16, EMBED}}};
	loop("tree_rows", &l, 16.0 * EMBED);
	l = (struct loop){&rt_reduce_f32,
			  TOKENS * EMBED,
			  {.in = {arrays[0]},
			   .out = {arrays[1]},
			   .size = {1, TOKENS * EMBED, 1, 1, BATCH, TOKENS * EMBED}}};
	loop("reduce", &l, 1.0 * ROWS * EMBED);
}

static void losses(void)
{
	struct loop l = {
		&rt_cross_entropy_f32,
		ROWS,
		{.in = {arrays[0], indices}, .out = {wide[1], wide[2]}, .size = {VOCAB, VOCAB}}};
	loop("cross_entropy", &l, 1.0 * ROWS * VOCAB);
	l = (struct loop){
		&rt_cross_entropy_backward_f32,
		ROWS,
		{.in = {arrays[0], indices, wide[1]}, .out = {arrays[1]}, .size = {VOCAB, VOCAB}}};
	loop("cross_entropy_backward", &l, 2.0 * ROWS * VOCAB);
	l = (struct loop){&rt_square_sum_f32,
			  WEIGHTS / 64,
			  {.in = {arrays[0]}, .out = {arrays[1]}, .size = {WEIGHTS}}};
	loop("square_sum", &l, 1.0 * WEIGHTS);
	l = (struct loop){&rt_lookup_f32,
			  ROWS,
			  {.in = {indices, arrays[0]}, .out = {arrays[1]}, .size = {EMBED, VOCAB}}};
	loop("lookup", &l, 2.0 * ROWS * EMBED);
	l = (struct loop){&rt_lookup_backward_f32,
			  VOCAB,
			  {.in = {indices, arrays[0]}, .out = {arrays[1]}, .size = {EMBED, ROWS}}};
	loop("lookup_backward", &l, 3.0 * ROWS * EMBED);
}

static void fill(void)
{
	for (int i = 0; i < ARRAYS; i++) {
		arrays[i] = aligned_alloc(64, WEIGHTS * sizeof(float));
		for (int j = 0; j < WEIGHTS; j++)
			arrays[i][j] = (float)((j % 2001 * 7 + i * 104729) % 2001 - 1000) * 1e-3f;
	}
	indices = malloc(ROWS * sizeof(*indices));
	for (int j = 0; j < ROWS; j++)
		indices[j] = j * 97 % 96 + 32;
	for (int i = 0; i < 3; i++)
		wide[i] = calloc(ROWS, sizeof(double));
	for (int i = 0; i < RT_CONTROL_WORDS; i++)
		wide[0][i] = 1;
}

int main(int argc, char **argv)
{
	char fault[RT_DEVICE_FAULT];
	struct rt_device_options options = {.threads = argc > 1 ? atoi(argv[1]) : 1, .ranks = 1};
	names = argc > 2 ? argc - 2 : 0;
	name_list = argv + 2;
	device = cpu_device_open(&options, fault);
	if (!device || options.threads < 1) {
		fprintf(stderr, "%s\n", fault);
		return 1;
	}
	fill();
	matmuls();
	attend(BATCH, TOKENS);
	attend(BATCH / 2, 2 * TOKENS);
	elements();
	rows();
	losses();
	device->ops->close(device);
	return 0;
}
