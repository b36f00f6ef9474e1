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
	const ELEM *g = args->in[0];
	ELEM *w = args->out[0], *m = args->out[1], *v = args->out[2];
	struct adamw a = adamw_start(args->in[1], args->scalar);
	PARALLEL_LOOP
	for (int64_t i = first; i < last; i++) {
		struct element e = {real_of(w[i]), real_of(g[i]), real_of(m[i]), real_of(v[i])};
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

/* Random bits of an element, 32 in each word: block e / 2 of the sequence has those of two. */
struct bits {
	uint32_t word[2];
};

#ifdef CPU_BF16
#define ROUND(x, random) bf16_stochastic((x), (random))

INLINE struct bits bits_of(const double *control, uint32_t stream, uint64_t element)
{
	struct rt_philox_state s = rt_philox_rounds(
		rt_philox_start((uint64_t)control[RT_CONTROL_SEED], RT_RANDOM_ROUND,
				(uint32_t)control[RT_CONTROL_STEP], stream, element / 2));
	bool odd = element % 2;
	return (struct bits){{odd ? s.word[2] : s.word[0], odd ? s.word[3] : s.word[1]}};
}
#else
#define ROUND(x, random) ((void)(random), (x))

INLINE struct bits bits_of(const double *control, uint32_t stream, uint64_t element)
{
	(void)control, (void)stream, (void)element;
	return (struct bits){{0, 0}};
}
#endif

KERNEL(adamw_stochastic)
{
	const ELEM *g = args->in[0];
	ELEM *w = args->out[0], *m = args->out[1], *v = args->out[2];
	const double *control = args->in[1];
	struct adamw a = adamw_start(control, args->scalar);
	int64_t here = args->size[1], all = args->size[2], start = args->size[3];
	for (int64_t i = first; i < last; i++) {
		struct element e = {real_of(w[i]), real_of(g[i]), real_of(m[i]), real_of(v[i])};
		struct bits random = bits_of(control, (uint32_t)args->size[0],
					     (uint64_t)(i / here * all + start + i % here));
		e = adamw_step(&a, e);
		w[i] = ROUND(e.w, random.word[0]);
		m[i] = ROUND(e.m, random.word[0] >> 16);
		v[i] = ROUND(e.v, random.word[1]);
	}
}
