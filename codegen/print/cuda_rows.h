/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of threads that take rows (MW_SPREAD_ROWS). */
#ifndef MW_CODEGEN_PRINT_CUDA_ROWS_H
#define MW_CODEGEN_PRINT_CUDA_ROWS_H

#include "codegen/print/cuda_nest.h"

/* The function, from after its first lines on. */
void mw_cuda_print_rows(MwCudaNest *n);

#endif
