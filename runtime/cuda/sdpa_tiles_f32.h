/* SPDX-License-Identifier: MIT */
/* Products of tiles in f32, for attention.
 *
 * A block works on a tile of TILE queries and TILE keys of one head at a time. Its threads form
 * rows of COLUMNS: thread (r, c) owns R rows of the tile from row R r and four columns from column
 * 4 c, so that the elements of a row are in 16 neighbouring lanes. Functions take R, and the width
 * W of the output that is in registers, as constants: they are inlined, and the loops over R and W
 * are unrolled.
 *
 * Operands are copied to a stage in shared memory, chunk by chunk; the next chunk is copied while
 * the block computes with the last. For a product of rows by rows, a chunk is a range of the depth,
 * and its rows are 16 bytes further apart than they are long, so that 16 rows are read without bank
 * conflicts. For a product of factors by rows, a chunk is a range of rows, unchanged; the factors,
 * which are scores, are stored by depth at place(k, row), where groups of four rows are permuted by
 * k, also to avoid bank conflicts. */
#ifndef MW_RUNTIME_CUDA_SDPA_TILES_F32_H
#define MW_RUNTIME_CUDA_SDPA_TILES_F32_H

#include "runtime/cuda/sdpa_call.h"

enum {
    TILE = 64,    /* queries or keys of a tile */
    CHUNK = 32,   /* depth of a product that is staged at a time */
    COLUMNS = 16, /* threads of a row */
    MOST_ROWS = 8 /* largest R */
};

/* Layout of shared memory, in floats: the two halves of the stage, then the factors. */
enum {
    DEPTH_STRIDE = CHUNK + 4,
    HALF_STAGE = 2 * TILE * DEPTH_STRIDE,
    STAGE = 2 * HALF_STAGE,
    SHARED_FLOATS = STAGE + TILE * TILE
};

/* ---- Four floats ---- */

/* Columns `column` to `column` + 3 of a row, `column` a multiple of 4; 0 outside the matrix. */
static __device__ __forceinline__ float4 load4(const Matrix *m, int row, int column)
{
    const int64_t first = row * m->stride + column;
    const int left = row < m->rows ? m->columns - column : 0;
    float4 value = make_float4(0, 0, 0, 0);
    if (m->kind.is_aligned) {
        if (left > 0)
            value = *(const float4 *)((const float *)m->at + first);
        return value;
    }
    if (left > 0)
        value.x = mw_element_load(m->at, first, m->kind.type);
    if (left > 1)
        value.y = mw_element_load(m->at, first + 1, m->kind.type);
    if (left > 2)
        value.z = mw_element_load(m->at, first + 2, m->kind.type);
    if (left > 3)
        value.w = mw_element_load(m->at, first + 3, m->kind.type);
    return value;
}

/* Stores the first `left` of four columns. */
static __device__ __forceinline__ void store4(void *tensor, int64_t first, int left, Rows kind,
                                              float4 value)
{
    if (kind.is_aligned) {
        if (left > 0)
            *(float4 *)((float *)tensor + first) = value;
        return;
    }
    if (left > 0)
        mw_element_store(tensor, first, kind.type, value.x);
    if (left > 1)
        mw_element_store(tensor, first + 1, kind.type, value.y);
    if (left > 2)
        mw_element_store(tensor, first + 2, kind.type, value.z);
    if (left > 3)
        mw_element_store(tensor, first + 3, kind.type, value.w);
}

static __device__ __forceinline__ void unpack(float4 value, float to[4])
{
    to[0] = value.x;
    to[1] = value.y;
    to[2] = value.z;
    to[3] = value.w;
}

/* ---- Tiles ---- */

static __device__ __forceinline__ unsigned thread_row(void)
{
    return threadIdx.x / COLUMNS;
}

static __device__ __forceinline__ unsigned thread_column(void)
{
    return threadIdx.x % COLUMNS;
}

/* Index of a factor in shared memory. */
static __device__ __forceinline__ unsigned place(unsigned k, unsigned row)
{
    return k * TILE + ((row / 4 ^ k) % (TILE / 4)) * 4 + row % 4;
}

/* The size of a chunk, and the distance of its rows in shared memory. */
typedef struct {
    unsigned rows, columns, stride;
} Chunk;

static __device__ __forceinline__ Chunk chunk(unsigned rows, unsigned columns, unsigned stride)
{
    Chunk c;
    c.rows = rows;
    c.columns = columns;
    c.stride = stride;
    return c;
}

