/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/cpu_kernels.h"

static enum cpu_isa most_wanted = CPU_ISA_AVX512;

static enum cpu_isa machine_isa(void)
{
#ifdef CPU_X86
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return CPU_ISA_AVX512;
	if (__builtin_cpu_supports("avx2"))
		return CPU_ISA_AVX2;
#endif
	return CPU_ISA_BASE;
}

enum cpu_isa cpu_isa(void)
{
	enum cpu_isa here = machine_isa();
	return here < most_wanted ? here : most_wanted;
}

void cpu_isa_limit(enum cpu_isa most)
{
	most_wanted = most;
}
