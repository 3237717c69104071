/* SPDX-License-Identifier: MIT */
/* Gradients of filters as matrix products, on OpenBLAS: what the windows see, as a matrix of a row
 * for each window and a column for each element of a filter, transposed, times the gradient of the
 * result. Where windows are single elements side by side, that matrix is the image itself;
 * otherwise its rows are gathered, some at a time: at most GATHERED_BYTES, or one row. */
#include "runtime/cpu/filter_grad.h"

#include <cblas.h>
#include <dnnl.h>
#include <stdlib.h>
#include <string.h>

/* Rows that leave the cache before the product reads them, against results that it adds to more
 * often. */
enum { GATHERED_BYTES = 4 << 20 };

/* Channels of a point from which on oneDNN's kernels for AVX2, which read points where they are,
 * fall behind: points are then so far apart that they compete for the same lines of the cache. In
 * GFLOP/s, of windows of one element (bench/torch, resnet-50): oneDNN 62 to 81 up to 256 channels,
 * 53 to 67 with 1024 and 2048; OpenBLAS 44 to 67, and 75 to 87. */
enum { FAR_CHANNELS = 512 };

/* Channels and features below which gathering rows takes longer than a faster product saves. */
enum { LEAST_CHANNELS = 64, LEAST_FEATURES = 128 };

static bool is_image(const MwKernelArg *args)
{
    for (int d = 0; d < MW_WINDOW_DIMS; d++)
        if (args[MW_WINDOW_SIZE + d].i != 1 || args[MW_WINDOW_STRIDE + d].i != 1 ||
            args[MW_WINDOW_BEFORE + d].i != 0 ||
            args[MW_WINDOW_IN + d].i != args[MW_WINDOW_OUT + d].i)
            return false;
    return true;
}

bool mw_filter_grad_is_product(const MwKernelArg *args)
{
    const int64_t channels = args[MW_WINDOW_CHANNELS].i, features = args[MW_CONV_FEATURES].i;
    bool has_strides = false;
    for (int d = 0; d < MW_WINDOW_DIMS; d++)
        has_strides |= args[MW_WINDOW_STRIDE + d].i != 1;
    return dnnl_get_effective_cpu_isa() < dnnl_cpu_isa_avx512_core && args[MW_CONV_GROUPS].i == 1 &&
           channels >= LEAST_CHANNELS && features >= LEAST_FEATURES &&
           (has_strides || mw_max(channels, features) >= FAR_CHANNELS);
}

/* Copies what window `at` of image `x` sees to `row`; 0 for what is outside. */
static void gather_window(const MwKernelArg *args, const float *x, const int64_t *at, float *row)
{
    const int64_t channels = args[MW_WINDOW_CHANNELS].i;
    const size_t bytes = (size_t)channels * sizeof(float);
    int64_t from[MW_WINDOW_DIMS], k[MW_WINDOW_DIMS];
    for (int d = 0; d < MW_WINDOW_DIMS; d++)
        from[d] = at[d] * args[MW_WINDOW_STRIDE + d].i - args[MW_WINDOW_BEFORE + d].i;
    for (k[0] = 0; k[0] < args[MW_WINDOW_SIZE].i; k[0]++)
        for (k[1] = 0; k[1] < args[MW_WINDOW_SIZE + 1].i; k[1]++)
            for (k[2] = 0; k[2] < args[MW_WINDOW_SIZE + 2].i; k[2]++, row += channels) {
                int64_t point = 0;
                bool is_inside = true;
                for (int d = 0; d < MW_WINDOW_DIMS; d++) {
                    const int64_t i = from[d] + k[d] * args[MW_WINDOW_DILATION + d].i;
                    is_inside &= i >= 0 && i < args[MW_WINDOW_IN + d].i;
                    point = point * args[MW_WINDOW_IN + d].i + i;
                }
                if (is_inside)
                    memcpy(row, x + point * channels, bytes);
                else
                    memset(row, 0, bytes);
            }
}

static void gather_rows(const MwKernelArg *args, const float *x, int64_t begin, int64_t end,
                        int64_t columns, float *rows)
{
    int64_t image = args[MW_WINDOW_CHANNELS].i;
    for (int d = 0; d < MW_WINDOW_DIMS; d++)
        image *= args[MW_WINDOW_IN + d].i;
    for (int64_t row = begin; row < end; row++) {
        int64_t at[MW_WINDOW_DIMS], rest = row;
        for (int d = MW_WINDOW_DIMS - 1; d >= 0; d--) {
            at[d] = rest % args[MW_WINDOW_OUT + d].i;
            rest /= args[MW_WINDOW_OUT + d].i;
        }
        gather_window(args, x + rest * image, at, rows + (row - begin) * columns);
    }
}

bool mw_filter_grad(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    static float *gathered; /* kept for the process; calls run one at a time */
    static size_t gathered_bytes;
    const float *x = operands[0], *d = operands[1];
    const int64_t features = args[MW_CONV_FEATURES].i;
    int64_t windows = args[MW_WINDOW_BATCH].i, columns = args[MW_WINDOW_CHANNELS].i;
    for (int i = 0; i < MW_WINDOW_DIMS; i++) {
        windows *= args[MW_WINDOW_OUT + i].i;
        columns *= args[MW_WINDOW_SIZE + i].i;
    }
    const bool gathers = !is_image(args);
    const int64_t most = GATHERED_BYTES / (int64_t)sizeof(float) / columns;
    const int64_t rows = gathers ? mw_min(mw_max(most, 1), windows) : windows;
    const size_t bytes = (size_t)(rows * columns) * sizeof(float);
    if (gathers && bytes > gathered_bytes) {
        free(gathered);
        gathered = malloc(bytes);
        gathered_bytes = gathered ? bytes : 0;
        if (!gathered)
            return mw_fault_set(fault, "convolution: no memory");
    }
    for (int64_t begin = 0; begin < windows; begin += rows) {
        const int64_t end = mw_min(begin + rows, windows);
        if (gathers)
            gather_rows(args, x, begin, end, columns, gathered);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)columns, (blasint)features,
                    (blasint)(end - begin), 1, gathers ? gathered : x, (blasint)columns,
                    d + begin * features, (blasint)features, begin > 0, operands[2],
                    (blasint)features);
    }
    return true;
}
