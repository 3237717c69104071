/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the functions that run after all rows of a nest: they add up the parts of sums that the
 * blocks stored, and run the code that uses the sums. */
#ifndef MW_CODEGEN_PRINT_CUDA_ENDS_H
#define MW_CODEGEN_PRINT_CUDA_ENDS_H

#include "codegen/print/cuda_nest.h"

/* Adds up the blocks' parts of sums over rows, and runs COLUMN code. */
void mw_cuda_print_column_end(MwCudaNest *n);
int mw_cuda_column_end_threads(const MwCudaNest *n);
/* Adds up the blocks' parts of sums over all points, and runs TOTAL code and effects of UNIFORM
 * code. */
void mw_cuda_print_total_end(MwCudaNest *n);
int mw_cuda_total_end_threads(const MwCudaNest *n);

#endif
