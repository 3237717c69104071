/* SPDX-License-Identifier: MIT */
/* A call of attention or its gradient, as the kernels see it: its sizes, the matrices of its
 * operands, and the part of the work that a thread block does. Tiles and products of tiles are in
 * sdpa_tiles_f32.h and sdpa_tiles_bf16.h.
 *
 * Benchmarks count 4 b h s t d floating-point operations for the two matrix products of the forward
 * pass and 10 b h s t d for the five of the backward pass, whatever is computed twice, and half of
 * that for a causal mask with s = t. */
#ifndef MW_RUNTIME_CUDA_SDPA_CALL_H
#define MW_RUNTIME_CUDA_SDPA_CALL_H

#include "base/tensor.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/routines.h"
#include "runtime/cuda/tensor_core.h"
#include "runtime/plan/routine.h"

#include <math.h>

/* Columns of an output that are in registers at a time; wider heads are done in several passes. */
enum { MOST_WIDTH = 128 };

/* The element type of a call and the alignment of the rows of all its matrices; a constant in
 * kernels. */
typedef enum {
    ALIGNED_F32,  /* every row is aligned to 16 bytes and has a multiple of 4 columns */
    ALIGNED_BF16, /* every row is aligned to 16 bytes and has a multiple of 8 columns */
    ANY_F32,      /* no alignment */
    ANY_BF16      /* no alignment */
} Rows;

/* A matrix of one head in global memory: element (row, column) has index row * stride + column. */
typedef struct {
    const void *at;
    int64_t stride;
    int rows, columns;
    Rows kind;
} Matrix;

/* The arguments of a call (runtime/plan/routines.def); row strides are in elements. */
typedef struct {
    int64_t q_row, k_row, v_row, position;
    int b, s, t, h, g, d, causal;
    float scale;
    Rows rows;
} Sizes;

/* The inputs, each at its first element. */
typedef struct {
    const void *q, *k, *v;
} Inputs;

/* The part of the work that a thread block does. */
typedef struct {
    int b, head, group; /* batch, query head, key head */
    int first;          /* its first query or key */
} Place;

/* The operands of sdpa_grad besides its inputs. */
typedef struct {
    const float *lse; /* for every row of q */
    float *delta;     /* for every row of q: the dot product of the rows of out and dout */
    const void *dout;
    void *dq, *dk, *dv;
} Gradient;

/* What a kernel of the gradient gets. */
typedef struct {
    const Sizes *z;
    const Inputs *in;
    const Gradient *grad;
} GradientCall;

static inline __host__ __device__ int is_bf16(Rows kind)
{
    return kind == ALIGNED_BF16 || kind == ANY_BF16;
}

/* The address of element `element` of a tensor. */
static inline __host__ __device__ const void *element_at(const void *tensor, int64_t element,
                                                         Rows kind)
{
    return (const char *)tensor + element * (is_bf16(kind) ? 2 : 4);
}

/* True if rows of d elements, `row` elements apart, can be read 16 bytes at a time. */
static inline int is_aligned(const void *at, int64_t row, int64_t d, Rows kind)
{
    const int64_t piece = is_bf16(kind) ? 8 : 4;
    return (uintptr_t)at % 16 == 0 && row % piece == 0 && d % piece == 0;
}

/* Updates z->rows for a dense tensor that the kernels access besides q, k and v. */
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

/* Number of tiles of `tile` rows that cover `count` rows. */
static inline __host__ __device__ int tiles_of(int count, int tile)
{
    return (count + tile - 1) / tile;
}

/* ---- Matrices of a head ---- */

/* The matrix whose first element is element `first` of a tensor. */
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

/* The first element of a row, and the matrix of a head, in a dense tensor with the shape of q. */
static __device__ __forceinline__ int64_t dense_at(const Sizes *z, int b, int head, int64_t s)
{
    return (((int64_t)b * z->s + s) * z->h + head) * z->d;
}

static __device__ __forceinline__ Matrix dense_of(const Sizes *z, const void *dense, int b,
                                                  int head)
{
    return matrix(dense, dense_at(z, b, head, 0), (int64_t)z->h * z->d, z->s, z);
}

/* Number of keys that query `s` sees: the first ones. */
static __device__ __forceinline__ int keys_seen(const Sizes *z, int s)
{
    const int64_t seen = z->position + s + 1;
    return z->causal && seen < z->t ? (int)seen : z->t;
}

/* Number of keys that any of `tile` queries from `first` on sees. */
static __device__ __forceinline__ int keys_of_tile(const Sizes *z, int first, int tile)
{
    const int end = first + tile;
    return keys_seen(z, (end < z->s ? end : z->s) - 1);
}

/* The first query that sees key `key`. */
static __device__ __forceinline__ int first_query(const Sizes *z, int key)
{
    return z->causal && key > z->position ? (int)(key - z->position) : 0;
}

/* ---- Thread blocks ----
 *
 * There is a block for every tile of every head. The blocks of a head are adjacent, so that its
 * data stays in the L2 cache, and those with the most work come first. */

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

/* A copy that the compiler does not know to be one: values derived from it are recomputed where
 * they are used, and take no registers in between. */
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
