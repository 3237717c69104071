/* SPDX-License-Identifier: MIT */
/* Products of tiles in f32, for attention.
 *
 * A block works on a tile of TILE queries and TILE keys of one head at a time. Its threads stand in
 * rows of COLUMNS: thread (r, c) owns R rows of the tile from R r and four columns from 4 c, so that
 * what belongs to a row is in 16 neighbouring lanes. Functions take R, and the width W of the output
 * that is in registers, as constants: they are inlined, and loops over R and W unrolled.
 *
 * Operands are copied to the stage a chunk at a time, the next one while the block computes with the
 * last: chunks of the depth of a product of rows by rows, whose rows are 16 bytes further apart than
 * they are long, so that reading one piece of 16 rows meets no bank twice; and rows of a product by
 * columns, as they are. The factors of the latter, scores once, stand by depth: place(k, row), of which
 * groups of four rows are swapped by k, for the same reason. */
#ifndef MW_RUNTIME_CUDA_SDPA_TILES_F32_H
#define MW_RUNTIME_CUDA_SDPA_TILES_F32_H

#include "runtime/cuda/element.h"
#include "runtime/cuda/sdpa_call.h"

enum {
    TILE = 64,    /* queries or keys */
    CHUNK = 32,   /* of the depth of a product that is staged at a time */
    COLUMNS = 16, /* threads side by side */
    MOST_ROWS = 8 /* of a thread: R */
};

/* In floats: the stage has two halves, the factors follow it. */
enum {
    DEPTH_STRIDE = CHUNK + 4,
    HALF_STAGE = 2 * TILE * DEPTH_STRIDE,
    STAGE = 2 * HALF_STAGE,
    SHARED_FLOATS = STAGE + TILE * TILE
};

/* ---- Four floats ---- */

/* Columns from `column` on of a row, a multiple of 4; 0 beyond the matrix. */
static __device__ __forceinline__ float4 load4(const Matrix *m, int row, int column)
{
    const int64_t first = row * m->stride + column;
    const int left = row < m->rows ? m->columns - column : 0;
    float4 value = make_float4(0, 0, 0, 0);
    if (m->kind == ALIGNED_F32) {
        if (left > 0)
            value = *(const float4 *)((const float *)m->at + first);
        return value;
    }
    if (left > 0)
        value.x = mw_element_load(m->at, first, is_bf16(m->kind));
    if (left > 1)
        value.y = mw_element_load(m->at, first + 1, is_bf16(m->kind));
    if (left > 2)
        value.z = mw_element_load(m->at, first + 2, is_bf16(m->kind));
    if (left > 3)
        value.w = mw_element_load(m->at, first + 3, is_bf16(m->kind));
    return value;
}

