/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cuDNN's graph API on plain loops, for convolutions. A descriptor is refused that lacks an
 * attribute or whose parts do not go together. Of the algorithms that are listed some must not be
 * chosen, as their notes or their workspace say, and compute something else. All operands have one
 * type, as cuDNN 9.28 wants it for an H100.
 *
 * FAKE_CUDNN=none: the library is not there. */
#include "base/element.h"
#include "runtime/cuda/cudnn.h"
#include "tests/fake_cuda/fake.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SET = 10, VALUE_BYTES = 64, MOST_DIMS = 5, MOST_SPACE = 3 };

struct cudnnContext {
    cudaStream_t stream;
};

typedef struct {
    int name, type;
    int64_t count;
    char value[VALUE_BYTES];
} Attribute;

typedef struct {
    int type, algorithm; /* the latter of configurations and engines */
    bool is_final;
    Attribute set[MOST_SET];
    int set_count;
} Descriptor;

/* Counts a call of the library's function, which may have to fail. */
#define MAY_FAIL(call, error)                                                                      \
    do {                                                                                           \
        if (fake_fault(call) == FAKE_FAIL)                                                         \
            return error;                                                                          \
    } while (0)

/* ---- Algorithms ---- */

enum { HUGE_BYTES = 1 << 30 };

/* In the order in which they are listed. `is_right`: what it computes. */
static const struct {
    int mode, notes[2], note_count;
    int64_t workspace_bytes;
    bool is_right, is_there, rounds;
} algorithms[] = {
    {CUDNN_HEUR_MODE_A, {4}, 1, 0, false, true, false}, /* CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC */
    {CUDNN_HEUR_MODE_A,
     {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, 5},
     2,
     0,
     false,
     true,
     false}, /* WINOGRAD */
    {CUDNN_HEUR_MODE_A, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 1, HUGE_BYTES, false, true, false},
    {CUDNN_HEUR_MODE_A, {0}, 0, HUGE_BYTES, false, true, false},
    {CUDNN_HEUR_MODE_A, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 1, 0, false, false, false},
    {CUDNN_HEUR_MODE_A, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 1, 131, true, true, true},
    {CUDNN_HEUR_MODE_FALLBACK, {2, 4}, 2, 0, false, true, false}, /* REDUCED_PRECISION_REDUCTION */
    {CUDNN_HEUR_MODE_FALLBACK, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, 1, 4099, true, true, false},
};

/* ---- Attributes ---- */

static const Attribute *find(const Descriptor *d, int name)
{
    for (int i = 0; i < d->set_count; i++)
        if (d->set[i].name == name)
            return &d->set[i];
    return NULL;
}

static int64_t int_of(const Descriptor *d, int name, int i)
{
    return ((const int64_t *)find(d, name)->value)[i];
}

static int enum_of(const Descriptor *d, int name)
{
    return *(const int *)find(d, name)->value;
}

static float float_of(const Descriptor *d, int name)
{
    return *(const float *)find(d, name)->value;
}

static const Descriptor *part_of(const Descriptor *d, int name)
{
    return *(Descriptor *const *)find(d, name)->value;
}

static bool has(const Descriptor *d, int name, int type, int64_t count)
{
    const Attribute *attribute = find(d, name);
    return attribute && attribute->type == type && attribute->count == count;
}

static bool has_part(const Descriptor *d, int name, int type)
{
    return has(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1) && part_of(d, name) &&
           part_of(d, name)->type == type && part_of(d, name)->is_final;
}

static bool has_handle(const Descriptor *d, int name)
{
    return has(d, name, CUDNN_TYPE_HANDLE, 1) && *(void *const *)find(d, name)->value;
}

/* ---- What makes descriptors complete ---- */

static bool tensor_is_good(const Descriptor *d)
{
    const Attribute *dims = find(d, CUDNN_ATTR_TENSOR_DIMENSIONS);
    if (!dims || dims->count < 4 || dims->count > MOST_DIMS ||
        !has(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims->count) ||
        !has(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, dims->count) ||
        !has(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1) ||
        !has(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1) ||
        !has(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1))
        return false;
    int64_t step = int_of(d, CUDNN_ATTR_TENSOR_DIMENSIONS, 1);
    bool good = int_of(d, CUDNN_ATTR_TENSOR_STRIDES, 1) == 1;
    for (int i = (int)dims->count - 1; i >= 2; i--) { /* channels are last in memory */
        good &= int_of(d, CUDNN_ATTR_TENSOR_STRIDES, i) == step;
        step *= int_of(d, CUDNN_ATTR_TENSOR_DIMENSIONS, i);
    }
    return good && step > 0 && int_of(d, CUDNN_ATTR_TENSOR_STRIDES, 0) == step;
}

