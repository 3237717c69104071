/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flat kernels (codegen/kernel/kernel.h) as CUDA C. */
#ifndef MW_CODEGEN_PRINT_CUDA_FLAT_H
#define MW_CODEGEN_PRINT_CUDA_FLAT_H

#include "codegen/print/cuda_nest.h"

/* Prints all functions of a flat kernel; "@" stands for its name. */
void mw_cuda_print_flat(MwCudaNest *n);

#endif
