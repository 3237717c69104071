/* SPDX-License-Identifier: MIT */
/* What the kernels of attention and its gradient share: the sizes of a call, where its matrices
 * are, and where a block is among them. Tiles and products are in sdpa_tiles_f32.h and
 * sdpa_tiles_bf16.h.
 *
 * Products of matrices take 4 b h s t d floating-point operations in the forward pass (two
 * products), 10 b h s t d in the backward pass (five, whatever is computed twice); a causal mask
 * halves that where s = t: what benchmarks count. */
#ifndef MW_RUNTIME_CUDA_SDPA_CALL_H
#define MW_RUNTIME_CUDA_SDPA_CALL_H

#include "base/tensor.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/routines.h"
#include "runtime/cuda/tensor_core.h"
#include "runtime/plan/routine.h"

#include <math.h>

enum { MOST_WIDTH = 128 }; /* columns of an output that are in registers */

/* How the rows of all matrices of a call lie; a constant in kernels. */
typedef enum {
    ALIGNED_F32,  /* each at 16 bytes, with a multiple of four columns */
    ALIGNED_BF16, /* each at 16 bytes, with a multiple of eight columns */
    ANY_F32,
    ANY_BF16
} Rows;

/* A matrix of one head in global memory: element (row, column) is number row * stride + column. */
typedef struct {
    const void *at;
    int64_t stride;
    int rows, columns;
    Rows kind;
} Matrix;

/* Of a call; strides in elements. */
typedef struct {
    int64_t q_row, k_row, v_row, position;
    int b, s, t, h, g, d, causal;
    float scale;
    Rows rows;
} Sizes;

/* The operands from their first element on. */
typedef struct {
    const void *q, *k, *v;
} Inputs;

/* Where a block is. */
typedef struct {
    int b, head, group; /* batch, query head, key head */
    int first;          /* of its queries or keys */
} Place;

/* Of sdpa_grad, besides its inputs. */
typedef struct {
    const float *lse; /* of every row of q, as delta, which is the product of out and dout */
    float *delta;
    const void *dout;
    void *dq, *dk, *dv;
} Gradient;

static inline __host__ __device__ int is_bf16(Rows kind)
{
    return kind == ALIGNED_BF16 || kind == ANY_BF16;
}

/* `element` numbers into a tensor. */
static inline __host__ __device__ const void *element_at(const void *tensor, int64_t element,
                                                         Rows kind)
{
    return (const char *)tensor + element * (is_bf16(kind) ? 2 : 4);
}

/* Whether rows of d elements, `row` apart, can be taken 16 bytes at a time. */
static inline int is_aligned(const void *at, int64_t row, int64_t d, Rows kind)
{
    const int64_t piece = is_bf16(kind) ? 8 : 4;
    return (uintptr_t)at % 16 == 0 && row % piece == 0 && d % piece == 0;
}

/* Of a dense tensor besides q, k and v. */
static inline void want_aligned(Sizes *z, const void *dense)
{
    if (!is_aligned(dense, 0, z->d, z->rows))
        z->rows = is_bf16(z->rows) ? ANY_BF16 : ANY_F32;
}

static inline Inputs inputs_of(void *const *operands, const MwKernelArg *args)
{
    const Rows kind = args[MW_SDPA_TYPE].i == MW_BF16 ? ANY_BF16 : ANY_F32;
    Inputs in;
    in.q = element_at(operands[0], args[MW_SDPA_Q_OFFSET].i, kind);
    in.k = element_at(operands[1], args[MW_SDPA_K_OFFSET].i, kind);
    in.v = element_at(operands[2], args[MW_SDPA_V_OFFSET].i, kind);
    return in;
}

static inline Sizes sizes_of(const MwKernelArg *args, const Inputs *in)
{
    const int is_half = args[MW_SDPA_TYPE].i == MW_BF16;
    Sizes z;
    z.b = (int)args[MW_SDPA_B].i;
    z.s = (int)args[MW_SDPA_S].i;
    z.t = (int)args[MW_SDPA_T].i;
    z.h = (int)args[MW_SDPA_H].i;
    z.g = (int)args[MW_SDPA_G].i;
    z.d = (int)args[MW_SDPA_D].i;
    z.q_row = args[MW_SDPA_Q_ROW].i;
    z.k_row = args[MW_SDPA_K_ROW].i;
    z.v_row = args[MW_SDPA_V_ROW].i;
    z.position = args[MW_SDPA_POSITION].i;
    z.causal = args[MW_SDPA_CAUSAL].i != 0;
    z.scale = (float)args[MW_SDPA_SCALE].f;
    z.rows = is_half ? ALIGNED_BF16 : ALIGNED_F32;
    if (!is_aligned(in->q, z.q_row, z.d, z.rows) || !is_aligned(in->k, z.k_row, z.d, z.rows) ||
        !is_aligned(in->v, z.v_row, z.d, z.rows))
        z.rows = is_half ? ANY_BF16 : ANY_F32;
    return z;
}

