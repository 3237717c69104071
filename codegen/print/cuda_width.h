/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses how many neighbouring columns a thread takes at a time, and in how many turns, so that
 * accesses have 16 bytes if possible and enough bytes are in flight. */
#ifndef MW_CODEGEN_PRINT_CUDA_WIDTH_H
#define MW_CODEGEN_PRINT_CUDA_WIDTH_H

#include "codegen/print/cuda_nest.h"

/* Sets the width to 8 or 4, and marks the accesses that then move as many elements at once. Sets it
 * to 1 if there is no such access, if MW_KERNEL_ADD is not one, or if the columns are not divisible
 * into groups of neighbours. */
void mw_cuda_choose_width(MwCudaNest *n);
/* Sets the width of a flat kernel to 8 or 4, and marks all its accesses of points: every buffer
 * begins at a multiple of 16 bytes, and every access of points at the start of its buffer. */
void mw_cuda_choose_flat_width(MwCudaNest *n);
/* Returns the number of turns whose loads a thread begins at once, so that enough bytes are in
 * flight. If the kernel loads nothing, the bytes of stores count. */
int mw_cuda_choose_turns(const MwCudaNest *n);

#endif
