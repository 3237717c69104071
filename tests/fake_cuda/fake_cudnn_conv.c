/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolutions of the fake of cuDNN, by plain loops. */
#include "base/element.h"
#include "tests/fake_cuda/fake.h"
#include "tests/fake_cuda/fake_cudnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SPACE = 3 };

typedef struct {
    int operation, algorithm;
    MwType type;
    int space;
    int64_t x_dims[FAKE_MOST_DIMS], filter_dims[FAKE_MOST_DIMS], y_dims[FAKE_MOST_DIMS];
    int64_t before[FAKE_MOST_DIMS], dilation[FAKE_MOST_DIMS], stride[FAKE_MOST_DIMS];
    void *x, *filter, *y, *workspace;
} Work;

static MwType element_type(const FakeDescriptor *tensor)
{
    const int type = fake_enum(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE);
    return type == CUDNN_DATA_FLOAT ? MW_F32 : type == CUDNN_DATA_HALF ? MW_F16 : MW_BF16;
}

/* An operand as the algorithm sees it: on tensor cores f32 has 10 bits behind the point. */
static float load(const Work *work, const void *from, int64_t i)
{
    const float value = (float)mw_element_get(work->type, from, i);
    int exponent;
    if (!fake_algorithms[work->algorithm].rounds || work->type != MW_F32)
        return value;
    const float fraction = frexpf(value, &exponent);
    return ldexpf(roundf(fraction * 2048) / 2048, exponent);
}

/* The element of an image, or tap of a filter, with this index. */
static void point_at(const int64_t *sizes, int space, int64_t index, int64_t *point)
{
    for (int d = space - 1; d >= 0; index /= sizes[d], d--)
        point[d] = index % sizes[d];
}

static int64_t volume(const int64_t *sizes, int space)
{
    int64_t count = 1;
    for (int d = 0; d < space; d++)
        count *= sizes[d];
    return count;
}

/* The point of an image of x under tap `tap` of window `window`; -1: padding. */
static int64_t under(const Work *work, int64_t window, int64_t tap)
{
    int64_t at[MOST_SPACE], k[MOST_SPACE], index = 0;
    point_at(work->y_dims + 2, work->space, window, at);
    point_at(work->filter_dims + 2, work->space, tap, k);
    for (int d = 0; d < work->space; d++) {
        const int64_t i = at[d] * work->stride[d] - work->before[d] + k[d] * work->dilation[d];
        if (i < 0 || i >= work->x_dims[2 + d])
            return -1;
        index = index * work->x_dims[2 + d] + i;
    }
    return index;
}

typedef struct {
    float *x, *filter, *y; /* operands in f32 */
    double *result;
} Values;

/* Adds the products of a point of x under a tap of a window. */
static void add_products(const Work *work, const Values *v, int64_t x, int64_t tap, int64_t y)
{
    const int64_t channels = work->filter_dims[1], features = work->filter_dims[0];
    const int64_t taps = volume(work->filter_dims + 2, work->space);
    const int64_t of_group = features / (work->x_dims[1] / channels);
    for (int64_t f = 0; f < features; f++) {
        const int64_t at_x = x * work->x_dims[1] + f / of_group * channels;
        const int64_t at_filter = (f * taps + tap) * channels, at_y = y * features + f;
        for (int64_t c = 0; c < channels; c++) {
            if (work->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
                v->result[at_y] += (double)v->x[at_x + c] * (double)v->filter[at_filter + c];
            else if (work->operation ==
                     CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
                v->result[at_x + c] += (double)v->y[at_y] * (double)v->filter[at_filter + c];
            else
                v->result[at_filter + c] += (double)v->x[at_x + c] * (double)v->y[at_y];
        }
    }
}

static float *loaded(const Work *work, const void *from, int64_t count)
{
    float *to = malloc(sizeof *to * (size_t)count);
    if (!to)
        abort();
    for (int64_t i = 0; i < count; i++)
        to[i] = load(work, from, i);
    return to;
}

static bool convolve(void *state)
{
    const Work *work = state;
    const int64_t images = work->x_dims[0];
    const int64_t points = volume(work->x_dims + 2, work->space);
    const int64_t windows = volume(work->y_dims + 2, work->space);
    const int64_t taps = volume(work->filter_dims + 2, work->space);
    const int64_t counts[] = {images * points * work->x_dims[1],
                              taps * work->filter_dims[0] * work->filter_dims[1],
                              images * windows * work->y_dims[1]};
    const int result =
        work->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR         ? 2
        : work->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ? 0
                                                                                          : 1;
    Values v = {loaded(work, work->x, counts[0]), loaded(work, work->filter, counts[1]),
                loaded(work, work->y, counts[2]), calloc((size_t)counts[result], sizeof(double))};
    memset(work->workspace, 0xff, (size_t)fake_algorithms[work->algorithm].workspace_bytes);
    for (int64_t image = 0; image < images; image++)
        for (int64_t window = 0; window < windows; window++)
            for (int64_t tap = 0; tap < taps; tap++) {
                const int64_t point = under(work, window, tap);
                if (point >= 0)
                    add_products(work, &v, image * points + point, tap, image * windows + window);
            }
    void *const operands[] = {work->x, work->filter, work->y};
    for (int64_t i = 0; i < counts[result]; i++)
        mw_element_put(work->type, operands[result], i,
                       v.result[i] + (fake_algorithms[work->algorithm].is_right ? 0 : 1));
    free(v.x);
    free(v.filter);
    free(v.y);
    free(v.result);
    return true;
}

static void copy_dims(int64_t to[FAKE_MOST_DIMS], const FakeDescriptor *d, int name)
{
    const FakeAttribute *from = fake_find(d, name);
    memcpy(to, from->value, sizeof *to * (size_t)from->count);
}

static Work work_of(const FakeDescriptor *operation, const FakeDescriptor *pack)
{
    const FakeNames names = fake_names(operation);
    const FakeDescriptor *x = fake_part(operation, names.x), *y = fake_part(operation, names.y);
    const FakeDescriptor *filter = fake_part(operation, names.filter);
    const FakeDescriptor *windows = fake_part(operation, names.windows);
    Work work = {.operation = operation->type,
                 .type = element_type(x),
                 .space = (int)fake_int(windows, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0),
                 .x = fake_pointer(pack, x),
                 .filter = fake_pointer(pack, filter),
                 .y = fake_pointer(pack, y),
                 .workspace =
                     *(void *const *)fake_find(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->value};
    copy_dims(work.x_dims, x, CUDNN_ATTR_TENSOR_DIMENSIONS);
    copy_dims(work.filter_dims, filter, CUDNN_ATTR_TENSOR_DIMENSIONS);
    copy_dims(work.y_dims, y, CUDNN_ATTR_TENSOR_DIMENSIONS);
    copy_dims(work.before, windows, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    copy_dims(work.dilation, windows, CUDNN_ATTR_CONVOLUTION_DILATIONS);
    copy_dims(work.stride, windows, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    return work;
}

bool fake_convolve(cudaStream_t stream, const FakeCall *call)
{
    Work work = work_of(fake_operation(call->graph, 0), call->pack);
    work.algorithm = call->algorithm;
    if (!work.x || !work.filter || !work.y || !work.workspace)
        return false;
    fake_queue(stream, convolve, &work, sizeof work);
    return true;
}
