/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a nest is spread over threads, and what the files of the CUDA printer share.
 *
 *     points    nothing is reduced: threads take points in turn, four at a time where that is possible
 *     rows      a group of threads takes a row, its threads the row's columns in turn: one thread, a
 *               warp, or a block. A block takes several rows one after another; what is summed over
 *               rows or all points is summed by each block, then over the blocks by another kernel
 *     ordered   rows are added to places in their order: a thread takes a column, and of its rows
 *               those that are added to its part of the places
 *
 * Names in the text, besides those of print_rules.h: s the address of an argument that changes from
 * step to step; x and y four elements of a load or store; r and t what all blocks leave of a sum over
 * rows and of one over all points, u the total of a block; `row` and `column` count. */
#ifndef MW_CODEGEN_PRINT_CUDA_RULES_H
#define MW_CODEGEN_PRINT_CUDA_RULES_H

#include "codegen/print_rules.h"

typedef enum { MW_SPREAD_POINTS, MW_SPREAD_ROWS, MW_SPREAD_ORDERED } MwSpread;

typedef struct {
    MwPrinter p;
    int nest; /* its number in the kernel */
    MwSpread spread;
    int64_t rows, columns;
    int width;          /* columns at a time: 1 or 4 */
    int group, threads; /* that share a row; of a block */
    int64_t items;      /* times `width` columns of a row that a thread takes */
    int64_t blocks;     /* of the grid */
    int parts;          /* ORDERED: of the places that rows are added to; a block takes one, */
    MwRef place;        /* by the value that says where, if there are several */
    const char *index;  /* type that holds every index */
    bool has_totals;    /* TOTAL_SUM or TOTAL_MAX */
    bool has_end;       /* TOTAL code, or effects of UNIFORM code */
    /* [instrs] Of a sum over rows or all points: where the sums of blocks lie in the memory that the
     * kernel works in, in floats. */
    int64_t *sums_at;
    int64_t scratch; /* floats of that memory */
} MwCudaNest;

enum { MW_WARP = 32, MW_POINT_THREADS = 256 /* of blocks whose threads share nothing */ };

MwCudaNest mw_cuda_nest(MwText *out, const MwKernelDef *kernel, const MwNest *nest, int number);

bool mw_cuda_has_columns(const MwCudaNest *n);

/* The indices of dimensions first .. end - 1 from `count`, the name of their common count; of the last
 * one, where `width` is more than 1, j, the first of so many neighbours. */
void mw_cuda_print_indices(MwCudaNest *n, const char *count, int first, int end, int width);
/* What is done at one column, or at j .. j + width - 1, by `print`, of a phase or (-1) of all. */
void mw_cuda_print_columns_at(MwCudaNest *n, int phase, void (*print)(MwCudaNest *n, int phase));
/* What a phase does at one column. */
void mw_cuda_print_phase_points(MwCudaNest *n, int phase);
/* The function of groups that take rows, from its first line on. */
void mw_cuda_print_rows(MwCudaNest *n);

/* The end of the name of the function that reduces over threads, and the type it exchanges. */
const char *mw_cuda_reduction(const MwKernelInstr *instr);
const char *mw_cuda_exchanged_type(const MwKernelInstr *instr);

/* The `__global__` functions of a nest, "@" standing for the name of the kernel, and their launches. */
void mw_cuda_print_nest(MwCudaNest *n);
void mw_cuda_print_launches(MwCudaNest *n);

/* "(const float *__restrict__ p0, int64_t a0)" and "(p0, a0)" */
const char *mw_cuda_parameters(MwArena *arena, const MwKernelDef *kernel);
const char *mw_cuda_arguments(MwArena *arena, const MwKernelDef *kernel);
/* The arguments that are passed by their addresses, as first lines of a function: "const int64_t a0 =
 * *s0;" */
void mw_cuda_print_loaded_args(MwText *text, const MwKernelDef *kernel);

#endif
