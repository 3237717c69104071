/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points that a block takes by tiles (MW_SPREAD_TILES). */
#ifndef MW_CODEGEN_PRINT_CUDA_TILES_H
#define MW_CODEGEN_PRINT_CUDA_TILES_H

#include "codegen/print/cuda_nest.h"

/* Plans tiles for a nest of points. Returns false if the nest is not better off with tiles. */
bool mw_cuda_choose_tiles(MwCudaNest *n);
/* Prints the body of the kernel's function, after the lines that all ways of spreading share. */
void mw_cuda_print_tiles(MwCudaNest *n);

#endif