/* What lies beyond `left` columns stays. */
static __device__ __forceinline__ void store4(void *tensor, int64_t first, int left, Rows kind,
                                              float4 value)
{
    if (kind == ALIGNED_F32) {
        if (left > 0)
            *(float4 *)((float *)tensor + first) = value;
        return;
    }
    if (left > 0)
        mw_element_store(tensor, first, is_bf16(kind), value.x);
    if (left > 1)
        mw_element_store(tensor, first + 1, is_bf16(kind), value.y);
    if (left > 2)
        mw_element_store(tensor, first + 2, is_bf16(kind), value.z);
    if (left > 3)
        mw_element_store(tensor, first + 3, is_bf16(kind), value.w);
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

/* Of the factors. */
static __device__ __forceinline__ unsigned place(unsigned k, unsigned row)
{
    return k * TILE + ((row / 4 ^ k) % (TILE / 4)) * 4 + row % 4;
}

/* Begins to copy `rows` rows from `row` and `columns` columns from `column` of a matrix to rows that are
 * `stride` apart; what is beyond the matrix becomes 0. */
static __device__ __forceinline__ void begin_chunk(float *to, const Matrix *from, int row,
                                                   int column, unsigned rows, unsigned columns,
                                                   unsigned stride, unsigned threads)
{
    const unsigned thread = (unsigned)mw_anew((int)threadIdx.x), pieces = columns / 4;
    const unsigned k = thread % pieces * 4, first = thread / pieces;
    MW_UNROLL
    for (unsigned i = 0; i < rows * pieces / threads; i++) {
        const unsigned r = first + i * (threads / pieces);
        const int from_row = row + (int)r, from_column = column + (int)k;
        if (from->kind == ALIGNED_F32)
            mw_copy_begin(to + r * stride + k,
                          (const float *)from->at + from_row * from->stride + from_column,
                          from_row < from->rows && from_column < from->columns);
        else
            *(float4 *)(to + r * stride + k) = load4(from, from_row, from_column);
    }
}

/* Of two matrices, at one of the halves of the stage. */
static __device__ __forceinline__ void begin_depth(float *half, const Matrix *a, int a_row,
                                                   const Matrix *b, int b_row, int column,
                                                   unsigned threads)
{
    begin_chunk(half, a, a_row, column, TILE, CHUNK, DEPTH_STRIDE, threads);
    begin_chunk(half + TILE * DEPTH_STRIDE, b, b_row, column, TILE, CHUNK, DEPTH_STRIDE, threads);
    mw_copies_commit();
}

/* scores += the thread's rows of a times its columns, rows of b, over a chunk of the depth. */
static __device__ __forceinline__ void add_scores(float scores[MOST_ROWS][4], const float *half,
                                                  unsigned R)
{
    const float *const a = half + thread_row() * R * DEPTH_STRIDE;
    const float *const b = half + (TILE + thread_column()) * DEPTH_STRIDE;
    MW_UNROLL_BY(1) /* 16 FMAs a row are enough; more would take registers that are not there */
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

/* scores += rows of a times rows of b, over all columns of both: a tile of TILE x TILE, of which thread
 * (r, c) has columns c, c + 16, c + 32 and c + 48. Nobody may still need the stage. */
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

/* The thread's part of a TILE x TILE matrix, as factors whose depth is its column. */
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

/* sums += factors from depth `first` on times CHUNK rows, W columns wide. */
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

/* sums += factors times TILE rows, from `row` on, of a matrix from `column` on, W columns wide: thread
 * (r, c) has columns 4 c and, where W is 128, 64 + 4 c. The block has not met since the factors were
 * written; afterwards nobody needs them or the stage. */
static __device__ __forceinline__ void add_product(float sums[MOST_ROWS][8], float *stage,
                                                   const float *factors, const Matrix *from,
                                                   int row, int column, unsigned R, unsigned W)
{
    const unsigned threads = TILE / R * COLUMNS;
    MW_UNROLL
    for (unsigned first = 0; first < TILE; first += CHUNK) {
        begin_chunk(stage + first / CHUNK * HALF_STAGE, from, row + (int)first, column, CHUNK, W, W,
                    threads);
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

/* Writes sums * factor[i] to rows r R + i of a dense matrix that begins at element `first` of a
 * tensor, of `rows` rows and `columns` columns that count from where the sums begin. */
static __device__ __forceinline__ void
store_sums(void *tensor, int64_t first, int64_t stride, int rows, int columns, Rows kind,
           const float sums[MOST_ROWS][8], const float factor[MOST_ROWS], unsigned R, unsigned W)
{
    const unsigned r = thread_row(), c = thread_column();
    MW_UNROLL
    for (unsigned i = 0; i < R; i++)
        MW_UNROLL
    for (unsigned j = 0; j < W / COLUMNS; j += 4) {
        const int column = (int)(j * COLUMNS + 4 * c);
        const float4 value = make_float4(sums[i][j] * factor[i], sums[i][j + 1] * factor[i],
                                         sums[i][j + 2] * factor[i], sums[i][j + 3] * factor[i]);
        if ((int)(r * R + i) < rows)
            store4(tensor, first + (r * R + i) * stride + column, columns - column, kind, value);
    }
}

/* ---- Rows ---- */

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
