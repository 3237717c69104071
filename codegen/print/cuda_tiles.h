/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points that a block takes by tiles (MW_SPREAD_TILES). */
#ifndef MW_CODEGEN_PRINT_CUDA_TILES_H
#define MW_CODEGEN_PRINT_CUDA_TILES_H

#include "codegen/print/cuda_nest.h"

/* Plans tiles for a nest of points that is better off with them; false: it is not. */
bool mw_cuda_choose_tiles(MwCudaNest *n);
/* The function, from after its first lines on. */
void mw_cuda_print_tiles(MwCudaNest *n);

#endif
