/* SPDX-License-Identifier: MIT */
/* Products of tiles in f32, for attention.
 *
 * A block works on a tile of TILE queries and TILE keys of one head at a time. Its threads stand in
 * rows of COLUMNS: thread (r, c) owns R rows of the tile from R r and four columns from 4 c, so that
 * what belongs to a row is in 16 neighbouring lanes. Functions take R, and the width W of the output
 * that is in registers, as constants: they are inlined, and loops over R and W unrolled.
 *
 * Two kinds of tiles stand in shared memory:
 * - "by depth": TILE rows as columns, place(k, row). Groups of four rows are swapped by k / 4, so that
 *   neither writing a tile of global memory turned, nor reading four rows at one k, meets a bank twice.
 * - "by row": CHUNK rows of W columns, as they are. */
#ifndef MW_RUNTIME_CUDA_SDPA_F32_H
#define MW_RUNTIME_CUDA_SDPA_F32_H

#include "runtime/cuda_element.h"
#include "runtime/cuda_sdpa.h"

enum {
    TILE = 64,    /* queries or keys */
    CHUNK = 32,   /* of the depth of a product that is staged at a time */
    COLUMNS = 16, /* threads side by side */
    MOST_ROWS = 8 /* of a thread: R */
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

/* Of a tile by depth. */
static __device__ __forceinline__ unsigned place(unsigned k, unsigned row)
{
    return k * TILE + (((row / 4) ^ (k / 4)) % (TILE / 4)) * 4 + row % 4;
}

/* Rows from `row` and CHUNK columns from `column` of a matrix as a tile by depth. */
static __device__ __forceinline__ void stage_by_depth(float *tile, const Matrix *from, int row,
                                                      int column, unsigned threads)
{
    MW_UNROLL
    for (unsigned i = 0; i < TILE * CHUNK / 4 / threads; i++) {
        const unsigned which = threadIdx.x + i * threads;
        const unsigned k = which % (CHUNK / 4) * 4, r = which / (CHUNK / 4);
        const float4 value = load4(from, row + (int)r, column + (int)k);
        tile[place(k, r)] = value.x;
        tile[place(k + 1, r)] = value.y;
        tile[place(k + 2, r)] = value.z;
        tile[place(k + 3, r)] = value.w;
    }
}

/* CHUNK rows from `row` and W columns from `column` as they are. */
static __device__ __forceinline__ void stage_by_row(float *tile, const Matrix *from, int row,
                                                    int column, unsigned W, unsigned threads)
{
    MW_UNROLL
    for (unsigned i = 0; i < CHUNK * W / 4 / threads; i++) {
        const unsigned which = threadIdx.x + i * threads;
        const unsigned k = which % (W / 4) * 4, r = which / (W / 4);
        *(float4 *)(tile + r * W + k) = load4(from, row + (int)r, column + (int)k);
    }
}

/* The thread's R rows at depth k of a tile by depth. */
static __device__ __forceinline__ void rows_at(const float *tile, unsigned k, unsigned r,
                                               unsigned R, float *to)
{
    MW_UNROLL
    for (unsigned i = 0; i < R; i += 4)
        unpack(*(const float4 *)(tile + place(k, r * R + i)), to + i);
}

/* scores += rows of a times rows of b, over all columns of both: a tile of TILE x TILE. `stage` has
 * room for two tiles by depth of CHUNK; nobody may still need it. */
static __device__ __forceinline__ void score_tile(float scores[MOST_ROWS][4], float *stage,
                                                  const Matrix *a, int a_row, const Matrix *b,
                                                  int b_row, unsigned R)
{
    float *const a_tile = stage, *const b_tile = stage + TILE * CHUNK;
    const unsigned r = thread_row(), c = thread_column();
    const unsigned threads = TILE / R * COLUMNS;
    for (int column = 0; column < a->columns; column += CHUNK) {
        stage_by_depth(a_tile, a, a_row, column, threads);
        stage_by_depth(b_tile, b, b_row, column, threads);
        __syncthreads();
        MW_UNROLL_BY(4)
        for (unsigned k = 0; k < CHUNK; k++) {
            float x[MOST_ROWS], y[4];
            rows_at(a_tile, k, r, R, x);
            rows_at(b_tile, k, c, 4, y);
            MW_UNROLL
            for (unsigned i = 0; i < R; i++)
                MW_UNROLL
            for (unsigned j = 0; j < 4; j++)
                scores[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
}

/* The thread's part of a TILE x TILE matrix as a tile by depth, where depth is its column. */
static __device__ __forceinline__ void keep_by_depth(float *tile, const float part[MOST_ROWS][4],
                                                     unsigned R)
{
    const unsigned r = thread_row(), c = thread_column();
    MW_UNROLL
    for (unsigned j = 0; j < 4; j++)
        MW_UNROLL
    for (unsigned i = 0; i < R; i += 4)
        *(float4 *)(tile + place(4 * c + j, r * R + i)) =
            make_float4(part[i][j], part[i + 1][j], part[i + 2][j], part[i + 3][j]);
}

/* sums += factors times rows [row, end) of a matrix from `column` on, W columns wide: thread (r, c) has
 * columns 4 c and, where W is 128, 64 + 4 c. `factors` is a tile by depth whose depth is the row, at
 * most TILE of them; `stage` has room for one tile by row. The block has not met since `factors` was
 * written; afterwards nobody needs either. */
static __device__ __forceinline__ void add_product(float sums[MOST_ROWS][8], float *stage,
                                                   const float *factors, const Matrix *from,
                                                   int row, int end, int column, unsigned R,
                                                   unsigned W)
{
    const unsigned r = thread_row(), c = thread_column();
    for (unsigned first = 0; first < TILE && row + (int)first < end; first += CHUNK) {
        stage_by_row(stage, from, row + (int)first, column, W, TILE / R * COLUMNS);
        __syncthreads();
        MW_UNROLL_BY(4)
        for (unsigned k = 0; k < CHUNK; k++) {
            float x[MOST_ROWS], y[8];
            rows_at(factors, first + k, r, R, x);
            MW_UNROLL
            for (unsigned j = 0; j < W / TILE; j++)
                unpack(*(const float4 *)(stage + k * W + j * TILE + 4 * c), y + 4 * j);
            MW_UNROLL
            for (unsigned i = 0; i < R; i++)
                MW_UNROLL
            for (unsigned j = 0; j < W / COLUMNS; j++)
                sums[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
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