/* Tiles of `tile` rows that hold `count`. */
static inline __host__ __device__ int tiles_of(int count, int tile)
{
    return (count + tile - 1) / tile;
}

/* ---- Matrices of a head ---- */

/* From element `first` of a tensor on. */
static __device__ __forceinline__ Matrix matrix(const void *tensor, int64_t first, int64_t stride,
                                                int rows, const Sizes *z)
{
    Matrix m;
    m.at = element_at(tensor, first, z->rows);
    m.stride = stride;
    m.rows = rows;
    m.columns = z->d;
    m.kind = z->rows;
    return m;
}

static __device__ __forceinline__ Matrix queries_of(const Sizes *z, const void *q, int b, int head)
{
    return matrix(q, (int64_t)b * z->s * z->q_row + (int64_t)head * z->d, z->q_row, z->s, z);
}

static __device__ __forceinline__ Matrix keys_of(const Sizes *z, const void *k, int b, int group)
{
    return matrix(k, (int64_t)b * z->t * z->k_row + (int64_t)group * z->d, z->k_row, z->t, z);
}

static __device__ __forceinline__ Matrix values_of(const Sizes *z, const void *v, int b, int group)
{
    return matrix(v, (int64_t)b * z->t * z->v_row + (int64_t)group * z->d, z->v_row, z->t, z);
}

/* Of a dense tensor like q: where a row begins, and the matrix of a head. */
static __device__ __forceinline__ int64_t dense_at(const Sizes *z, int b, int head, int64_t s)
{
    return (((int64_t)b * z->s + s) * z->h + head) * z->d;
}

static __device__ __forceinline__ Matrix dense_of(const Sizes *z, const void *dense, int b,
                                                  int head)
{
    return matrix(dense, dense_at(z, b, head, 0), (int64_t)z->h * z->d, z->s, z);
}

/* Keys that query `s` sees. */
static __device__ __forceinline__ int keys_seen(const Sizes *z, int s)
{
    const int64_t seen = z->position + s + 1;
    return z->causal && seen < z->t ? (int)seen : z->t;
}

/* Keys that any of `tile` queries sees. */
static __device__ __forceinline__ int keys_of_tile(const Sizes *z, int first, int tile)
{
    const int end = first + tile;
    return keys_seen(z, (end < z->s ? end : z->s) - 1);
}

/* The first query that sees any key from `key` on. */
static __device__ __forceinline__ int first_query(const Sizes *z, int key)
{
    return z->causal && key > z->position ? (int)(key - z->position) : 0;
}

/* ---- Blocks ----
 *
 * A block for every tile of every head; those of a head follow each other, so that what they read
 * of it stays in the L2 cache, and those with most to do come first. */

static __device__ __forceinline__ Place query_place(const Sizes *z, int tile, int block)
{
    const int tiles = tiles_of(z->s, tile), which = block / tiles;
    Place at;
    at.first = (tiles - 1 - block % tiles) * tile;
    at.b = which / z->h;
    at.head = which % z->h;
    at.group = at.head / (z->h / z->g);
    return at;
}

static __device__ __forceinline__ Place key_place(const Sizes *z, int tile, int block)
{
    const int tiles = tiles_of(z->t, tile), which = block / tiles;
    Place at;
    at.first = block % tiles * tile;
    at.b = which / z->g;
    at.group = which % z->g;
    at.head = at.group * (z->h / z->g);
    return at;
}

/* The same place, of which the compiler does not know that: what follows from it takes no registers
 * before it is used. */
static __device__ __forceinline__ Place place_anew(const Place *place)
{
    Place at;
    at.b = mw_anew(place->b);
    at.head = mw_anew(place->head);
    at.group = mw_anew(place->group);
    at.first = mw_anew(place->first);
    return at;
}

#endif
