/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that work element by element. Outputs may be an input (not a shifted one). */
#include "device/cpu/cpu_activate.h"
#include "device/cpu/cpu_mask.h"

#define ACTIVATION(name)                                                                           \
	KERNEL(name)                                                                               \
	{                                                                                          \
		const ELEM *x = args->in[0];                                                       \
		ELEM *y = args->out[0];                                                            \
		PARALLEL_LOOP                                                                      \
		for (int64_t i = first; i < last; i++)                                             \
			y[i] = elem_of(name##_value(real_of(x[i])));                               \
	}                                                                                          \
	KERNEL(name##_backward)                                                                    \
	{                                                                                          \
		const ELEM *x = args->in[0], *dy = args->in[1];                                    \
		ELEM *dx = args->out[0];                                                           \
		PARALLEL_LOOP                                                                      \
		for (int64_t i = first; i < last; i++)                                             \
			dx[i] = elem_of(real_of(dy[i]) * name##_slope(real_of(x[i])));             \
	}

ACTIVATION(gelu)
ACTIVATION(gelu_erf)
ACTIVATION(silu)
ACTIVATION(relu)

KERNEL(scale)
{
	const ELEM *x = args->in[0];
	ELEM *y = args->out[0];
	REAL factor = (REAL)args->scalar[0];
	PARALLEL_LOOP
	for (int64_t i = first; i < last; i++)
		y[i] = elem_of(real_of(x[i]) * factor);
}

KERNEL(accumulate)
{
	const ELEM *x = args->in[0];
	GRAD *y = args->out[0];
	PARALLEL_LOOP
	for (int64_t i = first; i < last; i++)
		y[i] = grad_of(grad_real(y[i]) + real_of(x[i]));
}

KERNEL(narrow)
{
	const REAL *x = args->in[0];
	ELEM *y = args->out[0];
	PARALLEL_LOOP
	for (int64_t i = first; i < last; i++)
		y[i] = elem_of(x[i]);
}

KERNEL(widen)
{
	const ELEM *x = args->in[0];
	REAL *y = args->out[0];
	PARALLEL_LOOP
	for (int64_t i = first; i < last; i++)
		y[i] = real_of(x[i]);
}

/* Two operands in step over a layout of up to 4 dims; `at` is the place of the current element. */
struct pair_walk {
	int64_t dims, count[4], index[4], stride[2][4], at[2];
};

/* The layouts are size[0 ..], see kernels.def. No dims stand for one element. */
static struct pair_walk pair_walk_start(const int64_t *size, int64_t row)
{
	struct pair_walk w = {.dims = size[0], .count = {1, 1, 1, 1}};
	const int64_t *b = size + 1 + 2 * w.dims;
	for (int64_t i = w.dims - 1; i >= 0; i--) {
		w.count[i] = size[1 + 2 * i];
		w.stride[0][i] = size[2 + 2 * i];
		w.stride[1][i] = b[2 + 2 * i];
		w.index[i] = row % w.count[i];
		row /= w.count[i];
		w.at[0] += w.index[i] * w.stride[0][i];
		w.at[1] += w.index[i] * w.stride[1][i];
	}
	if (w.dims == 0)
		w.dims = 1;
	return w;
}

static void pair_walk_go(struct pair_walk *w, int64_t elements)
{
	int64_t carry = elements;
	for (int64_t i = w->dims - 1; i >= 0 && carry != 0; i--) {
		int64_t to = (w->index[i] + carry) % w->count[i];
		carry = (w->index[i] + carry) / w->count[i];
		w->at[0] += (to - w->index[i]) * w->stride[0][i];
		w->at[1] += (to - w->index[i]) * w->stride[1][i];
		w->index[i] = to;
	}
}

#define PAIR_LOOP(a_at, b_at, op)                                                                  \
	do {                                                                                       \
		PARALLEL_LOOP                                                                      \
		for (int64_t i = 0; i < run; i++)                                                  \
			y[i] = elem_of(real_of(a[a_at]) op real_of(b[b_at]));                      \
	} while (0)

#define PAIRWISE(name, op)                                                                         \
	static void name##_run(ELEM *y, const ELEM *a, int64_t a_stride, const ELEM *b,            \
			       int64_t b_stride, int64_t run)                                      \
	{                                                                                          \
		if (a_stride == 1 && b_stride == 1)                                                \
			PAIR_LOOP(i, i, op);                                                       \
		else if (a_stride == 1 && b_stride == 0)                                           \
			PAIR_LOOP(i, 0, op);                                                       \
		else                                                                               \
			PAIR_LOOP(i *a_stride, i *b_stride, op);                                   \
	}                                                                                          \
	KERNEL(name)                                                                               \
	{                                                                                          \
		const ELEM *a = args->in[0], *b = args->in[1];                                     \
		ELEM *y = args->out[0];                                                            \
		struct pair_walk w = pair_walk_start(args->size, first);                           \
		int64_t inner = w.dims - 1;                                                        \
		for (int64_t i = first; i < last;) {                                               \
			int64_t run = least(w.count[inner] - w.index[inner], last - i);            \
			name##_run(y + i, a + w.at[0], w.stride[0][inner], b + w.at[1],            \
				   w.stride[1][inner], run);                                       \
			pair_walk_go(&w, run);                                                     \
			i += run;                                                                  \
		}                                                                                  \
	}

PAIRWISE(add, +)
PAIRWISE(sub, -)
PAIRWISE(mul, *)

/* y = x under the mask of the elements [element, element + count). */
static void drop(const struct mask *mask, ELEM *y, const ELEM *x, uint64_t element, int64_t count)
{
	for (int64_t i = 0; i < count;) {
		REAL keep[MASK_ELEMENTS];
		int64_t skip = (int64_t)((element + (uint64_t)i) % 4),
			part = least(MASK_ELEMENTS - skip, count - i);
		mask_group(mask, (element + (uint64_t)i) / 4, keep);
		PARALLEL_LOOP
		for (int64_t j = 0; j < part; j++)
			y[i + j] = elem_of(keep[skip + j] > 0 ? real_of(x[i + j]) * keep[skip + j]
							      : 0);
		i += part;
	}
}

/* Rows [first, last): of each `all` elements, those from `start` on are here, `here` of them. */
static void drop_rows(const struct rt_args *args, int64_t first, int64_t last, int64_t here,
		      int64_t all, int64_t start)
{
	const ELEM *x = args->in[0];
	const double *control = args->in[1];
	ELEM *y = args->out[0];
	struct mask mask = mask_start(control, args->size[0], args->scalar[0]);
	int64_t sample = (int64_t)(control[RT_CONTROL_SAMPLE] * (double)args->size[1]);
	if (control[RT_CONTROL_TRAINING] == 0) {
		memmove(y + first, x + first, (size_t)(last - first) * sizeof(ELEM));
		return;
	}
	for (int64_t i = first; i < last;) {
		int64_t column = i % here, count = least(here - column, last - i);
		int64_t element = sample + i / here * all + start + column;
		drop(&mask, y + i, x + i, (uint64_t)element, count);
		i += count;
	}
}

KERNEL(dropout)
{
	drop_rows(args, first, last, INT64_MAX, 0, 0);
}

KERNEL(dropout_part)
{
	drop_rows(args, first, last, args->size[2], args->size[3],
		  args->size[4] + args->size[5]);
}
