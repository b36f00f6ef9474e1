/* SPDX-License-Identifier: Apache-2.0 */
/* The one inner loop of every product of matrices: c += a b with b and c in whole vectors. */
#ifndef CPU_CPU_PANEL_H
#define CPU_CPU_PANEL_H

#include "device/cpu/real.h"

/* Rows of c that are held in registers at a time; the order of sums does not depend on it. */
#ifdef __AVX512F__
enum { PANEL_ROWS = 8 };
#else
enum { PANEL_ROWS = 2 };
#endif

/* In a build that checks addresses, one check a load would be most of its time: a panel is checked
 * where it reaches furthest, and not inside. */
#if defined __SANITIZE_ADDRESS__
#define PANEL_INSIDE __attribute__((no_sanitize("address", "undefined")))
enum { PANEL_CHECKED = 1 };
#else
#define PANEL_INSIDE
enum { PANEL_CHECKED = 0 };
#endif

/* Rows and columns of a panel are at any distance in a; rows of b and c are whole vectors. */
struct panel {
	REAL *c;
	int64_t c_row; /* elements between rows */
	const REAL *a;
	int64_t a_row, a_depth; /* elements between rows, and between terms of a sum */
	const REAL *b;
	int64_t b_row;
	int64_t rows, depth, vectors;
};

/* `rows` rows (a constant) from `row` on, `wide` vectors (a constant) from `left` on. */
PANEL_INSIDE INLINE void panel_block(const struct panel *p, int64_t row, int64_t left,
				     const int rows, const int wide)
{
	vreal sum[PANEL_ROWS][2];
	REAL *c = p->c + row * p->c_row + left * LANES;
	const REAL *a = p->a + row * p->a_row, *b = p->b + left * LANES;
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < wide; v++)
			sum[r][v] = *(const vreal_at *)(c + r * p->c_row + v * LANES);
	for (int64_t k = 0; k < p->depth; k++) {
		vreal right[2];
		for (int v = 0; v < wide; v++)
			right[v] = *(const vreal_at *)(b + k * p->b_row + v * LANES);
		for (int r = 0; r < rows; r++)
			for (int v = 0; v < wide; v++)
				sum[r][v] += a[r * p->a_row + k * p->a_depth] * right[v];
	}
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < wide; v++)
			*(vreal_at *)(c + r * p->c_row + v * LANES) = sum[r][v];
}

PANEL_INSIDE static inline void panel_inside(const struct panel *p)
{
	for (int64_t left = 0; left < p->vectors; left += 2) {
		bool pair = left + 1 < p->vectors;
		int64_t row = 0;
		for (; row + PANEL_ROWS <= p->rows; row += PANEL_ROWS) {
			if (pair)
				panel_block(p, row, left, PANEL_ROWS, 2);
			else
				panel_block(p, row, left, PANEL_ROWS, 1);
		}
		for (; row < p->rows; row++) {
			if (pair)
				panel_block(p, row, left, 1, 2);
			else
				panel_block(p, row, left, 1, 1);
		}
	}
}

INLINE void panel_reaches(const struct panel *p)
{
	int64_t row = p->rows - 1, term = p->depth - 1, last = p->vectors * LANES - 1;
	if (!PANEL_CHECKED || row < 0 || last < 0)
		return;
	(void)*(volatile REAL *)(p->c + row * p->c_row + last);
	(void)*(volatile REAL *)p->c;
	if (term < 0)
		return;
	(void)*(const volatile REAL *)(p->a + row * p->a_row + term * p->a_depth);
	(void)*(const volatile REAL *)p->a;
	(void)*(const volatile REAL *)(p->b + term * p->b_row + last);
	(void)*(const volatile REAL *)p->b;
}

/* c[row][..] += sum over k < depth, ascending, of a[row][k] b[k][..], one sum an element. */
static inline void panel_add(const struct panel *p)
{
	panel_reaches(p);
	panel_inside(p);
}

#endif
