/* SPDX-License-Identifier: MIT */
/* Convolutions on a GPU where cuDNN is not there or has no algorithm: routines conv, conv_transpose
 * and conv_filter_grad of runtime/plan/routines.def, as implicit matrix products (Chetlur et al.,
 * cuDNN, 2014, section 3): each is a product A B, whose A is made of an image while it is loaded.
 * They use no tensor cores. And the transposition of filters, for cuDNN.
 *
 *                     A [m, k]              m                   k                  B [k, n]
 *   conv              x                     windows             taps x channels    filter
 *   conv_transpose    y                     points of x         taps x features    filter
 *   conv_filter_grad  x                     taps x channels     windows            y
 *
 * A block has a tile of TILE x TILE of one group's product and goes through k in steps of DEPTH; a
 * thread has 4 x 4 of it. Sums are f32, each in the order of k. */
#include "runtime/cuda/conv_kernels.h"
#include "runtime/cuda/element.h"
#include "runtime/cuda/windows.h"

enum { TILE = 64, DEPTH = 16, OWN = 4, SIDE = TILE / OWN, THREADS = SIDE * SIDE };

typedef enum { FORWARD, TRANSPOSE, FILTER } Form;

typedef struct {
    Windows windows;
    int channels, features; /* of a group */
    int groups, filter_type;
    int64_t m, n, k, m_tiles, n_tiles;
} Product;

/* ---- A ---- */

/* One element of A: 0 for padding. */
static __device__ __forceinline__ float a_element(const Product *p, Form form, const void *image,
                                                  int group, int64_t m, int64_t k)
{
    const Windows *w = &p->windows;
    const int inner = form == TRANSPOSE ? p->features : p->channels; /* of the image, in a group */
    const int64_t tapped = form == FILTER ? m : k, placed = form == FILTER ? k : m;
    const Point tap = point_at(tapped / inner, w->size);
    const Point place = point_at(placed, form == TRANSPOSE ? w->in : w->out);
    if (m >= p->m || k >= p->k)
        return 0;
    const int64_t point = form == TRANSPOSE ? over(w, &place, tap.at) : under(w, &place, tap.at);
    return point < 0 ? 0
                     : mw_element_load(image, (point * p->groups + group) * inner + tapped % inner,
                                       w->type);
}

/* ---- B and the result ---- */

/* The place of element (channel, feature) of tap `tap` of the filter. */
static __device__ __forceinline__ int64_t filter_at(const Product *p, int group, int64_t tap,
                                                    int64_t channel, int64_t feature)
{
    return (tap * p->channels + channel) * ((int64_t)p->groups * p->features) +
           (int64_t)group * p->features + feature;
}

static __device__ __forceinline__ float b_element(const Product *p, Form form, const void *b,
                                                  int group, int64_t k, int64_t n)
{
    if (k >= p->k || n >= p->n)
        return 0;
    if (form == FILTER)
        return mw_element_load(b, (k * p->groups + group) * p->features + n, p->windows.type);
    const int64_t at = form == FORWARD ? filter_at(p, group, k / p->channels, k % p->channels, n)
                                       : filter_at(p, group, k / p->features, n, k % p->features);
    return mw_element_load(b, at, p->filter_type);
}

static __device__ __forceinline__ void store(const Product *p, Form form, void *c, int group,
                                             int64_t m, int64_t n, float value)
{
    if (m >= p->m || n >= p->n)
        return;
    if (form == FILTER)
        mw_element_store(c, filter_at(p, group, m / p->channels, m % p->channels, n),
                         p->filter_type, value);
    else
        mw_element_store(c, (m * p->groups + group) * p->n + n, p->windows.type, value);
}

/* ---- The product ---- */

typedef struct {
    float a[DEPTH][TILE + 1], b[DEPTH][TILE];
} Stage;

/* The tile of a block: its group, first row and first column. */
typedef struct {
    int group;
    int64_t m, n;
} Tile;

static __device__ __forceinline__ Tile tile_of(const Product *p, int64_t block)
{
    Tile tile;
    tile.group = (int)(block / (p->m_tiles * p->n_tiles));
    tile.m = block / p->n_tiles % p->m_tiles * TILE;
    tile.n = block % p->n_tiles * TILE;
    return tile;
}

static __device__ __forceinline__ void load(Stage *stage, const Product *p, Form form,
                                            const void *image, const void *b, const Tile *at,
                                            int64_t k)
{
    for (int i = (int)threadIdx.x; i < TILE * DEPTH; i += THREADS) {
        stage->a[i % DEPTH][i / DEPTH] =
            a_element(p, form, image, at->group, at->m + i / DEPTH, k + i % DEPTH);
        stage->b[i / TILE][i % TILE] =
            b_element(p, form, b, at->group, k + i / TILE, at->n + i % TILE);
    }
}

static __device__ __forceinline__ void add_stage(float sums[OWN][OWN], const Stage *stage, int row,
                                                 int column)
{
    for (int k = 0; k < DEPTH; k++) {
        MW_UNROLL
        for (int i = 0; i < OWN; i++) {
            MW_UNROLL
            for (int j = 0; j < OWN; j++)
                sums[i][j] += stage->a[k][row + SIDE * i] * stage->b[k][column + SIDE * j];
        }
    }
}

