/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns that one thread takes: their indices, and what the thread does there, one by one or some
 * neighbours at a time, with the loads of one or several turns before anything else. */
#ifndef MW_CODEGEN_PRINT_CUDA_COLUMNS_H
#define MW_CODEGEN_PRINT_CUDA_COLUMNS_H

#include "codegen/print/cuda_nest.h"

/* The indices of dimensions first .. end - 1 from `count`, the name of their common count; of the last
 * one, where `width` is more than 1, j, the first of so many neighbours. */
void mw_cuda_print_indices(MwCudaNest *n, const char *count, int first, int end, int width);
/* Values of a level, without reductions. */
void mw_cuda_print_values(MwCudaNest *n, MwLevel level);
/* A point where nothing is reduced, when the values of its row are there; an effect of the row once, at
 * its first column. */
void mw_cuda_print_point(MwCudaNest *n, int phase);
/* What a phase does at one column. */
void mw_cuda_print_phase_points(MwCudaNest *n, int phase);
/* What is done at one column, or at j .. j + width - 1, by `print`, of a phase or (-1) of all. */
void mw_cuda_print_columns_at(MwCudaNest *n, int phase, void (*print)(MwCudaNest *n, int phase));
/* The same for `turns` points at once, all loads before the rest. `begin` prints what gives a turn its
 * indices, from `turn`, as the condition of a block or as its first lines, and opens that. */
void mw_cuda_print_turns(MwCudaNest *n, int phase, void (*begin)(MwCudaNest *n),
                         void (*print)(MwCudaNest *n, int phase));

#endif
