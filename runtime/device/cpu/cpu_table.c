/* SPDX-License-Identifier: Apache-2.0 */
/* The objects rt_NAME_TYPE of one type: every row of kernels.def, for bf16_f32 the rows MIXED, each
 * with the best code for this machine. A row without a kernel does not link. Compiled once for each
 * type. */
#include "rt/kernel.h"

#include "device/cpu/cpu_kernels.h"

#ifdef CPU_X86
#define FOR_ISAS(X, name) X(name, base), X(name, avx2), X(name, avx512)
#else
#define FOR_ISAS(X, name) X(name, base), X(name, base), X(name, base)
#endif
#define CODE(name, isa) CPU_NAME_OF(name, CPU_TYPE, isa)
#define OBJECT_OF(name, type) OBJECT_JOIN(name, type)
#define OBJECT_JOIN(name, type) rt_##name##_##type
#define ITEMS_OF(type) ITEMS_JOIN(type)
#define ITEMS_JOIN(type) cpu_item_##type

typedef void rows_fn(const struct rt_args *args, int64_t first_block, int64_t last_block,
		     int64_t rows);

#define LIB(row)
#define OBJECT(row)                                                                                \
	extern rows_fn CODE(row, base), CODE(row, avx2), CODE(row, avx512);                        \
	static void row##_rows(const struct rt_args *args, int64_t first_block,                    \
			       int64_t last_block, int64_t rows)                                   \
	{                                                                                          \
		static rows_fn *const code[] = {FOR_ISAS(CODE, row)};                              \
		code[cpu_isa()](args, first_block, last_block, rows);                              \
	}                                                                                          \
	const struct rt_kernel OBJECT_OF(row, CPU_TYPE) = {                                        \
		.name = #row,                                                                      \
		.block = CPU_BLOCK_##row,                                                          \
		.rows = row##_rows,                                                                \
	};
#ifdef CPU_MIXED
#define LOOP(row, block, ins, outs, sizes, scalars)
#define MIXED OBJECT
#else
#define LOOP(row, block, ins, outs, sizes, scalars) OBJECT(row)
#endif
#include "rt/kernels.def"
#undef LIB
#undef LOOP

#ifndef CPU_MIXED
#define CPU_ITEM(name) extern cpu_item_fn CODE(name, base), CODE(name, avx2), CODE(name, avx512);
CPU_ITEMS
#undef CPU_ITEM

cpu_item_fn *ITEMS_OF(CPU_TYPE)(enum cpu_item item)
{
	static cpu_item_fn *const code[][3] = {
#define CPU_ITEM(name) {FOR_ISAS(CODE, name)},
		CPU_ITEMS
#undef CPU_ITEM
	};
	return code[item][cpu_isa()];
}
#endif
