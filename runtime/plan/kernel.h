/* SPDX-License-Identifier: MIT */
/* The calling convention between the executor and generated kernels: a kernel gets the addresses
 * of its operands and its scalar arguments, in the order of the instruction. The number of the step
 * is passed by value on the CPU and by its address on a GPU, where the same launches are repeated
 * step after step. */
#ifndef MW_RUNTIME_PLAN_KERNEL_H
#define MW_RUNTIME_PLAN_KERNEL_H

#include <stdint.h>

typedef union {
    int64_t i;
    double f;
    const int64_t *at; /* memory of the device: what changes from step to step, on a GPU */
} MwKernelArg;

/* `sets` is how often the operands follow each other, each time with arguments of their own: the
 * kernel does its work on every set; more than 1 only where the plan says that it takes sets.
 * `stream` is the device's queue; NULL on the CPU. */
typedef void MwKernel(void *const *operands, const MwKernelArg *args, int sets, void *stream);

typedef struct {
    const char *name;
    MwKernel *function;
} MwKernelEntry;

/* Every generated unit defines this table; a NULL name ends it. */
#define MW_KERNEL_TABLE_SYMBOL "mw_kernel_table"

/* How units of C are compiled for the machine they are compiled on. */
#define MW_KERNEL_C_FLAGS                                                                          \
    "-std=gnu11", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math"

/* How units of CUDA C are compiled, besides what for; they are linked without the library of C++.
 * Quotients and roots are within 2 units in the last place, by a few instructions. */
#define MW_KERNEL_CUDA_FLAGS                                                                       \
    "-O3", "-std=c++17", "-prec-div=false", "-prec-sqrt=false", "-Xcompiler",                      \
        "-fno-exceptions,-fno-threadsafe-statics"

#endif
