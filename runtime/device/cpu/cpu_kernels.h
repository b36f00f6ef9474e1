/* SPDX-License-Identifier: Apache-2.0 */
/* How the cpu device names and finds its code. A kernel exists once for every element type and
 * instruction set; the object rt_NAME_TYPE calls the best one for this machine. */
#ifndef CPU_CPU_KERNELS_H
#define CPU_CPU_KERNELS_H

#include <stdint.h>

#include "rt/kernel.h"

#define CPU_NAME_OF(name, type, isa) CPU_NAME_JOIN(name, type, isa)
#define CPU_NAME_JOIN(name, type, isa) cpu_##name##_##type##_##isa

/* Work of the LIB rows, cut into items that no two threads share. */
#define CPU_ITEMS                                                                                  \
	CPU_ITEM(matmul)                                                                           \
	CPU_ITEM(epilogue)                                                                         \
	CPU_ITEM(attend_forward)                                                                   \
	CPU_ITEM(attend_backward)                                                                  \
	CPU_ITEM(attend_stored_forward)                                                            \
	CPU_ITEM(attend_stored_backward)

typedef void cpu_item_fn(const void *args, int64_t item, void *scratch);

enum cpu_item {
#define CPU_ITEM(name) CPU_ITEM_##name,
	CPU_ITEMS
#undef CPU_ITEM
};

enum {
#define LIB(name)
#define LOOP(name, block, ins, outs, sizes, scalars) CPU_BLOCK_##name = (block),
#include "rt/kernels.def"
#undef LIB
#undef LOOP
};

/* The best code for this machine. */
cpu_item_fn *cpu_item_f32(enum cpu_item item);
cpu_item_fn *cpu_item_f64(enum cpu_item item);
cpu_item_fn *cpu_item_bf16(enum cpu_item item);

enum cpu_isa { CPU_ISA_BASE, CPU_ISA_AVX2, CPU_ISA_AVX512 };
enum cpu_isa cpu_isa(void);

/* For tests: no better instruction set than `most` is used. */
void cpu_isa_limit(enum cpu_isa most);

/* A kernel that meets bad data says so and goes on; the call then fails. Of several, the lowest row
 * is reported. */
void cpu_bad_index(const char *kernel, int64_t row, int64_t value, int64_t limit);

#endif