static bool windows_are_good(const Descriptor *d)
{
    if (!has(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1))
        return false;
    const int64_t space = int_of(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0);
    return has(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1) &&
           has(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1) &&
           has(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, space) &&
           has(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, space) &&
           has(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, space) &&
           has(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, space) &&
           enum_of(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE) == CUDNN_DATA_FLOAT &&
           enum_of(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION;
}

/* The attributes of the three operations are numbered alike, from these on, in other orders. */
typedef struct {
    int alpha, beta, windows, filter, x, y;
} Names;

static Names names_of(const Descriptor *operation)
{
    switch (operation->type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        return (Names){700, 701, 702, 703, 704, 705};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        return (Names){706, 707, 708, 709, 710, 711};
    }
    return (Names){712, 713, 714, 715, 716, 717};
}

static int64_t dim(const Descriptor *tensor, int i)
{
    return int_of(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, i);
}

static bool sizes_go_together(const Descriptor *x, const Descriptor *filter, const Descriptor *y,
                              const Descriptor *windows)
{
    const int64_t space = int_of(windows, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0);
    bool good = find(x, CUDNN_ATTR_TENSOR_DIMENSIONS)->count == 2 + space &&
                find(filter, CUDNN_ATTR_TENSOR_DIMENSIONS)->count == 2 + space &&
                find(y, CUDNN_ATTR_TENSOR_DIMENSIONS)->count == 2 + space &&
                dim(x, 0) == dim(y, 0) && dim(y, 1) == dim(filter, 0) &&
                dim(x, 1) % dim(filter, 1) == 0 &&
                dim(filter, 0) % (dim(x, 1) / dim(filter, 1)) == 0;
    for (int i = 0; good && i < space; i++) {
        const int64_t padded = dim(x, 2 + i) +
                               int_of(windows, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, i) +
                               int_of(windows, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, i);
        const int64_t reach =
            int_of(windows, CUDNN_ATTR_CONVOLUTION_DILATIONS, i) * (dim(filter, 2 + i) - 1) + 1;
        good = int_of(windows, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, i) >= 0 &&
               (padded - reach) / int_of(windows, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, i) + 1 ==
                   dim(y, 2 + i);
    }
    return good;
}

static bool operation_is_good(const Descriptor *d)
{
    const Names names = names_of(d);
    return has_part(d, names.x, CUDNN_BACKEND_TENSOR_DESCRIPTOR) &&
           has_part(d, names.filter, CUDNN_BACKEND_TENSOR_DESCRIPTOR) &&
           has_part(d, names.y, CUDNN_BACKEND_TENSOR_DESCRIPTOR) &&
           has_part(d, names.windows, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) &&
           has(d, names.alpha, CUDNN_TYPE_FLOAT, 1) && has(d, names.beta, CUDNN_TYPE_FLOAT, 1) &&
           float_of(d, names.alpha) == 1 && float_of(d, names.beta) == 0 &&
           sizes_go_together(part_of(d, names.x), part_of(d, names.filter), part_of(d, names.y),
                             part_of(d, names.windows));
}

static bool is_operation(int type)
{
    return type >= CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR &&
           type <= CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
}

static bool graph_is_good(const Descriptor *d)
{
    return has(d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1) &&
           is_operation(part_of(d, CUDNN_ATTR_OPERATIONGRAPH_OPS)->type) &&
           part_of(d, CUDNN_ATTR_OPERATIONGRAPH_OPS)->is_final &&
           has_handle(d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
}

static bool plan_is_good(const Descriptor *d)
{
    return has_part(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                    CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) &&
           has_handle(d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE) &&
           algorithms[part_of(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->algorithm].is_there;
}

static bool pack_is_good(const Descriptor *d)
{
    return has(d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3) &&
           has(d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3) &&
           has(d, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1);
}

static bool is_good(const Descriptor *d)
{
    if (is_operation(d->type))
        return operation_is_good(d);
    switch (d->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        return tensor_is_good(d);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
        return windows_are_good(d);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        return graph_is_good(d);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return has(d, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1) &&
               has_part(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                        CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return plan_is_good(d);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return pack_is_good(d);
    }
    return false; /* nobody makes them complete but the library */
}

/* ---- Descriptors ---- */

static int create_descriptor(int type, cudnnBackendDescriptor_t *descriptor)
{
    MAY_FAIL("cudnnBackendCreateDescriptor", CUDNN_STATUS_NOT_INITIALIZED);
    Descriptor *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    made->type = type;
    *descriptor = made;
    return CUDNN_STATUS_SUCCESS;
}

static int destroy_descriptor(cudnnBackendDescriptor_t descriptor)
{
    memset(descriptor, 0xff, sizeof(Descriptor)); /* whoever uses it still fails */
    free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

static int64_t element_bytes(int type)
{
    return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_BACKEND_DESCRIPTOR ||
                   type == CUDNN_TYPE_HANDLE || type == CUDNN_TYPE_VOID_PTR
               ? 8
               : 4;
}

static int set_attribute(cudnnBackendDescriptor_t descriptor, int name, int type, int64_t count,
                         const void *elements)
{
    Descriptor *d = descriptor;
    if (d->is_final || d->set_count == MOST_SET || count < 1 ||
        count * element_bytes(type) > VALUE_BYTES || find(d, name))
        return CUDNN_STATUS_BAD_PARAM;
    Attribute *attribute = &d->set[d->set_count++];
    *attribute = (Attribute){.name = name, .type = type, .count = count};
    memcpy(attribute->value, elements, (size_t)(count * element_bytes(type)));
    return CUDNN_STATUS_SUCCESS;
}

static int finalize(cudnnBackendDescriptor_t descriptor)
{
    Descriptor *d = descriptor;
    MAY_FAIL("cudnnBackendFinalize", CUDNN_STATUS_NOT_SUPPORTED);
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        fake_load();
    d->is_final = is_good(d);
    return d->is_final ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static bool has_one_type(const Descriptor *graph)
{
    const Descriptor *operation = part_of(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    const Names names = names_of(operation);
    const int type = enum_of(part_of(operation, names.x), CUDNN_ATTR_TENSOR_DATA_TYPE);
    return type == enum_of(part_of(operation, names.filter), CUDNN_ATTR_TENSOR_DATA_TYPE) &&
           type == enum_of(part_of(operation, names.y), CUDNN_ATTR_TENSOR_DATA_TYPE);
}

static int list_configs(const Descriptor *list, int64_t wanted, int64_t *count, void *elements)
{
    const int mode = enum_of(list, CUDNN_ATTR_ENGINEHEUR_MODE);
    *count = 0;
    if (!has_one_type(part_of(list, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)))
        return CUDNN_STATUS_SUCCESS;
    for (int i = 0; i < MW_COUNT(algorithms) && *count < wanted; i++)
        if (algorithms[i].mode == mode) {
            Descriptor *config = ((Descriptor **)elements)[(*count)++];
            if (config->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
                return CUDNN_STATUS_BAD_PARAM;
            config->algorithm = i;
            config->is_final = true;
            /* a configuration knows what it is for */
            config->set[config->set_count++] = *find(list, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        }
    return CUDNN_STATUS_SUCCESS;
}

static int get_attribute(cudnnBackendDescriptor_t descriptor, int name, int type, int64_t wanted,
                         int64_t *count, void *elements)
{
    Descriptor *d = descriptor;
    if (!d->is_final)
        return CUDNN_STATUS_BAD_PARAM;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return list_configs(d, wanted, count, elements);
    *count = 1;
    if (name == CUDNN_ATTR_ENGINECFG_ENGINE && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        Descriptor *engine = *(Descriptor **)elements;
        engine->algorithm = d->algorithm;
        engine->is_final = true;
        return CUDNN_STATUS_SUCCESS;
    }
    if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE) {
        *count = algorithms[d->algorithm].note_count;
        if (wanted < *count)
            return CUDNN_STATUS_BAD_PARAM;
        memcpy(elements, algorithms[d->algorithm].notes, sizeof(int) * (size_t)*count);
        return CUDNN_STATUS_SUCCESS;
    }
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64) {
        const Descriptor *config = part_of(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
        *(int64_t *)elements = algorithms[config->algorithm].workspace_bytes;
        return CUDNN_STATUS_SUCCESS;
    }
    return CUDNN_STATUS_BAD_PARAM;
}

/* ---- Execution ---- */

typedef struct {
    int operation, algorithm;
    MwType type;
    int space;
    int64_t x_dims[MOST_DIMS], filter_dims[MOST_DIMS], y_dims[MOST_DIMS];
    int64_t before[MOST_DIMS], dilation[MOST_DIMS], stride[MOST_DIMS];
    void *x, *filter, *y, *workspace;
} Work;

static MwType element_type(const Descriptor *tensor)
{
    const int type = enum_of(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE);
    return type == CUDNN_DATA_FLOAT ? MW_F32 : type == CUDNN_DATA_HALF ? MW_F16 : MW_BF16;
}

/* An operand as the algorithm sees it: on tensor cores f32 has 10 bits behind the point. */
static float load(const Work *work, const void *from, int64_t i)
{
    const float value = (float)mw_element_get(work->type, from, i);
    int exponent;
    if (!algorithms[work->algorithm].rounds || work->type != MW_F32)
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
    memset(work->workspace, 0xff, (size_t)algorithms[work->algorithm].workspace_bytes);
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
                       v.result[i] + (algorithms[work->algorithm].is_right ? 0 : 1));
    free(v.x);
    free(v.filter);
    free(v.y);
    free(v.result);
    return true;
}

static void *pointer_of(const Descriptor *pack, const Descriptor *tensor)
{
    const int64_t id = int_of(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
    void *const *pointers = (void *const *)find(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)->value;
    for (int i = 0; i < 3; i++)
        if (int_of(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, i) == id &&
            (uintptr_t)pointers[i] %
                    (uintptr_t)int_of(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0) ==
                0)
            return pointers[i];
    return NULL;
}

static void copy_dims(int64_t to[MOST_DIMS], const Descriptor *d, int name)
{
    const Attribute *from = find(d, name);
    memcpy(to, from->value, sizeof *to * (size_t)from->count);
}

static Work work_of(const Descriptor *operation, const Descriptor *pack)
{
    const Names names = names_of(operation);
    const Descriptor *x = part_of(operation, names.x), *y = part_of(operation, names.y);
    const Descriptor *filter = part_of(operation, names.filter);
    const Descriptor *windows = part_of(operation, names.windows);
    Work work = {.operation = operation->type,
                 .type = element_type(x),
                 .space = (int)int_of(windows, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0),
                 .x = pointer_of(pack, x),
                 .filter = pointer_of(pack, filter),
                 .y = pointer_of(pack, y),
                 .workspace = *(void *const *)find(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->value};
    copy_dims(work.x_dims, x, CUDNN_ATTR_TENSOR_DIMENSIONS);
    copy_dims(work.filter_dims, filter, CUDNN_ATTR_TENSOR_DIMENSIONS);
    copy_dims(work.y_dims, y, CUDNN_ATTR_TENSOR_DIMENSIONS);
    copy_dims(work.before, windows, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    copy_dims(work.dilation, windows, CUDNN_ATTR_CONVOLUTION_DILATIONS);
    copy_dims(work.stride, windows, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    return work;
}

static int execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                   cudnnBackendDescriptor_t pack)
{
    const Descriptor *p = plan, *given = pack;
    MAY_FAIL("cudnnBackendExecute", CUDNN_STATUS_EXECUTION_FAILED);
    if (!p->is_final || !given->is_final)
        return CUDNN_STATUS_BAD_PARAM;
    const Descriptor *config = part_of(p, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const Descriptor *graph = part_of(config, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    Work work = work_of(part_of(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS), given);
    work.algorithm = config->algorithm;
    if (!work.x || !work.filter || !work.y || !work.workspace)
        return CUDNN_STATUS_BAD_PARAM;
    fake_queue(handle->stream, convolve, &work, sizeof work);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Handles ---- */

static int create_handle(cudnnHandle_t *handle)
{
    MAY_FAIL("cudnnCreate", CUDNN_STATUS_NOT_INITIALIZED);
    *handle = calloc(1, sizeof **handle);
    return *handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_INITIALIZED;
}

static int destroy_handle(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

static int set_stream(cudnnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

static const char *error_string(int status)
{
    switch (status) {
    case CUDNN_STATUS_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    }
    return "an unknown status";
}

static void last_error_string(char *text, size_t bytes)
{
    strncpy(text, "the fake says no more", bytes - 1);
}

/* ---- Loading ---- */

MwCudnn mw_cudnn = {
    .cudnnCreate = create_handle,
    .cudnnDestroy = destroy_handle,
    .cudnnSetStream = set_stream,
    .cudnnGetErrorString = error_string,
    .cudnnGetLastErrorString = last_error_string,
    .cudnnBackendCreateDescriptor = create_descriptor,
    .cudnnBackendDestroyDescriptor = destroy_descriptor,
    .cudnnBackendFinalize = finalize,
    .cudnnBackendSetAttribute = set_attribute,
    .cudnnBackendGetAttribute = get_attribute,
    .cudnnBackendExecute = execute,
};

bool mw_cudnn_load(MwFault *reason)
{
    const char *kind = getenv("FAKE_CUDNN");
    return !kind || strcmp(kind, "none") != 0 || mw_fault_set(reason, "cuDNN: it is not there");
}
