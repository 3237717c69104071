/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that a nest becomes, as it is spread over threads. */
#ifndef MW_CODEGEN_PRINT_CUDA_FUNCTIONS_H
#define MW_CODEGEN_PRINT_CUDA_FUNCTIONS_H

#include "codegen/print/cuda_nest.h"

/* The `__global__` functions of a nest, "@" standing for the name of the kernel, and their
 * launches. */
void mw_cuda_print_nest(MwCudaNest *n);
void mw_cuda_print_launches(MwCudaNest *n);

#endif
