/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks that take some columns of some rows (MW_SPREAD_COLUMNS). */
#ifndef MW_CODEGEN_PRINT_CUDA_SUMS_H
#define MW_CODEGEN_PRINT_CUDA_SUMS_H

#include "codegen/print/cuda_nest.h"

/* Prints the body of the kernel's function, after the lines that all ways of spreading share. */
void mw_cuda_print_columns(MwCudaNest *n);

#endif
