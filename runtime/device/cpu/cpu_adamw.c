/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer. The gradient is read, never stored scaled; decay is decoupled and counts the
 * weight before the step (Loshchilov and Hutter 2019). */
#include <math.h>

#include "base/rt_philox.h"
#include "device/cpu/real.h"

/* What is the same for all elements of a step. */
struct adamw {
	REAL beta1, beta2, rest1, rest2, eps;
	REAL rate, root, keep, factor;
};

/* Weight, gradient and moments of one element. */
struct element {
	REAL w, g, m, v;
};

INLINE struct adamw adamw_start(const double *control, const double *scalar)
{
	double lr = control[RT_CONTROL_LR];
	return (struct adamw){
		.beta1 = (REAL)scalar[0],
		.beta2 = (REAL)scalar[1],
		.rest1 = (REAL)(1 - scalar[0]),
		.rest2 = (REAL)(1 - scalar[1]),
		.eps = (REAL)scalar[2],
		.rate = (REAL)(lr / control[RT_CONTROL_CORRECTION1]),
		.root = (REAL)(1 / sqrt(control[RT_CONTROL_CORRECTION2])),
		.keep = (REAL)(1 - lr * scalar[3]),
		.factor = (REAL)control[RT_CONTROL_FACTOR],
	};
}

INLINE struct element adamw_step(const struct adamw *a, struct element e)
{
	REAL scaled = e.g * a->factor;
	e.m = a->beta1 * e.m + a->rest1 * scaled;
	e.v = a->beta2 * e.v + a->rest2 * scaled * scaled;
	REAL root_v = sizeof(REAL) == 8 ? (REAL)sqrt(e.v) : (REAL)sqrtf((float)e.v);
	e.w = e.w * a->keep - a->rate * e.m / (root_v * a->root + a->eps);
	return e;
}

KERNEL(adamw)
{
	const GRAD *g = args->in[0];
	ELEM *w = args->out[0], *m = args->out[1], *v = args->out[2];
	struct adamw a = adamw_start(args->in[1], args->scalar);
	PARALLEL_LOOP
	for (int64_t i = first; i < last; i++) {
		struct element e = {real_of(w[i]), grad_real(g[i]), real_of(m[i]), real_of(v[i])};
		e = adamw_step(&a, e);
		m[i] = elem_of(e.m);
		v[i] = elem_of(e.v);
		w[i] = elem_of(e.w);
	}
}

KERNEL(adamw_master)
{
	const GRAD *g = args->in[0];
	ELEM *w = args->out[0];
	REAL *master = args->out[1], *m = args->out[2], *v = args->out[3];
	struct adamw a = adamw_start(args->in[1], args->scalar);
	PARALLEL_LOOP
	for (int64_t i = first; i < last; i++) {
		struct element e = {master[i], grad_real(g[i]), m[i], v[i]};
		e = adamw_step(&a, e);
		m[i] = e.m;
		v[i] = e.v;
		master[i] = e.w;
		w[i] = elem_of(e.w);
	}
}

/* Random bits of elements side by side, from an even one on: two words each, see kernels.def. */
enum { BLOCKS = 16, GROUP = 2 * BLOCKS };
struct bits {
	uint32_t first[GROUP], second[GROUP];
};

#ifdef CPU_BF16
#define ROUND(x, random) bf16_stochastic((x), (random))

/* Elements 2 block .. 2 block + GROUP - 1. */
INLINE void bits_group(const double *control, uint32_t stream, uint64_t block, struct bits *bits)
{
	uint64_t seed = (uint64_t)control[RT_CONTROL_SEED];
	uint32_t step = (uint32_t)control[RT_CONTROL_STEP], word[4][BLOCKS];
	PARALLEL_LOOP
	for (int i = 0; i < BLOCKS; i++) {
		struct rt_philox_state s = rt_philox_rounds(
			rt_philox_start(seed, RT_RANDOM_ROUND, step, stream, block + (uint64_t)i));
		word[0][i] = s.word[0];
		word[1][i] = s.word[1];
		word[2][i] = s.word[2];
		word[3][i] = s.word[3];
	}
	for (int i = 0; i < GROUP; i++) {
		bits->first[i] = word[i % 2 * 2][i / 2];
		bits->second[i] = word[i % 2 * 2 + 1][i / 2];
	}
}
#else
#define ROUND(x, random) ((void)(random), (x))

INLINE void bits_group(const double *control, uint32_t stream, uint64_t block, struct bits *bits)
{
	(void)control, (void)stream, (void)block;
	memset(bits, 0, sizeof(*bits));
}
#endif

/* Elements [at, at + count) of the arrays, with the bits from `skip` on. */
INLINE void stochastic_run(const struct rt_args *args, const struct adamw *a, int64_t at,
			   int64_t count, const struct bits *bits, int64_t skip)
{
	const GRAD *g = (const GRAD *)args->in[0] + at;
	ELEM *w = (ELEM *)args->out[0] + at;
	ELEM *m = (ELEM *)args->out[1] + at, *v = (ELEM *)args->out[2] + at;
	PARALLEL_LOOP
	for (int64_t i = 0; i < count; i++) {
		struct element e = {real_of(w[i]), grad_real(g[i]), real_of(m[i]), real_of(v[i])};
		e = adamw_step(a, e);
		w[i] = ROUND(e.w, bits->first[skip + i]);
		m[i] = ROUND(e.m, bits->first[skip + i] >> 16);
		v[i] = ROUND(e.v, bits->second[skip + i]);
	}
}

KERNEL(adamw_stochastic)
{
	const double *control = args->in[1];
	struct adamw a = adamw_start(control, args->scalar);
	int64_t here = args->size[1], all = args->size[2], start = args->size[3] + args->size[4];
	for (int64_t i = first; i < last;) {
		int64_t at = args->size[5] + i, column = at % here;
		int64_t element = at / here * all + start + column;
		int64_t skip = element % 2, count = least(here - column, last - i);
		struct bits bits;
		count = least(count, GROUP - skip);
		bits_group(control, (uint32_t)args->size[0], (uint64_t)element / 2, &bits);
		stochastic_run(args, &a, i, count, &bits, skip);
		i += count;
	}
}
