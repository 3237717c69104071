/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A nest of the kernel IR as functions of CUDA C: the plan of its blocks and threads, and facts
 * that all of its printers need. There are six ways of spreading a nest over threads:
 *
 *     points    nothing is reduced: threads take points in turn, several neighbours at a time if
 *               possible
 *     tiles     points, some of whose loads are contiguous along another dimension than the
 *               others: a block takes a tile of both dimensions, and those loads go through shared
 *               memory
 *     rows      rows are reduced: a group of threads takes a row, and its threads take the columns
 *               of the row in turn. A group is one thread, a part of a warp, or some whole warps.
 *               Each block sums over its rows or points, and another function over the blocks
 *     columns   rows are summed, and nothing else happens once per row: a block takes some columns
 *               of some rows, its warps take the rows in turn; another function adds up the blocks,
 *               if several have the same columns
 *     places    rows are added to places: a block owns some places and finds the rows that go
 *               there; its warps take places and columns in turn
 *     flat      a flat kernel (codegen/kernel/kernel.h): blocks take chunks of the points of all
 *               sets
 *
 * Names in the printed text besides those of codegen/print/values.h; numbered like those:
 *
 *     s   the address of an argument that changes from step to step
 *     x   neighbouring elements that one load reads, y those that one store writes; q counts them
 *     b   elements that a load reads through shared memory, by tiles
 *     f   parts of a row's reduction, one of each warp
 *     r   parts of a sum over rows that all blocks store; t those of a sum over all points
 *     u   the sum over all points of one block
 *
 * `row` and `column` count rows, and columns by groups of neighbours. */
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
    int nest; /* number of the nest in the kernel */
    MwSpread spread;
    int64_t rows, columns;
    int width;          /* neighbouring columns that a thread takes at a time: 1, 4 or 8 */
    int turns;          /* turns whose loads a thread begins before it goes on */
    int group;          /* ROWS: threads that share a row; COLUMNS: threads along the columns */
    int threads;        /* of a block */
    int64_t items;      /* ROWS: groups of `width` columns that a thread takes in a row */
    int64_t blocks;     /* of the grid */
    int64_t block_rows; /* COLUMNS: rows that a block takes */
    int64_t sums;       /* ROWS, COLUMNS: parts of a sum over rows that blocks store */
    int tile,
        tile_dim;      /* TILES: the side of a tile; the dimension along it besides the innermost */
    const char *index; /* the C type that holds every index */
    const char *kept;  /* the index of the column at hand in the arrays of a thread */
    bool has_totals;   /* TOTAL_SUM or TOTAL_MAX */
    bool has_end;      /* TOTAL code, or effects of UNIFORM code */
    /* [instrs] Position, in floats, in the scratch memory of the kernel at which the blocks store
     * their parts of a sum over rows or over all points, or of any reduction of a flat kernel. */
    int64_t *sums_at;
    int64_t scratch; /* floats of that memory */
} MwCudaNest;

/* Limits of every GPU that CUDA supports (CUDA Programming Guide, "Compute Capabilities"). */
enum {
    MW_WARP = 32,                    /* threads */
    MW_CUDA_BLOCK_THREADS = 1024,    /* of a block, at most */
    MW_CUDA_REGISTERS = 65536,       /* of 4 bytes, of a block at most */
    MW_CUDA_SHARED_BYTES = 48 << 10, /* of shared memory that a block has without asking for more */
    MW_CUDA_BANK_BYTES = 4,          /* of a bank of shared memory; a row of them is a warp wide */
    MW_CUDA_PARAMETER_BYTES = 4096,  /* of the parameters of a kernel, before CUDA 12.1 */
};

/* Prints a template (mw_print_text). The holes "index", "width", "turns", "group", "threads",
 * "rows" and "columns" are members of the nest; others are given. */
void mw_cuda_print(MwCudaNest *n, const char *text, const MwHole *holes, int count);

/* Returns the number of groups of neighbours in a row; a thread takes one at a time. */
static inline int64_t mw_cuda_units(const MwCudaNest *n)
{
    return n->columns / n->width;
}

bool mw_cuda_has_columns(const MwCudaNest *n);
/* Says whether each block computes whole sums over rows, so that no parts are left to add up. */
/* Words of 4 bytes that a scalar of the type of `instr` takes. */
int mw_cuda_words(const MwKernelInstr *instr);
/* The type of the words of shared memory through which threads add up sums over rows. */
const char *mw_cuda_folded_type(const MwCudaNest *n);
bool mw_cuda_sums_at_once(const MwCudaNest *n);
/* The type of the element that an access moves, as the functions for it are named: "f32". */
const char *mw_cuda_element_name(const MwCudaNest *n, const MwKernelInstr *instr);
int64_t mw_cuda_element_bytes(const MwCudaNest *n, const MwKernelInstr *instr);

/* How the functions that reduce over threads are named, after "mw_block_": "sum_f64"; and the type
 * that threads exchange for it: "double". */
const char *mw_cuda_reduction(const MwCudaNest *n, const MwKernelInstr *instr);
const char *mw_cuda_exchanged_type(const MwKernelInstr *instr);
/* Two values of a reduction as one: "a + b", or "mw_max(a, b)". */
const char *mw_cuda_joined(const MwCudaNest *n, const MwKernelInstr *instr, const char *a,
                           const char *b);

#endif
