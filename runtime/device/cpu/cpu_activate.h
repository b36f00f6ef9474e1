/* SPDX-License-Identifier: Apache-2.0 */
/* Activations and their derivatives, for the element kernels and for epilogues. */
#ifndef CPU_CPU_ACTIVATE_H
#define CPU_CPU_ACTIVATE_H

#include "device/cpu/cpu_math.h"

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 = x sigmoid(2 sqrt(2 / pi) (..)) */
#define GELU_TWICE ((REAL)1.5957691216057308)
#define GELU_CUBE ((REAL)0.044715)

INLINE REAL gelu_value(REAL x)
{
	return x * real_sigmoid(GELU_TWICE * (x + GELU_CUBE * x * x * x));
}

INLINE REAL gelu_slope(REAL x)
{
	REAL s = real_sigmoid(GELU_TWICE * (x + GELU_CUBE * x * x * x));
	return s + x * s * (1 - s) * (GELU_TWICE * (1 + 3 * GELU_CUBE * x * x));
}

INLINE REAL gelu_erf_value(REAL x)
{
	return (REAL)(x * 0.5 * erfc(x * -0.70710678118654752));
}

INLINE REAL gelu_erf_slope(REAL x)
{
	double wide = x;
	return (REAL)(0.5 * erfc(wide * -0.70710678118654752) +
		      wide * 0.3989422804014327 * exp(-0.5 * wide * wide));
}

INLINE REAL silu_value(REAL x)
{
	return x * real_sigmoid(x);
}

INLINE REAL silu_slope(REAL x)
{
	REAL s = real_sigmoid(x);
	return s + x * s * (1 - s);
}

INLINE REAL relu_value(REAL x)
{
	return x > 0 ? x : 0;
}

INLINE REAL relu_slope(REAL x)
{
	return x > 0 ? 1 : 0;
}

#endif
