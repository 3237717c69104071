/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns that one thread takes: their indices, and what the thread does there, one by one or
 * several neighbours at a time. The loads of one turn, or of several, come before anything else, so
 * that they are in flight together. */
#ifndef MW_CODEGEN_PRINT_CUDA_COLUMNS_H
#define MW_CODEGEN_PRINT_CUDA_COLUMNS_H

#include "codegen/print/cuda_nest.h"

/* Prints what a thread does at one point, whose indices are there: `phase` is a phase of the
 * columns, -1 where a nest has none. */
typedef void MwCudaPoint(MwCudaNest *n, int phase);

/* The indices of dimensions `first` to `end` - 1 as variables, from `count`, the name of their
 * common count. Where `width` is more than 1, `count` counts groups of so many neighbours of the
 * last dimension, whose index is j for the first of them. */
void mw_cuda_print_indices(MwCudaNest *n, const char *count, int first, int end, int width);
/* Values of a level, without reductions. */
void mw_cuda_print_values(MwCudaNest *n, MwLevel level);

/* A point where nothing is reduced; values of its row are there, and effects of its row happen at
 * the row's first column. */
MwCudaPoint mw_cuda_print_point;
/* What a phase does at one column. */
MwCudaPoint mw_cuda_print_phase_points;

/* What `print` prints, for the column at hand, or for columns j to j + width - 1. */
void mw_cuda_print_columns_at(MwCudaNest *n, int phase, MwCudaPoint *print);
/* The same for `turns` turns, the loads of all before the rest. `begin` prints the lines that give
 * a turn (`turn` in the text) its indices, and opens the block that they hold in. */
void mw_cuda_print_turns(MwCudaNest *n, int phase, void (*begin)(MwCudaNest *n),
                         MwCudaPoint *print);

#endif
