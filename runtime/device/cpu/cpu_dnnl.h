/* SPDX-License-Identifier: Apache-2.0 */
/* Products of fp32 and bf16 matrices by oneDNN. */
#ifndef CPU_CPU_DNNL_H
#define CPU_CPU_DNNL_H

#include "rt/rt.h"

struct cpu_dnnl;

/* NULL if the library does not start. */
struct cpu_dnnl *cpu_dnnl_open(void);
void cpu_dnnl_close(struct cpu_dnnl *dnnl);

/* c = op(a) op(b) (+ c), without the epilogue: 0; -1 if the library has nothing for this shape
 * that lives within the workspace (nothing is written then). The first call of a shape prepares it,
 * later ones take it from a cache. */
int cpu_dnnl_matmul(struct cpu_dnnl *dnnl, const struct rt_matmul *args);

/* Bytes of scratch that the library's first choice asks for; -1 if it has none. */
int64_t cpu_dnnl_scratch(struct cpu_dnnl *dnnl, const struct rt_matmul *args);

#endif
