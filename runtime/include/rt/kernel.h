/* SPDX-License-Identifier: Apache-2.0 */
/* Types and rows of the kernel table: the part of the contract that planc itself reads. */
#ifndef RT_KERNEL_H
#define RT_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

enum rt_type {
#define RT_TYPE(name, bytes, text) RT_##name,
#include "rt/types.def"
#undef RT_TYPE
	RT_TYPES
};

enum rt_row {
#define LIB(name) RT_ROW_##name,
#define LOOP(name, block, ins, outs, sizes, scalars) RT_ROW_##name,
#include "rt/kernels.def"
#undef LIB
#undef LOOP
	RT_ROWS
};

/* The target of a token without one: not counted, and looked up as zeros. */
enum { RT_NO_TARGET = INT32_MIN };

enum { RT_MAX_IN = 8, RT_MAX_OUT = 4, RT_MAX_SIZE = 20, RT_MAX_SCALAR = 6 };

struct rt_args {
	const void *in[RT_MAX_IN];
	void *out[RT_MAX_OUT];
	int64_t size[RT_MAX_SIZE];
	double scalar[RT_MAX_SCALAR];
};

struct rt_kernel {
	const char *name;
	int64_t block; /* rows a block: fixed, so threads never move a bit */
	void (*rows)(const struct rt_args *args, int64_t first_block, int64_t last_block,
		     int64_t rows);
	const void *image;	  /* cuda: ptx or cubin */
	uint32_t threads, shared; /* cuda */
};

#define LIB(name)
#define LOOP(name, block, ins, outs, sizes, scalars)                                               \
	extern const struct rt_kernel rt_##name##_f32, rt_##name##_f64, rt_##name##_bf16;
#define MIXED(name) extern const struct rt_kernel rt_##name##_bf16_f32;
#include "rt/kernels.def"
#undef LIB
#undef LOOP

/* The control block: f64 words that kernels of the update and dropout read. */
enum rt_control {
	RT_CONTROL_LR,
	RT_CONTROL_CORRECTION1, /* 1 - beta1^t */
	RT_CONTROL_CORRECTION2, /* 1 - beta2^t */
	RT_CONTROL_FACTOR,
	RT_CONTROL_LOSS, /* mean over valid tokens of the step */
	RT_CONTROL_COUNT,
	RT_CONTROL_NORM,
	RT_CONTROL_FINITE, /* 1 if loss and norm are finite */
	RT_CONTROL_SEED,   /* exact below 2^53 */
	RT_CONTROL_STEP,
	RT_CONTROL_SAMPLE,   /* number within the step of the first sample of this micro-batch */
	RT_CONTROL_TRAINING, /* 0: dropout is the identity */
	RT_CONTROL_WORDS = 16
};

enum { RT_EXACT_WORDS = 48 }; /* int64 words of an order-free accumulator, flags included */

enum rt_random {
	RT_RANDOM_INIT = 1,
	RT_RANDOM_DROPOUT,
	RT_RANDOM_DATA,
	RT_RANDOM_SAMPLE,
	RT_RANDOM_ROUND
};

#endif
