/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel file is written over. Each kernel file is compiled once for every element type and
 * every instruction set (see CMakeLists.txt), with CPU_TYPE = f32, f64, bf16 or bf16_f32 and
 * CPU_ISA = base, avx2 or avx512. Vectors are 64 bytes on every instruction set, so lanes, and with
 * them the bits of a sum, are the same everywhere.
 *
 * REAL is what is computed with, and the type S of kernels.def. ELEM is an element of an array of
 * type T, GRAD one of an array of type G; real_of, elem_of, grad_real and grad_of go between them.
 * They differ from REAL for bf16 only, which is a struct, so that no sum can be kept in it by
 * mistake. */
#ifndef CPU_REAL_H
#define CPU_REAL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "device/cpu/cpu_bf16.h"
#include "device/cpu/cpu_kernels.h"
#include "rt/rt.h"

#ifdef CPU_DOUBLE
#define REAL double
#define REAL_BITS int64_t
#else
#define REAL float
#define REAL_BITS int32_t
#endif

enum { LANES = 64 / sizeof(REAL), WIDE = 8 /* doubles in a vector */ };

typedef REAL vreal __attribute__((vector_size(64)));
typedef REAL vreal_at __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));
typedef REAL vreal_wide
	__attribute__((vector_size(8 * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
typedef double vdouble __attribute__((vector_size(64)));
typedef double vdouble_at __attribute__((vector_size(64), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline, unused))

#ifdef CPU_BF16
#define ELEM struct bf16
INLINE REAL real_of(ELEM x)
{
	return bf16_value(x);
}

INLINE ELEM elem_of(REAL x)
{
	return bf16_nearest(x);
}
#else
#define ELEM REAL
INLINE REAL real_of(ELEM x)
{
	return x;
}

INLINE ELEM elem_of(REAL x)
{
	return x;
}
#endif

#ifdef CPU_MIXED
#define GRAD REAL
INLINE REAL grad_real(GRAD x)
{
	return x;
}

INLINE GRAD grad_of(REAL x)
{
	return x;
}
#else
#define GRAD ELEM
#define grad_real real_of
#define grad_of elem_of
#endif

/* A loop without dependence between iterations; arrays may be the same, not shifted. */
#define PARALLEL_LOOP _Pragma("omp simd")

#define CPU_NAME(name) CPU_NAME_OF(name, CPU_TYPE, CPU_ISA)

/* Opens the body of a row of kernels.def: rows [first, last) of it. */
#define KERNEL(name)                                                                               \
	static void name##_rows(const struct rt_args *args, int64_t first, int64_t last);          \
	void CPU_NAME(name)(const struct rt_args *args, int64_t first_block, int64_t last_block,   \
			    int64_t rows)                                                          \
	{                                                                                          \
		int64_t last = last_block * CPU_BLOCK_##name;                                      \
		name##_rows(args, first_block *CPU_BLOCK_##name, last < rows ? last : rows);       \
	}                                                                                          \
	static void name##_rows(const struct rt_args *args, int64_t first, int64_t last)

#define LIB(name)
#define LOOP(name, block, ins, outs, sizes, scalars)                                               \
	void CPU_NAME(name)(const struct rt_args *args, int64_t first_block, int64_t last_block,   \
			    int64_t rows);
#include "rt/kernels.def"
#undef LIB
#undef LOOP
#define CPU_ITEM(name) void CPU_NAME(name)(const void *args, int64_t item, void *scratch);
CPU_ITEMS
#undef CPU_ITEM

INLINE int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

INLINE vreal splat(REAL x)
{
	return x - (vreal){0};
}

INLINE vdouble wide_load(const REAL *at)
{
	return __builtin_convertvector(*(const vreal_wide *)at, vdouble);
}

/* Up to 8 elements, the missing ones 0. */
INLINE vdouble wide_load_part(const REAL *at, int64_t count)
{
	REAL part[WIDE] = {0};
	memcpy(part, at, (size_t)count * sizeof(REAL));
	return wide_load(part);
}

/* The lanes of a vector, added as a tree. */
INLINE double wide_sum(vdouble v)
{
	return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

INLINE vdouble row_load_real(const REAL *at, int64_t count)
{
	return count == WIDE ? wide_load(at) : wide_load_part(at, count);
}

#ifdef CPU_BF16
INLINE vdouble row_load(const ELEM *at, int64_t count)
{
	REAL part[WIDE] = {0};
	if (count == WIDE) {
		for (int i = 0; i < WIDE; i++)
			part[i] = real_of(at[i]);
	} else {
		for (int64_t i = 0; i < count; i++)
			part[i] = real_of(at[i]);
	}
	return wide_load(part);
}
#else
#define row_load row_load_real
#endif

INLINE vdouble row_keep(vdouble v, int64_t count)
{
	for (int64_t i = count; i < WIDE; i++)
		v[i] = 0;
	return v;
}

/* sum = the sum of `expression` over n elements, in double; in it ROW(array) stands for the
 * elements of an array of ELEM, ROW_REAL(array) of REAL. Groups of 8 elements go to two vectors by
 * turns, lanes are added as a tree: zeros behind the row move no bit.
 */
#define ROW_SUM(sum, n, expression)                                                                \
	do {                                                                                       \
		vdouble even_ = {0}, odd_ = {0};                                                   \
		int64_t row_at = 0, row_count = WIDE;                                              \
		while (row_at + 2 * WIDE <= (n)) {                                                 \
			even_ += (expression);                                                     \
			row_at += WIDE;                                                            \
			odd_ += (expression);                                                      \
			row_at += WIDE;                                                            \
		}                                                                                  \
		if (row_at < (n)) {                                                                \
			row_count = least((n)-row_at, WIDE);                                       \
			even_ += row_keep((expression), row_count);                                \
			row_at += WIDE;                                                            \
		}                                                                                  \
		if (row_at < (n)) {                                                                \
			row_count = (n)-row_at;                                                    \
			odd_ += row_keep((expression), row_count);                                 \
		}                                                                                  \
		(sum) = wide_sum(even_ + odd_);                                                    \
	} while (0)
#define ROW(array) row_load((array) + row_at, row_count)
#define ROW_REAL(array) row_load_real((array) + row_at, row_count)

#endif