/* Begins to copy a chunk of a matrix that starts at (row, column); elements outside the matrix
 * become 0. */
static __device__ __forceinline__ void begin_chunk(float *to, const Matrix *from, int row,
                                                   int column, Chunk size, unsigned threads)
{
    const unsigned thread = (unsigned)mw_anew((int)threadIdx.x), pieces = size.columns / 4;
    const unsigned k = thread % pieces * 4, first = thread / pieces;
    MW_UNROLL
    for (unsigned i = 0; i < size.rows * pieces / threads; i++) {
        const unsigned r = first + i * (threads / pieces);
        const int from_row = row + (int)r, from_column = column + (int)k;
        if (from->kind.is_aligned)
            mw_copy_begin(to + r * size.stride + k,
                          (const float *)from->at + from_row * from->stride + from_column,
                          from_row < from->rows && from_column < from->columns);
        else
            *(float4 *)(to + r * size.stride + k) = load4(from, from_row, from_column);
    }
}

/* Begins to copy a chunk of two matrices to one half of the stage. */
static __device__ __forceinline__ void begin_depth(float *half, const Matrix *a, int a_row,
                                                   const Matrix *b, int b_row, int column,
                                                   unsigned threads)
{
    const Chunk size = chunk(TILE, CHUNK, DEPTH_STRIDE);
    begin_chunk(half, a, a_row, column, size, threads);
    begin_chunk(half + TILE * DEPTH_STRIDE, b, b_row, column, size, threads);
    mw_copies_commit();
}

/* scores += the thread's rows of a times its columns, which are rows of b, over a chunk of the
 * depth. */
static __device__ __forceinline__ void add_scores(float scores[MOST_ROWS][4], const float *half,
                                                  unsigned R)
{
    const float *const a = half + thread_row() * R * DEPTH_STRIDE;
    const float *const b = half + (TILE + thread_column()) * DEPTH_STRIDE;
    MW_UNROLL_BY(1) /* 16 FMAs per row hide the loads; unrolling would spill registers */
    for (unsigned k = 0; k < CHUNK; k += 4) {
        float y[4][4];
        MW_UNROLL
        for (unsigned j = 0; j < 4; j++)
            unpack(*(const float4 *)(b + j * COLUMNS * DEPTH_STRIDE + k), y[j]);
        MW_UNROLL
        for (unsigned i = 0; i < R; i++) {
            const float4 x = *(const float4 *)(a + i * DEPTH_STRIDE + k);
            MW_UNROLL
            for (unsigned j = 0; j < 4; j++)
                scores[i][j] += x.x * y[j][0] + x.y * y[j][1] + x.z * y[j][2] + x.w * y[j][3];
        }
    }
}

/* scores += rows of a times rows of b, over all their columns: a tile of TILE x TILE, of which
 * thread (r, c) has columns c, c + 16, c + 32 and c + 48. No thread still needs the contents of the
 * stage. */
static __device__ __forceinline__ void score_tile(float scores[MOST_ROWS][4], float *stage,
                                                  const Matrix *a, int a_row, const Matrix *b,
                                                  int b_row, unsigned R)
{
    const unsigned threads = TILE / R * COLUMNS;
    unsigned which = 0;
    begin_depth(stage, a, a_row, b, b_row, 0, threads);
    for (int column = 0; column < a->columns; column += CHUNK) {
        const float *const half = stage + which * HALF_STAGE;
        which ^= 1;
        if (column + CHUNK < a->columns)
            begin_depth(stage + which * HALF_STAGE, a, a_row, b, b_row, column + CHUNK, threads);
        else
            mw_copies_commit();
        mw_copies_wait(1);
        __syncthreads();
        add_scores(scores, half, R);
        __syncthreads();
    }
}

/* Stores the thread's part of a TILE x TILE matrix as factors, whose depth is the matrix's
 * column. */
static __device__ __forceinline__ void keep_factors(float *factors, const float part[MOST_ROWS][4],
                                                    unsigned R)
{
    const unsigned r = thread_row(), c = thread_column();
    MW_UNROLL
    for (unsigned j = 0; j < 4; j++)
        MW_UNROLL
    for (unsigned i = 0; i < R; i += 4)
        *(float4 *)(factors + place(c + COLUMNS * j, r * R + i)) =
            make_float4(part[i][j], part[i + 1][j], part[i + 2][j], part[i + 3][j]);
}

