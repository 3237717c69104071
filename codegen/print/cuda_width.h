/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many neighbouring columns a thread takes at a time, and in how many turns: so that accesses
 * are of 16 bytes where possible, and enough bytes are in flight. */
#ifndef MW_CODEGEN_PRINT_CUDA_WIDTH_H
#define MW_CODEGEN_PRINT_CUDA_WIDTH_H

#include "codegen/print/cuda_nest.h"

/* Sets the width to 8 or 4, and which accesses are of so many elements: where that makes every
 * access of columns wide, or the same for all neighbours. Else to 1. */
void mw_cuda_choose_width(MwCudaNest *n);
/* The same for a flat kernel, all of whose accesses of points are wide: every buffer begins at a
 * multiple of 16 bytes, and every access of points with its buffer. */
void mw_cuda_choose_flat_width(MwCudaNest *n);
/* Turns whose loads a thread begins at once, such that enough bytes are in flight; bytes of stores
 * count where nothing is loaded. */
int mw_cuda_choose_turns(const MwCudaNest *n);

#endif
