/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions of hot loops. In double they are libm's; in float they are written with
 * + - * and integer shifts only, so that a loop over them becomes vector code without another bit.
 */
#ifndef CPU_CPU_MATH_H
#define CPU_CPU_MATH_H

#include <math.h>

#include "device/cpu/real.h"

#ifdef CPU_DOUBLE

INLINE double real_exp(double x)
{
	return exp(x);
}

#else

/* Within 2 ulp for -87.3 < x < 88.3; 0 below, infinity above, NaN for NaN. x = n ln 2 + r; the
 * polynomial is a Chebyshev fit of (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2. Adding 1.5 2^23 leaves n
 * in the low bits of `shifted`. No condition is asked twice: compilers make a branch of that, and a
 * loop with a branch does not become vector code. */
INLINE float real_exp(float x)
{
	float inside = x < -120 ? -120 : x;
	inside = inside > 89 ? 89 : inside;
	float shifted = inside * 1.44269504f + 12582912.0f;
	float n = shifted - 12582912.0f;
	float r = (inside - n * 0.693359375f) + n * 2.1219444e-4f;
	float p = 1.989101714e-4f;
	p = p * r + 1.393367373e-3f;
	p = p * r + 8.333310902e-3f;
	p = p * r + 4.166646471e-2f;
	p = p * r + 1.666666668e-1f;
	p = p * r + 5.000000013e-1f;
	p = (p * r * r + r) + 1;
	int32_t exponent;
	float scale;
	memcpy(&exponent, &shifted, sizeof(exponent));
	exponent += 127 - 0x4b400000;
	exponent = exponent < 0 ? 0 : exponent;
	uint32_t bits = (uint32_t)exponent << 23;
	memcpy(&scale, &bits, sizeof(scale));
	return p * scale;
}

#endif

/* 1 / (1 + e^-x) */
INLINE REAL real_sigmoid(REAL x)
{
	return 1 / (1 + real_exp(-x));
}

#endif