/* sums += factors of depth `first` to `first` + CHUNK - 1 times CHUNK rows of W columns. */
static __device__ __forceinline__ void add_rows(float sums[MOST_ROWS][8], const float *factors,
                                                const float *rows, unsigned first, unsigned R,
                                                unsigned W)
{
    const unsigned r = thread_row(), c = thread_column();
    MW_UNROLL_BY(2)
    for (unsigned k = 0; k < CHUNK; k++) {
        float x[MOST_ROWS], y[8];
        MW_UNROLL
        for (unsigned i = 0; i < R; i += 4)
            unpack(*(const float4 *)(factors + place(first + k, r * R + i)), x + i);
        MW_UNROLL
        for (unsigned j = 0; j < W / TILE; j++)
            unpack(*(const float4 *)(rows + k * W + j * TILE + 4 * c), y + 4 * j);
        MW_UNROLL
        for (unsigned i = 0; i < R; i++)
            MW_UNROLL
        for (unsigned j = 0; j < W / COLUMNS; j++)
            sums[i][j] += x[i] * y[j];
    }
}

/* Shared memory of a block. */
typedef struct {
    float *stage, *factors;
} Shared;

/* sums += factors times TILE rows, from `row` on, of W columns of a matrix, from `column` on:
 * thread (r, c) has columns 4 c to 4 c + 3 and, if W is 128, 64 + 4 c to 64 + 4 c + 3. The factors
 * need not be visible to the whole block yet; afterwards no thread needs them or the stage. */
static __device__ __forceinline__ void add_product(float sums[MOST_ROWS][8], const Shared *shared,
                                                   const Matrix *from, int row, int column,
                                                   unsigned R, unsigned W)
{
    float *const stage = shared->stage;
    const float *const factors = shared->factors;
    const unsigned threads = TILE / R * COLUMNS;
    MW_UNROLL
    for (unsigned first = 0; first < TILE; first += CHUNK) {
        begin_chunk(stage + first / CHUNK * HALF_STAGE, from, row + (int)first, column,
                    chunk(CHUNK, W, W), threads);
        mw_copies_commit();
    }
    MW_UNROLL
    for (unsigned first = 0; first < TILE; first += CHUNK) {
        mw_copies_wait(first + CHUNK < TILE ? 1 : 0);
        __syncthreads();
        add_rows(sums, factors, stage + first / CHUNK * HALF_STAGE, first, R, W);
    }
    __syncthreads();
}

/* A matrix in a tensor, into which a block stores. */
typedef struct {
    void *tensor;
    int64_t first, stride; /* index of its first element, and distance of its rows */
    int rows, columns;
    Rows kind;
} Target;

/* The matrix has the columns of the call's heads from `column` on. */
static __device__ __forceinline__ Target target(const Sizes *z, void *tensor, int64_t first,
                                                int64_t stride, int rows, int column)
{
    Target to;
    to.tensor = tensor;
    to.first = first + column;
    to.stride = stride;
    to.rows = rows;
    to.columns = z->d - column;
    to.kind = z->rows;
    return to;
}

/* Stores sums * factor[i] to row r R + i of the target, W columns wide. */
static __device__ __forceinline__ void store_sums(Target to, const float sums[MOST_ROWS][8],
                                                  const float factor[MOST_ROWS], unsigned R,
                                                  unsigned W)
{
    const unsigned r = thread_row(), c = thread_column();
    MW_UNROLL
    for (unsigned i = 0; i < R; i++)
        MW_UNROLL
    for (unsigned j = 0; j < W / COLUMNS; j += 4) {
        const int column = (int)(j * COLUMNS + 4 * c);
        const float4 value = make_float4(sums[i][j] * factor[i], sums[i][j + 1] * factor[i],
                                         sums[i][j + 2] * factor[i], sums[i][j + 3] * factor[i]);
        if ((int)(r * R + i) < to.rows)
            store4(to.tensor, to.first + (r * R + i) * to.stride + column, to.columns - column,
                   to.kind, value);
    }
}

/* ---- Reductions over the threads of a row ---- */

static __device__ __forceinline__ float row_largest(float value)
{
    MW_UNROLL
    for (int lanes = 1; lanes < COLUMNS; lanes *= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, lanes));
    return value;
}

static __device__ __forceinline__ float row_sum(float value)
{
    MW_UNROLL
    for (int lanes = 1; lanes < COLUMNS; lanes *= 2)
        value += __shfl_xor_sync(0xffffffff, value, lanes);
    return value;
}

#endif
