/* SPDX-License-Identifier: MIT */
/* The CPU's routines: operands and arguments as runtime/plan/routines.def says. */
#ifndef MW_RUNTIME_CPU_ROUTINES_H
#define MW_RUNTIME_CPU_ROUTINES_H

#include "runtime/plan/kernel.h"

void mw_cpu_gemm(void *const *operands, const MwKernelArg *args);
void mw_cpu_sdpa(void *const *operands, const MwKernelArg *args);
void mw_cpu_sdpa_grad(void *const *operands, const MwKernelArg *args);
void mw_cpu_zero(void *const *operands, const MwKernelArg *args);
void mw_cpu_copy(void *const *operands, const MwKernelArg *args);

#endif
