/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of kernels for tests. Arrays are held as doubles that fp32 can hold too; a call turns them
 * into the element type, runs the kernel and turns the outputs back. */
#ifndef NUMERIC_HARNESS_H
#define NUMERIC_HARNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"

/* T, S and G as in kernels.def. */
enum kind { KIND_T, KIND_S, KIND_G, KIND_F64, KIND_I32, KIND_I64 };

struct array {
	enum kind kind;
	int64_t count;
	double *value, *start; /* outputs: what it holds after and before a call */
};

struct call {
	const char *name;
	const struct rt_kernel *f32, *f64, *bf16, *bf16_f32; /* the last: NULL if it has none */
	bool wide_gradients;				     /* RT_BF16 runs bf16_f32: G is fp32 */
	int64_t rows;
	struct array in[RT_MAX_IN], out[RT_MAX_OUT];
	int64_t size[RT_MAX_SIZE];
	double scalar[RT_MAX_SCALAR];
};

#define CALL(row)                                                                                  \
	{                                                                                          \
		.name = #row, .f32 = &rt_##row##_f32, .f64 = &rt_##row##_f64,                      \
		.bf16 = &rt_##row##_bf16                                                           \
	}
#define CALL_MIXED(row)                                                                            \
	{                                                                                          \
		.name = #row, .f32 = &rt_##row##_f32, .f64 = &rt_##row##_f64,                      \
		.bf16 = &rt_##row##_bf16, .bf16_f32 = &rt_##row##_bf16_f32                         \
	}

/* How often a check failed so far; a failed check prints one line. */
extern int failures;
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Cpu devices of 1, 2 and 3 threads. */
enum { DEVICES = 3 };
extern struct rt_device *devices[DEVICES];
void devices_open(void);
void devices_close(void);

/* Reproducible numbers in [low, high], rounded to fp32; whole numbers in [0, limit). */
double random_between(double low, double high);
int64_t random_below(int64_t limit);

/* `count` numbers of [-1, 1], whole numbers below `limit`, copies of one value. */
struct array array_random(int64_t count);
struct array array_index(int64_t count, int64_t limit);
struct array array_filled(enum kind kind, int64_t count, double value);
/* Another array with the same numbers. */
struct array array_like(const struct array *from);
/* A control block, training, seed 7, step 5, sample 3. */
struct array array_control(void);

/* The number of bf16 that is nearest, ties to even. */
double round_bf16(double x);

/* Typed bytes of an array; the caller frees them. */
void *array_pack(const struct array *array, enum rt_type type, const double *value);
int64_t array_bytes(const struct array *array, enum rt_type type);
void array_unpack(struct array *array, enum rt_type type, const void *bytes);

/* Runs once, on the device of one thread; outputs are left in out[..].value. -1: the kernel failed.
 */
int call_run(struct call *call, enum rt_type type);

/* Runs all types with all numbers of threads and all instruction sets: equal bits, and out[o] near
 * want[o] (NULL: not compared). f32 is compared within `tolerance`, f64 within 1e-12; bf16 has the
 * bits of f32 on the same inputs, rounded once. Outputs are left as the last run of f64 gave them.
 */
void call_check(struct call *call, double *const *want, double tolerance);

/* Gradient of sum(dy out[0]) by in[which], against `got`, by central differences in f64. Of integer
 * inputs there is none. */
void call_gradient(struct call *forward, const double *dy, int which, const double *got);

void compare(const char *what, int64_t count, const double *got, const double *want,
	     double tolerance);

void call_free(struct call *call);

/* A test for each row of kernels.def. */
#define LIB(name) void test_##name(void);
#define LOOP(name, block, ins, outs, sizes, scalars) void test_##name(void);
#include "rt/kernels.def"
#undef LIB
#undef LOOP

/* Tests of what the rows are made of. */
void test_exact(void);
void test_random(void);
void test_matmul_rests(void);
void test_workspace(void);

#endif
