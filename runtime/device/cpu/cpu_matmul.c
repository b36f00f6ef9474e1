/* SPDX-License-Identifier: Apache-2.0 */
/* Product of matrices by tiles, and what follows a product. One sum an element, over k ascending:
 * neither tiles nor threads move a bit. */
#include "device/cpu/cpu_activate.h"
#include "device/cpu/cpu_panel.h"
#include "device/cpu/cpu_tiles.h"

enum { SIDE = CPU_MATMUL_SIDE, DEPTH = 128, VECTORS = SIDE / LANES };

struct tile {
	int64_t row, column, rows, columns;
	_Alignas(64) REAL sum[SIDE * SIDE], right[DEPTH * SIDE], left[SIDE * DEPTH];
};

static void copy_real(REAL *to, const ELEM *from, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		to[i] = real_of(from[i]);
}

/* right[k][column] of terms [from, from + depth), the missing columns 0. */
static void pack_right(const struct rt_matmul *a, struct tile *t, int64_t from, int64_t depth)
{
	const ELEM *b = a->b;
	for (int64_t k = 0; k < depth; k++) {
		REAL *to = t->right + k * SIDE;
		memset(to + t->columns, 0, (size_t)(SIDE - t->columns) * sizeof(REAL));
		if (!a->trans_b)
			copy_real(to, b + (from + k) * a->n + t->column, t->columns);
	}
	for (int64_t j = 0; a->trans_b && j < t->columns; j++) {
		const ELEM *at = b + (t->column + j) * a->k + from;
		for (int64_t k = 0; k < depth; k++)
			t->right[k * SIDE + j] = real_of(at[k]);
	}
}

/* Sets the left operand of a panel to terms [from, ..): in place, or widened into the tile. */
static void set_left(const struct rt_matmul *a, struct tile *t, struct panel *p, int64_t from)
{
	int64_t at = a->trans_a ? from * a->m + t->row : t->row * a->k + from;
	const ELEM *left = (const ELEM *)a->a + at;
	p->a_row = a->trans_a ? 1 : a->k;
	p->a_depth = a->trans_a ? a->m : 1;
#ifdef CPU_BF16
	for (int64_t i = 0; i < p->rows; i++)
		for (int64_t k = 0; k < p->depth; k++)
			t->left[i * DEPTH + k] = real_of(left[i * p->a_row + k * p->a_depth]);
	p->a = t->left;
	p->a_row = DEPTH;
	p->a_depth = 1;
#else
	p->a = left;
#endif
}

static void store(const struct rt_matmul *a, const struct tile *t)
{
	for (int64_t i = 0; i < t->rows; i++) {
		int64_t at = (t->row + i) * a->n + t->column;
		ELEM *c = (ELEM *)a->c + at;
		REAL *wide = (REAL *)a->c + at;
		const REAL *sum = t->sum + i * SIDE;
		for (int64_t j = 0; a->wide_c && j < t->columns; j++)
			wide[j] = a->accumulate ? sum[j] + wide[j] : sum[j];
		for (int64_t j = 0; !a->wide_c && j < t->columns; j++)
			c[j] = elem_of(a->accumulate ? sum[j] + real_of(c[j]) : sum[j]);
	}
}

void CPU_NAME(matmul)(const void *args, int64_t item, void *scratch)
{
	const struct rt_matmul *a = args;
	struct tile t;
	int64_t across = (a->n + SIDE - 1) / SIDE;
	(void)scratch;
	t.row = item / across * SIDE;
	t.column = item % across * SIDE;
	t.rows = least(SIDE, a->m - t.row);
	t.columns = least(SIDE, a->n - t.column);
	memset(t.sum, 0, sizeof(t.sum));
	for (int64_t from = 0; from < a->k; from += DEPTH) {
		struct panel p = {
			.c = t.sum,
			.c_row = SIDE,
			.b = t.right,
			.b_row = SIDE,
			.rows = t.rows,
			.depth = least(DEPTH, a->k - from),
			.vectors = (t.columns + LANES - 1) / LANES,
		};
		set_left(a, &t, &p, from);
		pack_right(a, &t, from, p.depth);
		panel_add(&p);
	}
	store(a, &t);
}

#define ACTIVATE(name)                                                                             \
	do {                                                                                       \
		PARALLEL_LOOP                                                                      \
		for (int64_t i = 0; i < n; i++)                                                    \
			c[i] = elem_of(name##_value(real_of(c[i])));                               \
	} while (0)

static void activate(enum rt_activation act, ELEM *c, int64_t n)
{
	switch (act) {
	case RT_NONE:
		break;
	case RT_GELU:
		ACTIVATE(gelu);
		break;
	case RT_GELU_ERF:
		ACTIVATE(gelu_erf);
		break;
	case RT_SILU:
		ACTIVATE(silu);
		break;
	case RT_RELU:
		ACTIVATE(relu);
		break;
	}
}

static void add_bias_wide(const struct rt_matmul *a, int64_t first, int64_t last)
{
	const ELEM *bias = a->epilogue.bias;
	for (int64_t row = first; row < last; row++) {
		REAL *c = (REAL *)a->c + row * a->n;
		for (int64_t i = 0; i < a->n; i++)
			c[i] += real_of(bias[i]);
	}
}

/* Rows [item, item + 1) * CPU_EPILOGUE_ROWS of c. */
void CPU_NAME(epilogue)(const void *args, int64_t item, void *scratch)
{
	const struct rt_matmul *a = args;
	const struct rt_epilogue *e = &a->epilogue;
	const ELEM *bias = e->bias;
	(void)scratch;
	int64_t first = item * CPU_EPILOGUE_ROWS, last = least(first + CPU_EPILOGUE_ROWS, a->m);
	if (a->wide_c) {
		add_bias_wide(a, first, last);
		return;
	}
	for (int64_t row = first; row < last; row++) {
		ELEM *c = (ELEM *)a->c + row * a->n;
		const ELEM *residual = e->residual;
		for (int64_t i = 0; bias && i < a->n; i++)
			c[i] = elem_of(real_of(c[i]) + real_of(bias[i]));
		if (e->pre_activation)
			memcpy((ELEM *)e->pre_activation + row * a->n, c,
			       (size_t)a->n * sizeof(ELEM));
		activate(e->act, c, a->n);
		for (int64_t i = 0; residual && i < a->n; i++)
			c[i] = elem_of(real_of(c[i]) + real_of(residual[row * a->n + i]));
	}
}
