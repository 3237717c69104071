/* SPDX-License-Identifier: MIT */
/* Products of tiles in bf16 on tensor cores, for attention.
 *
 * A tile is in shared memory: rows of W columns, W = 64 or 128, where columns beyond those of the
 * head are 0. The pieces of 16 bytes of a row are permuted: piece p of row r is at p ^ r % 8, so
 * that neither copying rows nor reading one piece of eight rows has bank conflicts.
 *
 * A warp computes 16 M rows of a product over all its columns; M, N and W are constants. Sums and
 * scores are fragments in registers (runtime/cuda/tensor_core.h): fragment m * N / 8 + n of a
 * product [16 M, N] has the rows from 16 m on and the columns from 8 n on. A lane has columns 2
 * (lane % 4) and 2 (lane % 4) + 1 of 2 M rows, those of row_of. */
#ifndef MW_RUNTIME_CUDA_SDPA_TILES_BF16_H
#define MW_RUNTIME_CUDA_SDPA_TILES_BF16_H

#include "runtime/cuda/sdpa_call.h"

/* The largest M and N, and the number of columns in a piece of 16 bytes. */
enum { MOST_M = 2, MOST_N = 64, PIECE = 8 };

/* How a block divides its work: `warps` warps have 16 M rows of the tile each, and take N rows of
 * the other side at a time. Constants. */
typedef struct {
    unsigned M, N, W, warps;
} Tiling;

#define LN_2 0.6931471805599453f

static __device__ __forceinline__ unsigned lane_of(void)
{
    return threadIdx.x % 32;
}

static __device__ __forceinline__ unsigned warp_of(void)
{
    return threadIdx.x / 32;
}

/* Row i of the lane, 0 <= i < 2 M, as a row of the warp's 16 M. */
static __device__ __forceinline__ unsigned row_of(unsigned i)
{
    return i / 2 * 16 + i % 2 * 8 + lane_of() / 4;
}

/* ---- Tiles ---- */

static inline __host__ __device__ unsigned tile_bytes(unsigned rows, unsigned W)
{
    return rows * W * 2;
}

/* Offset of a piece in a tile, in bytes. */
static __device__ __forceinline__ unsigned piece_at(unsigned row, unsigned piece, unsigned W)
{
    return row * (W * 2) + (piece ^ row % 8) * 16;
}

/* Begins to copy `rows` rows of a matrix, from `first` on, to a tile; elements outside the matrix
 * become 0. */
static __device__ __forceinline__ void begin_tile(char *tile, const Matrix *from, int first,
                                                  unsigned rows, unsigned W, unsigned threads)
{
    const unsigned thread = (unsigned)mw_anew((int)threadIdx.x), pieces = W / PIECE;
    const unsigned piece = thread % pieces, r = thread / pieces;
    const unsigned step = threads / pieces; /* a multiple of 8 */
    const int row = first + (int)r;
    const int end = (int)(piece * PIECE) < from->columns ? from->rows : 0;
    const uint16_t *const column = (const uint16_t *)from->at + piece * PIECE;
    char *const to = tile + piece_at(r, piece, W);
    MW_UNROLL
    for (unsigned i = 0; i < rows / step; i++)
        mw_copy_begin(to + i * step * W * 2, column + (row + (int)(i * step)) * from->stride,
                      row + (int)(i * step) < end);
}

/* rows_at and columns_at give the offset, in bytes, of the lane's part of the first fragment in a
 * tile. The fragment 8 rows below is 8 rows further; the fragment 16 k columns to the right is at
 * the offset xor 32 k.
 *
 * rows_at: a fragment a of 16 rows and 16 columns; or, with mw_load_turned, two fragments b side by
 * side, whose depth is 16 rows and whose columns are 16 columns of the tile. */
static __device__ __forceinline__ unsigned rows_at(unsigned row, unsigned W)
{
    return piece_at(row + lane_of() % 16, lane_of() / 16, W);
}

/* Two fragments b side by side, whose columns are 16 rows and whose depth is 16 columns of the
 * tile. */
static __device__ __forceinline__ unsigned columns_at(unsigned W)
{
    return piece_at(lane_of() / 16 * 8 + lane_of() % 8, lane_of() / 8 % 2, W);
}

/* ---- Products ---- */

/* sums [16 M, N] += the warp's rows of a, from `row` on, times N rows of b, over W columns. */
static __device__ __forceinline__ void add_rows_by_rows(float (*sums)[4], const char *a,
                                                        unsigned row, const char *b, unsigned M,
                                                        unsigned N, unsigned W)
{
    const unsigned a_at = rows_at(row, W), b_at = columns_at(W);
    MW_UNROLL
    for (unsigned k = 0; k < W / 16; k++) {
        unsigned rows[MOST_M][4];
        MW_UNROLL
        for (unsigned m = 0; m < M; m++)
            mw_load_matrices(rows[m], a + (a_at ^ 32 * k) + m * 16 * W * 2);
        MW_UNROLL
        for (unsigned n = 0; n < N / 16; n++) {
            unsigned columns[4];
            mw_load_matrices(columns, b + (b_at ^ 32 * k) + n * 16 * W * 2);
            MW_UNROLL
            for (unsigned m = 0; m < M; m++) {
                mw_mma(sums[m * (N / 8) + 2 * n], rows[m], columns);
                mw_mma(sums[m * (N / 8) + 2 * n + 1], rows[m], columns + 2);
            }
        }
    }
}

