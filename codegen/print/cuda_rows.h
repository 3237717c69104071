/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of threads that take rows (MW_SPREAD_ROWS). */
#ifndef MW_CODEGEN_PRINT_CUDA_ROWS_H
#define MW_CODEGEN_PRINT_CUDA_ROWS_H

#include "codegen/print/cuda_nest.h"

/* Prints the body of the kernel's function, after the lines that all ways of spreading share. */
void mw_cuda_print_rows(MwCudaNest *n);

#endif
