/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows that are added to places (MW_SPREAD_PLACES). */
#ifndef MW_CODEGEN_PRINT_CUDA_PLACES_H
#define MW_CODEGEN_PRINT_CUDA_PLACES_H

#include "codegen/print/cuda_nest.h"

/* Completes the plan of the nest: blocks, threads and turns. */
void mw_cuda_spread_places(MwCudaNest *n);
/* Prints the body of the kernel's function, after the lines that all ways of spreading share. */
void mw_cuda_print_places(MwCudaNest *n);

#endif
