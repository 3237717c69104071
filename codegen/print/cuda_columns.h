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

/* Prints the indices of dimensions `first` to `end` - 1 as variables, computed from `count`, the
 * name of the index over all of them. If `width` is more than 1, `count` counts groups of as many
 * neighbours along the last dimension, and j is the index of the first neighbour. */
void mw_cuda_print_indices(MwCudaNest *n, const char *count, int first, int end, int width);
/* Prints the values of a level, without reductions. */
void mw_cuda_print_values(MwCudaNest *n, MwLevel level);

/* Prints a point of a nest that reduces nothing. Values of its row are printed before; effects of
 * the row happen at its first column. */
MwCudaPoint mw_cuda_print_point;
/* Prints the code of a phase at one column. */
MwCudaPoint mw_cuda_print_phase_points;

/* Prints by `print` the current column, or columns j to j + width - 1. */
void mw_cuda_print_columns_at(MwCudaNest *n, int phase, MwCudaPoint *print);
/* Prints the columns of `turns` turns by `print`, with the loads of all turns first. `begin` prints
 * the lines that compute the indices of a turn (`turn` in the text), and opens their block. */
void mw_cuda_print_turns(MwCudaNest *n, int phase, void (*begin)(MwCudaNest *n),
                         MwCudaPoint *print);

#endif
