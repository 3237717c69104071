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
#ifndef MW_CODEGEN_PRINT_CUDA_NEST_H
#define MW_CODEGEN_PRINT_CUDA_NEST_H

#include "codegen/print/values.h"

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

bool mw_cuda_has_columns(const MwCudaNest *n);
/* Whether sums over rows are whole when a block has them, and nothing is left to add up. */
bool mw_cuda_sums_at_once(const MwCudaNest *n);
/* The type of the element that an access moves, as the functions for it are named: "f32". */
const char *mw_cuda_element_name(const MwCudaNest *n, const MwKernelInstr *instr);
int64_t mw_cuda_element_bytes(const MwCudaNest *n, const MwKernelInstr *instr);

/* The end of the name of the function that reduces over threads, and the type it exchanges. */
const char *mw_cuda_reduction(const MwKernelInstr *instr);
const char *mw_cuda_exchanged_type(const MwKernelInstr *instr);

#endif
