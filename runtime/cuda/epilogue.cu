/* SPDX-License-Identifier: MIT */
/* Element-wise epilogues: a thread does one element of the product after another. Sums: the rows
 * are split into slices; a block has SUM_COLUMNS columns of a slice with SUM_ROWS threads each; a
 * thread adds up rows that are SUM_ROWS apart, in double. The partial sums of a block are added in
 * order, and by another launch those of the slices: the result depends on the sizes only. */
#include "runtime/cuda/epilogue.h"

#include "runtime/cuda/element.h"

#include <math.h>

enum {
    THREADS = 256,
    MOST_BLOCKS = 4096,
    SUM_COLUMNS = MW_CUDA_SUM_COLUMNS,
    SUM_ROWS = MW_CUDA_SUM_ROWS,
    SUM_THREADS = SUM_COLUMNS * SUM_ROWS
};

/* The tanh form of GELU: 0.5 x (1 + tanh(GELU_SCALE (x + GELU_CUBE x^3))), with GELU_SCALE = sqrt(2
 * / pi). */
#define GELU_SCALE 0.7978845608028654f
#define GELU_CUBE 0.044715f

static __device__ __forceinline__ float gelu(float x)
{
    return 0.5f * x * (1 + tanhf(GELU_SCALE * (x + GELU_CUBE * x * x * x)));
}

static __device__ __forceinline__ float gelu_slope(float x)
{
    const float t = tanhf(GELU_SCALE * (x + GELU_CUBE * x * x * x));
    return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * GELU_SCALE * (1 + 3 * GELU_CUBE * x * x);
}

/* The shape of a product; `ld` is its row stride in elements. */
typedef struct {
    int64_t rows, columns, ld;
    int type;
} Shape;

/* A thread goes over elements that are as far apart as there are threads, counted row by row
 * without the gaps between rows. It divides at the beginning alone, as a division of 64 bits takes
 * many instructions. */
typedef struct {
    int64_t row, column, row_step, column_step;
} Walk;

static __device__ __forceinline__ Walk walk(const Shape *shape)
{
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    Walk w;
    w.row = first / shape->columns;
    w.column = first % shape->columns;
    w.row_step = step / shape->columns;
    w.column_step = step % shape->columns;
    return w;
}

static __device__ __forceinline__ void go_on(const Shape *shape, Walk *w)
{
    w->row += w->row_step;
    w->column += w->column_step;
    if (w->column >= shape->columns) {
        w->column -= shape->columns;
        w->row++;
    }
}

/* c = the product plus bias, or GELU of that. The product is in aux, if there is one, and aux gets
 * the input of GELU; otherwise the product is in c. */
static __global__ void __launch_bounds__(THREADS)
    finish(Shape shape, const void *__restrict__ bias, int has_gelu, void *aux, void *c)
{
    for (Walk w = walk(&shape); w.row < shape.rows; go_on(&shape, &w)) {
        const int64_t at = w.row * shape.ld + w.column;
        float x = mw_element_load(aux ? aux : c, at, shape.type);
        if (bias)
            x += mw_element_load(bias, w.column, shape.type);
        if (aux)
            mw_element_store(aux, at, shape.type, x);
        mw_element_store(c, at, shape.type, has_gelu ? gelu(x) : x);
    }
}

static __global__ void __launch_bounds__(THREADS)
    multiply_by_slope(Shape shape, const void *__restrict__ aux, void *__restrict__ c)
{
    for (Walk w = walk(&shape); w.row < shape.rows; go_on(&shape, &w)) {
        const int64_t at = w.row * shape.ld + w.column;
        const float slope = gelu_slope(mw_element_load(aux, at, shape.type));
        mw_element_store(c, at, shape.type, mw_element_load(c, at, shape.type) * slope);
    }
}

/* A matrix whose rows are added up; `row` and `column` are the strides of its rows and columns, in
 * elements. */
typedef struct {
    const void *at;
    int64_t rows, columns, row, column;
    int type;
} Summed;

/* Adds up `rows` rows in each slice, the last of which may have fewer. The sums of slices are
 * partial[slice][column], unless there is one slice: then they are `sums`. */
