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
#include "runtime/cuda/element.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/routines.h"
#include "runtime/cuda/tensor_core.h"
#include "runtime/plan/routine.h"

#include <math.h>

/* Columns of an output that are in registers at a time; wider heads are done in several passes. */
enum { MOST_WIDTH = 128 };

#define LOG2_E 1.4426950408889634f

/* The rows of all matrices of a call. Kernels for aligned rows know both members. */
typedef struct {
    MwType type;    /* f32, bf16 or f16 */
    int is_aligned; /* true if every row is aligned to 16 bytes and has a multiple of 16 bytes */
} Rows;

/* A matrix of one head in global memory: element (row, column) has index row * stride + column. */
typedef struct {
    const void *at;
    int64_t stride;
    int rows, columns;
    Rows kind;
} Matrix;

/* The mask, with its strides in elements: 0 in a dimension in which one element serves all. It is
 * bool or of the type of the call. */
typedef struct {
    const void *at; /* NULL: there is none */
    int64_t b, h, s, t;
    MwType type;
} Mask;

/* The arguments of a call (runtime/plan/routines.def); row strides are in elements. Query s sees
 * the keys from position + s - behind to position + s + ahead, counted from the first key given;
 * position is negative if query 0 comes before that. */
typedef struct {
    int64_t q_row, k_row, v_row, position, ahead, behind;
    int b, s, t, h, g, d;
    float scale, soft_cap;
    float
        cap_rate; /* factor that makes a scaled score, divided by the cap, a power of 2 for tanh */
    Rows rows;
    Mask mask;
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

/* A result of the gradient, at its first element. */
typedef struct {
    void *at;
    int64_t row; /* stride, in elements */
} Result;

/* The operands of sdpa_grad besides its inputs. */
typedef struct {
    const float *lse; /* for every row of q */
    float *delta;     /* for every row of q: the dot product of the rows of out and dout */
    const void *dout;
    Result dq, dk, dv;
} Gradient;

/* What a kernel of the gradient gets. */
typedef struct {
    const Sizes *z;
    const Inputs *in;
    const Gradient *grad;
} GradientCall;

/* The address of element `element` of a tensor. */
static inline __host__ __device__ const void *element_at(const void *tensor, int64_t element,
                                                         MwType type)
{
    return (const char *)tensor + element * (type == MW_F32 ? 4 : 2);
}

/* Updates z->rows for rows of z->d elements, `row` elements apart, that the kernels access. */
static inline void want_aligned(Sizes *z, const void *at, int64_t row)
{
    const int64_t piece = z->rows.type == MW_F32 ? 4 : 8;
    z->rows.is_aligned &= (uintptr_t)at % 16 == 0 && row % piece == 0 && z->d % piece == 0;
}

/* What kernels know of the rows: they are aligned and of f32; aligned and of bf16; nothing. */
static inline __device__ void know_f32(Sizes *z)
{
    z->rows.type = MW_F32;
    z->rows.is_aligned = 1;
}
static inline __device__ void know_bf16(Sizes *z)
{
    z->rows.type = MW_BF16;
    z->rows.is_aligned = 1;
}
static inline __device__ void know_nothing(Sizes *z)
{
    z->rows.is_aligned = 0;
}

static inline Inputs inputs_of(void *const *operands, const MwKernelArg *args)
{
    const MwType type = (MwType)args[MW_SDPA_TYPE].i;
    Inputs in;
    in.q = element_at(operands[0], args[MW_SDPA_Q_OFFSET].i, type);
    in.k = element_at(operands[1], args[MW_SDPA_K_OFFSET].i, type);
    in.v = element_at(operands[2], args[MW_SDPA_V_OFFSET].i, type);
    return in;
}

/* The stride of a dimension of the mask, of which `inner` is the number of elements of one step. */
static inline int64_t mask_stride(const MwKernelArg *args, int size, int64_t inner)
{
    return args[size].i > 1 ? inner : 0;
}

static inline Mask mask_of(const MwKernelArg *args, const void *at)
{
    const int64_t t = args[MW_SDPA_MASK_T].i, s = args[MW_SDPA_MASK_S].i * t;
    Mask mask;
    mask.at = at;
    mask.b = mask_stride(args, MW_SDPA_MASK_B, args[MW_SDPA_MASK_H].i * s);
    mask.h = mask_stride(args, MW_SDPA_MASK_H, s);
    mask.s = mask_stride(args, MW_SDPA_MASK_S, t);
    mask.t = mask_stride(args, MW_SDPA_MASK_T, 1);
    mask.type = (MwType)args[MW_SDPA_MASK_TYPE].i;
    return mask;
}

/* `mask` is the operand of that name, or NULL. */
static inline Sizes sizes_of(const MwKernelArg *args, const Inputs *in, const void *mask)
{
    const int64_t window = args[MW_SDPA_WINDOW].i, reach = window ? window - 1 : INT32_MAX;
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
    z.position = args[MW_SDPA_POSITION].i + args[MW_SDPA_OFFSET].i - args[MW_SDPA_KEY_POSITION].i;
    z.ahead = args[MW_SDPA_CAUSAL].i ? 0 : reach;
    z.behind = reach;
    z.scale = (float)args[MW_SDPA_SCALE].f;
    z.soft_cap = (float)args[MW_SDPA_SOFT_CAP].f;
    z.cap_rate = z.soft_cap > 0 ? 2 * LOG2_E / z.soft_cap : 0;
    z.mask = mask_of(args, mask);
    z.rows.type = (MwType)args[MW_SDPA_TYPE].i;
    z.rows.is_aligned = 1;
    want_aligned(&z, in->q, z.q_row);
    want_aligned(&z, in->k, z.k_row);
    want_aligned(&z, in->v, z.v_row);
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
    m.at = element_at(tensor, first, z->rows.type);
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

/* The first element of a head in row `at` of batch b, each of which has `rows` rows, and the matrix
 * of the head, in a result. */
static __device__ __forceinline__ int64_t result_at(const Sizes *z, const Result *result, int b,
                                                    int rows, int head, int at)
{
    return ((int64_t)b * rows + at) * result->row + (int64_t)head * z->d;
}

static __device__ __forceinline__ Matrix result_of(const Sizes *z, const Result *result, int b,
                                                   int rows, int head)
{
    return matrix(result->at, result_at(z, result, b, rows, head, 0), result->row, rows, z);
}

/* ---- Keys that queries see, save for the mask ---- */

/* The first key that query `s` sees, and the one after the last. */
static __device__ __forceinline__ int first_key(const Sizes *z, int s)
{
    const int64_t first = z->position + s - z->behind;
    return first < 0 ? 0 : first < z->t ? (int)first : z->t;
}

static __device__ __forceinline__ int keys_end(const Sizes *z, int s)
{
    const int64_t end = z->position + s + z->ahead + 1;
    return end < 0 ? 0 : end < z->t ? (int)end : z->t;
}

/* The end of the keys that `tile` queries from `first` on work on: there is always one, even if
 * they see none. */
static __device__ __forceinline__ int keys_end_of_tile(const Sizes *z, int first, int tile)
{
    const int end = first + tile;
    const int seen = keys_end(z, (end < z->s ? end : z->s) - 1);
    return seen > 0 ? seen : 1;
}

/* The first of the tiles of `step` keys that queries from `first` on work on; there is always one,
 * even if they see no key. */
static __device__ __forceinline__ int first_key_tile(const Sizes *z, int first, int step)
{
    const int key = first_key(z, first);
    return (key < z->t ? key : z->t - 1) / step * step;
}

/* The first query that sees key `key`, and the one after the last. */
static __device__ __forceinline__ int first_query(const Sizes *z, int key)
{
    const int64_t first = key - z->ahead - z->position;
    return first < 0 ? 0 : first < z->s ? (int)first : z->s;
}

static __device__ __forceinline__ int queries_end(const Sizes *z, int key)
{
    const int64_t end = key + z->behind - z->position + 1;
    return end < 0 ? 0 : end < z->s ? (int)end : z->s;
}

/* ---- Scores ---- */

/* What the mask adds to a score; a negative `element` is none of the mask. It is not inlined, as
 * it is called for every element of a tile in registers. */
static __device__ __noinline__ float mask_addend(const void *mask, int64_t element, MwType type)
{
    if (element < 0)
        return -INFINITY;
    if (type == MW_BOOL)
        return ((const uint8_t *)mask)[element] ? 0 : -INFINITY;
    return mw_element_load(mask, element, type);
}

/* Adds the mask times `unit` to the score of a query and a key of the block at `at`, which becomes
 * -infinity beyond the last query or key. */
static __device__ __forceinline__ void mask_score(float *score, const Sizes *z, const Place *at,
                                                  int query, int key, float unit)
{
    const int64_t element =
        at->b * z->mask.b + at->head * z->mask.h + query * z->mask.s + key * z->mask.t;
    *score +=
        unit * mask_addend(z->mask.at, query < z->s && key < z->t ? element : -1, z->mask.type);
}

/* Replaces a score by cap * tanh(score * rate / (2 log2(e))), within a few units in the last place
 * of the cap, and returns the derivative of tanh there. */
static __device__ __forceinline__ float cap_score(float *score, float rate, float cap)
{
    const float bent = 1 - __fdividef(2, 1 + mw_exp2(*score * rate)); /* tanh */
    *score = bent * cap;
    return 1 - bent * bent;
}

/* What is subtracted from scores for exponentials: a largest score or a log-sum-exp. Where no key
 * is seen, that is -infinity; these bring exponentials of 0 about. */
static __device__ __forceinline__ float finite_largest(float largest)
{
    return largest == -INFINITY ? 0 : largest;
}

static __device__ __forceinline__ float lse_to_subtract(float lse)
{
    return lse == -INFINITY ? INFINITY : lse;
}

/* The factor of a sum of products with exponentials whose sum is `sum`. */
static __device__ __forceinline__ float inverse_sum(float sum)
{
    return sum == 0 ? 0 : 1 / sum;
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
