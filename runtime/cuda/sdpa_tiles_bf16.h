/* SPDX-License-Identifier: MIT */
/* Products of tiles in bf16 on tensor cores, for attention.
 *
 * A tile stands in shared memory: rows of W columns, W = 64 or 128, columns beyond the head's are
 * 0. Its pieces of 16 bytes are swapped within a row, piece p of row r standing at p ^ r % 8, so
 * that neither copying rows nor reading one piece of eight rows meets a bank twice.
 *
 * A warp computes M x 16 rows of a product over all its columns, M a constant as W and N are; sums
 * and scores are fragments in registers (runtime/cuda/tensor_core.h): of product [M 16, N],
 * fragment m * N / 8 + n has rows 16 m and columns 8 n. A lane has two columns, 2 (lane % 4) and
 * the next, of 2 M rows: row_of. */
#ifndef MW_RUNTIME_CUDA_SDPA_TILES_BF16_H
#define MW_RUNTIME_CUDA_SDPA_TILES_BF16_H

#include "runtime/cuda/sdpa_call.h"

enum { MOST_M = 2, MOST_N = 64, PIECE = 8 /* columns in 16 bytes */ };

#define LOG2_E 1.4426950408889634f
#define LN_2 0.6931471805599453f

static __device__ __forceinline__ unsigned lane_of(void)
{
    return threadIdx.x % 32;
}

static __device__ __forceinline__ unsigned warp_of(void)
{
    return threadIdx.x / 32;
}

/* The lane's row number i, 0 to 2 M - 1, of the warp's M x 16. */
static __device__ __forceinline__ unsigned row_of(unsigned i)
{
    return i / 2 * 16 + i % 2 * 8 + lane_of() / 4;
}

/* ---- Tiles ---- */

static inline __host__ __device__ unsigned tile_bytes(unsigned rows, unsigned W)
{
    return rows * W * 2;
}

/* Where piece `piece` of a row is, in bytes from the beginning of a tile. */
static __device__ __forceinline__ unsigned piece_at(unsigned row, unsigned piece, unsigned W)
{
    return row * (W * 2) + (piece ^ row % 8) * 16;
}

/* Begins to copy `rows` rows of a matrix from `first` on; what is beyond the matrix becomes 0. */
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

/* Fragments are loaded from where the lane's part of the first one is, in bytes: further ones are
 * at multiples of 8 rows below, and, 16 k columns to the right, at that xor 32 k.
 *
 * Of a fragment a of 16 rows and 16 columns; and of two fragments b side by side, whose depth is 16
 * rows and whose columns are 16 columns, by mw_load_turned. */
static __device__ __forceinline__ unsigned rows_at(unsigned row, unsigned W)
{
    return piece_at(row + lane_of() % 16, lane_of() / 16, W);
}

/* Of two fragments b side by side, whose columns are 16 rows and whose depth is 16 columns. */
static __device__ __forceinline__ unsigned columns_at(unsigned W)
{
    return piece_at(lane_of() / 16 * 8 + lane_of() % 8, lane_of() / 8 % 2, W);
}

/* ---- Products ---- */

/* sums [M 16, N] += the warp's rows of a, from `row` on, times N rows of b, over W columns. */
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

/* A product [M 16, N] as factors of the next one: of fragment n, factors[n][0] are the two elements
 * of the lane's upper row in bf16, factors[n][1] those of the lower one.
 *
 * sums [M 16, W] += factors [M 16, N] times N rows of b. */
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

/* ---- Results ---- */

/* Writes sums [M 16, W] times factor[i] in the lane's row i to rows `first` + `row` on of a dense
 * matrix, in 16 bytes at a time by way of rows [row, row + M 16) of a tile, which nobody else
 * needs. */
static __device__ __forceinline__ void store_rows(const Matrix *to, int first, unsigned row,
                                                  char *tile, const float (*sums)[4],
                                                  const float factor[2 * MOST_M], unsigned M,
                                                  unsigned W)
{
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
