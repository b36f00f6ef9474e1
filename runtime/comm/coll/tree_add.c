/* SPDX-License-Identifier: Apache-2.0 */
/* The one order in which this runtime adds over ranks: adjacent pairs, an odd one carried up, level
 * by level. Sums that wait are kept as a binary counter, one a level, so a member is read once and
 * in ascending order.
 *
 *   member   0   1   2   3   4
 *             \ /     \ /    |
 *              +       +     |
 *               \     /      |
 *                  +         |
 *                   \       /
 *                       +
 *
 * Cost: size reads and size - 1 additions an element.
 * Needs: memory of all members.
 */
#include "comm/coll/coll.h"

#include <string.h>

enum { LEVELS = 10 };

_Static_assert(COLL_MAX_RANKS < 1 << (LEVELS - 1), "a level for each bit of the index");

static float from_bf16(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float value;
	memcpy(&value, &wide, sizeof value);
	return value;
}

static uint16_t to_bf16(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void load(const unsigned char *from, enum rt_type type, int64_t first, int64_t count,
		 union tree_sum *to)
{
	switch (type) {
	case RT_F32:
		memcpy(to->f32, (const float *)(const void *)from + first, (size_t)count * 4);
		return;
	case RT_BF16:
		for (int64_t i = 0; i < count; i++)
			to->f32[i] = from_bf16(((const uint16_t *)(const void *)from)[first + i]);
		return;
	case RT_I32:
		for (int64_t i = 0; i < count; i++)
			to->i64[i] = ((const int32_t *)(const void *)from)[first + i];
		return;
	default:
		memcpy(to->f64, (const double *)(const void *)from + first, (size_t)count * 8);
	}
}

static void add(union tree_sum *to, const union tree_sum *from, enum rt_type type, int64_t count)
{
	if (type == RT_F32 || type == RT_BF16) {
		for (int64_t i = 0; i < count; i++)
			to->f32[i] += from->f32[i];
	} else if (type == RT_F64) {
		for (int64_t i = 0; i < count; i++)
			to->f64[i] += from->f64[i];
	} else {
		for (int64_t i = 0; i < count; i++)
			to->i64[i] = (int64_t)((uint64_t)to->i64[i] + (uint64_t)from->i64[i]);
	}
}

/* A NaN stays, and no number replaces one. */
#define MOST(to, from) ((from) > (to) || (from) != (from) ? (from) : (to))

static void most(union tree_sum *to, const union tree_sum *from, enum rt_type type, int64_t count)
{
	if (type == RT_F32 || type == RT_BF16) {
		for (int64_t i = 0; i < count; i++)
			to->f32[i] = MOST(to->f32[i], from->f32[i]);
	} else if (type == RT_F64) {
		for (int64_t i = 0; i < count; i++)
			to->f64[i] = MOST(to->f64[i], from->f64[i]);
	} else {
		for (int64_t i = 0; i < count; i++)
			to->i64[i] = from->i64[i] > to->i64[i] ? from->i64[i] : to->i64[i];
	}
}

void tree_add(unsigned char *const *from, int size, enum rt_type type, enum coll_op op,
	      int64_t first, int64_t last, union tree_sum *sum)
{
	void (*join)(union tree_sum *, const union tree_sum *, enum rt_type, int64_t) =
		op == COLL_SUM ? add : most;
	union tree_sum waiting[LEVELS];
	int64_t count = last - first;
	int depth = 0;
	for (int member = 0; member < size; member++) {
		load(from[member], type, first, count, &waiting[depth++]);
		for (int bits = member; bits & 1; bits >>= 1) {
			depth--;
			join(&waiting[depth - 1], &waiting[depth], type, count);
		}
	}
	while (depth > 1) {
		depth--;
		join(&waiting[depth - 1], &waiting[depth], type, count);
	}
	memcpy(sum, &waiting[0], sizeof *sum);
}

void tree_store(const union tree_sum *sum, enum rt_type type, unsigned char *to, int64_t first,
		int64_t last)
{
	int64_t count = last - first;
	switch (type) {
	case RT_F32:
		memcpy((float *)(void *)to + first, sum->f32, (size_t)count * 4);
		return;
	case RT_BF16:
		for (int64_t i = 0; i < count; i++)
			((uint16_t *)(void *)to)[first + i] = to_bf16(sum->f32[i]);
		return;
	case RT_I32:
		for (int64_t i = 0; i < count; i++)
			((int32_t *)(void *)to)[first + i] = (int32_t)sum->i64[i];
		return;
	default:
		memcpy((double *)(void *)to + first, sum->f64, (size_t)count * 8);
	}
}