static __global__ void __launch_bounds__(SUM_THREADS)
    add_rows(Summed from, int64_t rows, double *__restrict__ partial, void *__restrict__ sums,
             int type)
{
    __shared__ double part[SUM_ROWS][SUM_COLUMNS];
    const unsigned lane = threadIdx.x / SUM_COLUMNS, own = threadIdx.x % SUM_COLUMNS;
    const int64_t blocks = (from.columns + SUM_COLUMNS - 1) / SUM_COLUMNS;
    const int64_t slice = blockIdx.x / blocks;
    const int64_t column = (blockIdx.x - slice * blocks) * SUM_COLUMNS + own;
    const int64_t last = (slice + 1) * rows < from.rows ? (slice + 1) * rows : from.rows;
    double sum = 0;
    MW_UNROLL_BY(8)
    for (int64_t row = slice * rows + lane; row < last && column < from.columns; row += SUM_ROWS)
        sum += (double)mw_element_load(from.at, row * from.row + column * from.column, from.type);
    part[lane][own] = sum;
    __syncthreads();
    for (int i = 1; i < SUM_ROWS && lane == 0; i++)
        sum += part[i][own];
    if (lane != 0 || column >= from.columns)
        return;
    if (partial)
        partial[slice * from.columns + column] = sum;
    else
        mw_element_store(sums, column, type, (float)sum);
}

static __global__ void __launch_bounds__(THREADS)
    add_slices(const double *__restrict__ partial, int64_t slices, int64_t columns,
               void *__restrict__ sums, int type)
{
    const int64_t column = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    double sum = 0;
    for (int64_t slice = 0; slice < slices && column < columns; slice++)
        sum += partial[slice * columns + column];
    if (column < columns)
        mw_element_store(sums, column, type, (float)sum);
}

static char *element_of(void *operand, int64_t element, int type)
{
    return (char *)operand + element * (type == MW_F32 ? 4 : 2);
}

static void sum_operand(const MwGemmExtras *extras, void *const *operands, const MwKernelArg *args,
                        void *workspace, void *stream)
{
    const int which = extras->summed, product = (int)args[MW_GEMM_TYPE].i;
    const int type = product == MW_TF32 ? MW_F32 : product;
    const int is_turned = args[MW_GEMM_TRANS_A + which].i != 0;
    const int64_t ld = args[MW_GEMM_LDA + which].i;
    /* The sum is over k: over the columns of a, and over the rows of b, unless they are
     * transposed. */
    const int k_is_inner = which == 0 ? !is_turned : is_turned;
    Summed from;
    from.at = element_of(operands[which], args[MW_GEMM_A_OFFSET + which].i, type);
    from.rows = args[MW_GEMM_K].i;
    from.columns = args[which == 0 ? MW_GEMM_M : MW_GEMM_N].i;
    from.row = k_is_inner ? 1 : ld;
    from.column = k_is_inner ? ld : 1;
    from.type = type;
    void *sums = operands[extras->sums];
    const int sums_type = (int)args[MW_GEMM_C_TYPE].i;
    const int64_t slices = mw_cuda_sum_slices(from.rows, from.columns);
    const int64_t rows = mw_ceil_div(from.rows, slices);
    double *partial = slices > 1 ? (double *)workspace : (double *)NULL;
    MW_LAUNCH(add_rows, slices * mw_ceil_div(from.columns, SUM_COLUMNS), SUM_THREADS, stream,
              (from, rows, partial, sums, sums_type));
    if (partial)
        MW_LAUNCH(add_slices, mw_ceil_div(from.columns, THREADS), THREADS, stream,
                  (partial, slices, from.columns, sums, sums_type));
}

MW_C_BEGIN
void mw_cuda_epilogue(MwRoutine routine, void *const *operands, const MwKernelArg *args,
                      void *workspace, void *stream)
{
    const MwGemmExtras *extras = mw_gemm_extras(routine);
    const int type = (int)args[MW_GEMM_C_TYPE].i;
    Shape shape;
    shape.rows = args[MW_GEMM_M].i;
    shape.columns = args[MW_GEMM_N].i;
    shape.ld = args[MW_GEMM_LDC].i;
    shape.type = type;
    const int64_t offset = args[MW_GEMM_C_OFFSET].i;
    void *c = element_of(operands[2], offset, type);
    void *aux = extras->aux ? element_of(operands[extras->aux], offset, type) : NULL;
    const void *bias = extras->bias ? operands[extras->bias] : NULL;
    const int blocks = (int)mw_min(mw_ceil_div(shape.rows * shape.columns, THREADS), MOST_BLOCKS);
    if (extras->sums)
        sum_operand(extras, operands, args, workspace, stream);
    else if (extras->has_gelu_grad)
        MW_LAUNCH(multiply_by_slope, blocks, THREADS, stream, (shape, aux, c));
    else
        MW_LAUNCH(finish, blocks, THREADS, stream, (shape, bias, extras->has_gelu, aux, c));
}
MW_C_END
