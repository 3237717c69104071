/* SPDX-License-Identifier: MIT */
/* The CPU's routines: operands and arguments as runtime/plan/routines.def says. */
#ifndef MW_RUNTIME_CPU_ROUTINES_H
#define MW_RUNTIME_CPU_ROUTINES_H

#include "runtime/exec/fault.h"
#include "runtime/plan/kernel.h"

/* False after a fault. */
typedef bool MwCpuRoutine(void *const *operands, const MwKernelArg *args, MwFault *fault);

/* mw_cpu_gemm and so on; mw_cpu_none stands for the routines that a CPU does not have. */
#define ROUTINE(id, name, accesses, ints, floats, type, extents, cpu, cuda)                        \
    MwCpuRoutine mw_cpu_##cpu;
#include "runtime/plan/routines.def"

#endif
