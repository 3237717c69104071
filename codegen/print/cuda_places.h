/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows that are added to places (MW_SPREAD_PLACES). */
#ifndef MW_CODEGEN_PRINT_CUDA_PLACES_H
#define MW_CODEGEN_PRINT_CUDA_PLACES_H

#include "codegen/print/cuda_nest.h"

/* The rest of the plan. */
void mw_cuda_spread_places(MwCudaNest *n);
/* The function, from after its first lines on. */
void mw_cuda_print_places(MwCudaNest *n);

#endif