/* sums [16 M, W] += factors [16 M, N] times N rows of b. The factors are a product in bf16:
 * factors[n][0] are the two elements of fragment n in the lane's upper row, factors[n][1] those in
 * the lower row. */
static __device__ __forceinline__ void add_product(float (*sums)[4], unsigned (*factors)[2],
                                                   const char *b, unsigned M, unsigned N,
                                                   unsigned W)
{
    const unsigned b_at = rows_at(0, W);
    MW_UNROLL
    for (unsigned k = 0; k < N / 16; k++) {
        MW_UNROLL
        for (unsigned n = 0; n < W / 16; n++) {
            unsigned columns[4];
            mw_load_turned(columns, b + (b_at ^ 32 * n) + k * 16 * W * 2);
            MW_UNROLL
            for (unsigned m = 0; m < M; m++) {
                const unsigned *const rows = factors[m * (N / 8) + 2 * k];
                mw_mma(sums[m * (W / 8) + 2 * n], rows, columns);
                mw_mma(sums[m * (W / 8) + 2 * n + 1], rows, columns + 2);
            }
        }
    }
}

static __device__ __forceinline__ void clear(float (*sums)[4], unsigned count)
{
    MW_UNROLL
    for (unsigned n = 0; n < count; n++)
        MW_UNROLL
    for (unsigned i = 0; i < 4; i++)
        sums[n][i] = 0;
}

/* Returns a pointer to element j of this lane in the fragments of a product: in the i-th of the
 * rows of the lane, among columns 8 n to 8 n + 7. */
static __device__ __forceinline__ float *element(float (*fragments)[4], unsigned i, unsigned n,
                                                 unsigned j, unsigned N)
{
    return &fragments[i / 2 * (N / 8) + n][i % 2 * 2 + j];
}

/* Masks the scores of a tile, which are products that the scale is still to be applied to. Its rows
 * are those of the block, queries or keys; its columns, from `column` on, are of the other kind. */
static __device__ __forceinline__ void mask_scores(float (*scores)[4], const Sizes *z,
                                                   const Place *at, int column, int rows_are_keys,
                                                   unsigned M, unsigned N)
{
    const int thread = mw_anew((int)threadIdx.x);
    const int row = at->first + thread / 32 * (int)(M * 16) + thread % 32 / 4;
    const int first = column + thread % 4 * 2;
    const float unit = 1 / z->scale;
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++)
        MW_UNROLL
    for (unsigned n = 0; n < N / 8; n++)
        MW_UNROLL
    for (unsigned j = 0; j < 2; j++) {
        const int r = row + (int)(8 * i), c = first + (int)(8 * n + j);
        mask_score(element(scores, i, n, j, N), z, at, rows_are_keys ? c : r, rows_are_keys ? r : c,
                   unit);
    }
}

/* ---- Results ---- */

/* Stores sums [16 M, W], times factor[i] in row i of the lane, to rows `first` + `row` on of a
 * dense matrix. They go through rows [row, row + 16 M) of a tile, which no other warp needs, so
 * that each lane stores 16 bytes at a time. */
static __device__ __forceinline__ void store_rows(const Matrix *to, int first, unsigned row,
                                                  char *tile, const float (*sums)[4],
                                                  const float factor[2 * MOST_M], Tiling t)
{
    const unsigned M = t.M, W = t.W;
    const unsigned lane = lane_of(), pieces = W / PIECE, piece = lane % pieces;
    __syncwarp();
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++)
        MW_UNROLL
    for (unsigned n = 0; n < W / 8; n++) {
        const float *pair = sums[i / 2 * (W / 8) + n] + i % 2 * 2;
        *(unsigned *)(tile + piece_at(row + row_of(i), n, W) + lane % 4 * 4) =
            mw_bf16_pair(pair[0] * factor[i], pair[1] * factor[i]);
    }
    __syncwarp();
    MW_UNROLL
    for (unsigned r = lane / pieces; r < M * 16; r += 32 / pieces) {
        const int at = first + (int)(row + r);
        if (at < to->rows && (int)(piece * PIECE) < to->columns)
            *(float4 *)((uint16_t *)to->at + at * to->stride + piece * PIECE) =
                *(const float4 *)(tile + piece_at(row + r, piece, W));
    }
}

#endif
