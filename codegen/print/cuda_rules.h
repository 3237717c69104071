/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a nest is spread over threads, and what the files of the CUDA printer share.
 *
 *     points    nothing is reduced: threads take points in turn, neighbours at a time where possible
 *     tiles     points again, some of whose loads walk another dimension than the rest: a block
 *               takes a tile of both, and those go through shared memory
 *     rows      rows are reduced: a group of threads takes a row, its threads the row's columns in
 *               turn: one thread, a part of a warp, or some whole warps. What is summed over rows or
 *               all points too is summed by each block, then over the blocks by another function
 *     columns   rows are summed, and nothing else happens once per row: a block takes some columns of
 *               some rows, its warps the rows in turn; another function adds up the blocks, if several
 *               have the same columns
 *     places    rows are added to places: a block has places of its own, finds their rows,
 *               and its warps take places and columns in turn
 *     flat      of a flat kernel: blocks take chunks of the points of all sets
 *
 * Names in the text, besides those of rules.h: s the address of an argument that changes from
 * step to step; x and y neighbouring elements of a load or store, which lanes q make one by one; f what
 * the warps of a row have of its sum; r and t what all blocks leave of a sum over rows and of one over
 * all points, u the total of a block; `row` and `column` count, the latter in neighbours that go
 * together. */
#ifndef MW_CODEGEN_PRINT_CUDA_RULES_H
#define MW_CODEGEN_PRINT_CUDA_RULES_H

#include "codegen/print/rules.h"

typedef enum {
    MW_SPREAD_POINTS,
    MW_SPREAD_TILES,
    MW_SPREAD_ROWS,
    MW_SPREAD_COLUMNS,
    MW_SPREAD_PLACES,
    MW_SPREAD_FLAT
} MwSpread;

typedef struct {
    MwPrinter p;
    int nest; /* its number in the kernel */
    MwSpread spread;
    int64_t rows, columns;
    int width; /* columns at a time: 1, 4 or 8 */
    int turns; /* POINTS, COLUMNS: for which a thread loads before it goes on */
    int group,
        threads;    /* ROWS: that share a row; COLUMNS: that are next to each other; of a block */
    int64_t items;  /* times `width` columns of a row that a thread takes */
    int64_t blocks; /* of the grid */
    int64_t block_rows; /* COLUMNS: that a block takes */
    int64_t sums;       /* parts of a sum over rows that blocks leave */
    int tile, tile_dim; /* TILES: its side; the dimension besides the innermost */
    const char *index;  /* type that holds every index */
    const char *kept;   /* where, in the arrays of a thread, its columns are */
    bool has_totals;    /* TOTAL_SUM or TOTAL_MAX */
    bool has_end;       /* TOTAL code, or effects of UNIFORM code */
    /* [instrs] Of a sum over rows or all points, or any of a flat kernel: where what blocks leave of it
     * lies in the memory that the kernel works in, in floats. */
    int64_t *sums_at;
    int64_t scratch; /* floats of that memory */
} MwCudaNest;

enum { MW_WARP = 32, MW_POINT_THREADS = 256 /* of blocks whose threads share nothing */ };

MwCudaNest mw_cuda_nest(MwText *out, const MwKernelDef *kernel, const MwNest *nest, int number);

bool mw_cuda_has_columns(const MwCudaNest *n);
/* Whether sums over rows are whole when a block has them, and nothing is left to add up. */
bool mw_cuda_sums_at_once(const MwCudaNest *n);

/* The rest of the plan of rows that are added to places. */
void mw_cuda_spread_places(MwCudaNest *n);
/* Plans tiles for a nest of points that is better off with them; false: it is not. */
bool mw_cuda_choose_tiles(MwCudaNest *n);

/* ---- Columns that one thread takes ---- */

/* The indices of dimensions first .. end - 1 from `count`, the name of their common count; of the last
 * one, where `width` is more than 1, j, the first of so many neighbours. */
void mw_cuda_print_indices(MwCudaNest *n, const char *count, int first, int end, int width);
/* As the functions for elements of its type are named: "f32". */
const char *mw_cuda_element_name(const MwCudaNest *n, const MwKernelInstr *instr);
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

/* ---- Functions, from after their first lines on ---- */

void mw_cuda_print_tiles(MwCudaNest *n);
void mw_cuda_print_rows(MwCudaNest *n);
void mw_cuda_print_columns(MwCudaNest *n);
void mw_cuda_print_places(MwCudaNest *n);
/* What adds up what blocks left of sums over rows, and runs COLUMN code. */
void mw_cuda_print_column_end(MwCudaNest *n);
int mw_cuda_column_end_threads(const MwCudaNest *n);

/* The end of the name of the function that reduces over threads, and the type it exchanges. */
const char *mw_cuda_reduction(const MwKernelInstr *instr);
const char *mw_cuda_exchanged_type(const MwKernelInstr *instr);

/* What blocks left of a sum, at `place`: every `stride` of `count` by one thread, from `first` on; then
 * of `threads` that share it. */
typedef struct {
    char letter;
    const char *place, *first, *stride, *condition, *threads;
    int64_t count;
} MwCudaSum;
void mw_cuda_print_sum(MwCudaNest *n, int i, const MwCudaSum *sum);

/* All functions of a flat kernel, "@" standing for its name. */
void mw_cuda_print_flat(MwCudaNest *n);
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
