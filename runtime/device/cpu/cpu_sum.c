/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over rows and blocks: in double, in an order that the shape alone gives. */
#include <math.h>

#include "device/cpu/real.h"
#include "rt/exact.h"

enum { TILE = 64, LEVELS = 40 };

/* Offset of row-major index `row` over n (count, stride) pairs. */
static int64_t pairs_offset(const int64_t *pairs, int64_t n, int64_t row)
{
	int64_t at = 0;
	for (int64_t i = n - 1; i >= 0; i--) {
		at += row % pairs[2 * i] * pairs[2 * i + 1];
		row /= pairs[2 * i];
	}
	return at;
}

INLINE void add_row(double *restrict total, const ELEM *restrict row, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		total[i] += real_of(row[i]);
}

KERNEL(reduce)
{
	const ELEM *x = args->in[0];
	GRAD *y = args->out[0];
	int64_t kept = args->size[0], summed = args->size[1 + 2 * kept], terms = 1;
	const int64_t *keep = args->size + 1, *sum = args->size + 2 + 2 * kept;
	for (int64_t i = 0; i < summed; i++)
		terms *= sum[2 * i];
	for (int64_t left = first; left < last; left += TILE) {
		int64_t count = least(TILE, last - left), at[TILE];
		double total[TILE] = {0};
		bool side_by_side = true;
		for (int64_t i = 0; i < count; i++) {
			at[i] = pairs_offset(keep, kept, left + i);
			side_by_side = side_by_side && at[i] == at[0] + i;
		}
		for (int64_t term = 0; term < terms; term++) {
			const ELEM *from = x + pairs_offset(sum, summed, term);
			if (side_by_side)
				add_row(total, from + at[0], count);
			for (int64_t i = 0; !side_by_side && i < count; i++)
				total[i] += real_of(from[at[i]]);
		}
		for (int64_t i = 0; i < count; i++)
			y[left + i] = grad_of((REAL)total[i]);
	}
}

KERNEL(columns)
{
	const ELEM *x = args->in[0];
	int64_t width = args->size[0], block = CPU_BLOCK_columns;
	for (int64_t row = first; row < last; row += block) {
		REAL *partial = (REAL *)args->out[0] + row / block * width;
		for (int64_t left = 0; left < width; left += TILE) {
			int64_t count = least(TILE, width - left), end = least(row + block, last);
			double total[TILE] = {0};
			for (int64_t r = row; r < end; r++)
				add_row(total, x + r * width + left, count);
			for (int64_t i = 0; i < count; i++)
				partial[left + i] = (REAL)total[i];
		}
	}
}

/* A balanced tree over terms that come one by one: adjacent pairs, an odd one carried up. stack[k]
 * holds subtrees of falling size. */
struct tree {
	double stack[LEVELS][TILE];
	int64_t terms, depth;
};

static void tree_join(struct tree *tree, int64_t count)
{
	double *low = tree->stack[tree->depth - 2], *high = tree->stack[tree->depth - 1];
	for (int64_t i = 0; i < count; i++)
		low[i] += high[i];
	tree->depth--;
}

/* The new term is in stack[depth]. */
static void tree_push(struct tree *tree, int64_t count)
{
	tree->depth++;
	tree->terms++;
	for (int64_t full = tree->terms; full % 2 == 0; full /= 2)
		tree_join(tree, count);
}

static const double *tree_total(struct tree *tree, int64_t count)
{
	while (tree->depth > 1)
		tree_join(tree, count);
	return tree->stack[0];
}

KERNEL(tree_rows)
{
	const REAL *partials = args->in[0];
	GRAD *y = args->out[0];
	int64_t blocks = args->size[0], width = args->size[1];
	for (int64_t left = first; left < last && blocks > 0; left += TILE) {
		struct tree tree;
		int64_t count = least(TILE, last - left);
		tree.terms = tree.depth = 0;
		for (int64_t b = 0; b < blocks; b++) {
			for (int64_t i = 0; i < count; i++)
				tree.stack[tree.depth][i] = partials[b * width + left + i];
			tree_push(&tree, count);
		}
		const double *total = tree_total(&tree, count);
		for (int64_t i = 0; i < count; i++)
			y[left + i] = grad_of(grad_real(y[left + i]) + (REAL)total[i]);
	}
}

KERNEL(loss_sum)
{
	const double *loss = args->in[0];
	const int32_t *target = args->in[1];
	double *sums = args->out[0];
	int64_t n = args->size[0], valid = 0;
	struct tree tree;
	tree.terms = tree.depth = 0;
	if (first >= last || n == 0)
		return;
	for (int64_t left = 0; left < n; left += TILE) {
		double total = 0;
		for (int64_t i = left; i < least(left + TILE, n); i++) {
			total += target[i] >= 0 ? loss[i] : 0;
			valid += target[i] >= 0;
		}
		tree.stack[tree.depth][0] = total;
		tree_push(&tree, 1);
	}
	sums[0] += *tree_total(&tree, 1);
	sums[1] += (double)valid;
}

/* Blocks of 64 elements go into an accumulator that takes them in any order; a block of rows is
 * carried before it is added, so that the words depend on the shape alone. */
KERNEL(square_sum)
{
	const ELEM *g = args->in[0];
	int64_t *exact = args->out[0], n = args->size[0], block = CPU_BLOCK_square_sum;
	for (int64_t row = first; row < last; row += block) {
		int64_t words[RT_EXACT_WORDS] = {0};
		for (int64_t r = row; r < least(row + block, last); r++) {
			const ELEM *from = g + r * 64;
			double square;
			ROW_SUM(square, least(64, n - r * 64), ROW(from) * ROW(from));
			rt_exact_add(words, square);
		}
		rt_exact_carry(words);
		for (int i = 0; i < RT_EXACT_WORDS; i++) {
			if (words[i] != 0)
				__atomic_fetch_add(&exact[i], words[i], __ATOMIC_RELAXED);
		}
	}
}

KERNEL(step_scale)
{
	const int64_t *exact = args->in[0];
	const double *sums = args->in[1];
	double *control = args->out[0], clip = args->scalar[0];
	if (first >= last)
		return;
	double count = sums[1], norm = 0, loss = 0, factor = 0;
	if (count > 0) {
		loss = sums[0] / count;
		norm = sqrt(rt_exact_value(exact)) / count;
		factor = clip > 0 && norm > clip ? clip / norm / count : 1 / count;
	}
	control[RT_CONTROL_LOSS] = loss;
	control[RT_CONTROL_COUNT] = count;
	control[RT_CONTROL_NORM] = norm;
	control[RT_CONTROL_FACTOR] = factor;
	control[RT_CONTROL_FINITE] = isfinite(loss) && isfinite(norm);
}