static __device__ __forceinline__ void multiply(const Product *p, Form form, const void *image,
                                                const void *b, void *c, Stage *stage)
{
    const Tile tile = tile_of(p, blockIdx.x);
    const int row = (int)threadIdx.x / SIDE, column = (int)threadIdx.x % SIDE;
    float sums[OWN][OWN] = {{0}};
    for (int64_t k = 0; k < p->k; k += DEPTH) {
        load(stage, p, form, image, b, &tile, k);
        __syncthreads();
        add_stage(sums, stage, row, column);
        __syncthreads();
    }
    for (int i = 0; i < OWN; i++)
        for (int j = 0; j < OWN; j++)
            store(p, form, c, tile.group, tile.m + row + SIDE * i, tile.n + column + SIDE * j,
                  sums[i][j]);
}

#define KERNEL(name, form)                                                                         \
    static __global__ void __launch_bounds__(THREADS)                                              \
        name(Product p, const void *__restrict__ image, const void *__restrict__ b,                \
             void *__restrict__ c)                                                                 \
    {                                                                                              \
        __shared__ Stage stage;                                                                    \
        multiply(&p, form, image, b, c, &stage);                                                   \
    }
KERNEL(conv, FORWARD)
KERNEL(conv_transpose, TRANSPOSE)
KERNEL(conv_filter_grad, FILTER)
#undef KERNEL

static Product product_of(const MwKernelArg *args, Form form)
{
    Product p;
    p.windows = windows_of(args);
    p.groups = (int)args[MW_CONV_GROUPS].i;
    p.channels = p.windows.channels / p.groups;
    p.features = (int)args[MW_CONV_FEATURES].i / p.groups;
    p.filter_type = (int)args[MW_CONV_FILTER_TYPE].i;
    const int64_t taps = volume(p.windows.size);
    const int64_t places = p.windows.batch * volume(p.windows.out);
    p.m = form == FORWARD     ? places
          : form == TRANSPOSE ? p.windows.batch * volume(p.windows.in)
                              : taps * p.channels;
    p.n = form == TRANSPOSE ? p.channels : p.features;
    p.k = form == FORWARD ? taps * p.channels : form == TRANSPOSE ? taps * p.features : places;
    p.m_tiles = (p.m + TILE - 1) / TILE;
    p.n_tiles = (p.n + TILE - 1) / TILE;
    return p;
}

/* ---- Transposition ---- */

/* A block transposes a square of SQUARE x SQUARE through shared memory, so that both sides are
 * accessed along rows; a thread has SQUARE / LINES elements of a column. */
enum { SQUARE = 32, LINES = 8 };

static __global__ void __launch_bounds__(SQUARE *LINES)
    transpose(const void *__restrict__ from, int from_type, void *__restrict__ to, int to_type,
              int64_t rows, int64_t columns)
{
    __shared__ float square[SQUARE][SQUARE + 1];
    const int64_t across = (columns + SQUARE - 1) / SQUARE;
    const int64_t row = blockIdx.x / across * SQUARE, column = blockIdx.x % across * SQUARE;
    const int x = (int)threadIdx.x % SQUARE, y = (int)threadIdx.x / SQUARE;
    for (int i = y; i < SQUARE; i += LINES)
        if (row + i < rows && column + x < columns)
            square[i][x] = mw_element_load(from, (row + i) * columns + column + x, from_type);
    __syncthreads();
    for (int i = y; i < SQUARE; i += LINES)
        if (column + i < columns && row + x < rows)
            mw_element_store(to, (column + i) * rows + row + x, to_type, square[x][i]);
}

MW_C_BEGIN

void mw_cuda_conv(MwRoutine routine, void *const *operands, const MwKernelArg *args, void *stream)
{
    const Form form = routine == MW_ROUTINE_CONV             ? FORWARD
                      : routine == MW_ROUTINE_CONV_TRANSPOSE ? TRANSPOSE
                                                             : FILTER;
    const Product p = product_of(args, form);
    const int blocks = (int)(p.groups * p.m_tiles * p.n_tiles);
    const void *const image = operands[0], *const b = operands[1];
    void *const c = operands[2];
    if (form == FORWARD)
        MW_LAUNCH(conv, blocks, THREADS, stream, (p, image, b, c));
    else if (form == TRANSPOSE)
        MW_LAUNCH(conv_transpose, blocks, THREADS, stream, (p, image, b, c));
    else
        MW_LAUNCH(conv_filter_grad, blocks, THREADS, stream, (p, image, b, c));
}

void mw_cuda_transpose(const void *from, MwType from_type, void *to, MwType to_type, int64_t rows,
                       int64_t columns, void *stream)
{
    const int blocks = (int)((rows + SQUARE - 1) / SQUARE * ((columns + SQUARE - 1) / SQUARE));
    MW_LAUNCH(transpose, blocks, SQUARE * LINES, stream,
              (from, from_type, to, to_type, rows, columns));
}

MW_C_END
