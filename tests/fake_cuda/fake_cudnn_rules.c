/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cuDNN wants of descriptors. */
#include "tests/fake_cuda/fake_cudnn.h"

/* ---- Attributes ---- */

const FakeAttribute *fake_find(const FakeDescriptor *d, int name)
{
    for (int i = 0; i < d->set_count; i++)
        if (d->set[i].name == name)
            return &d->set[i];
    return NULL;
}

int64_t fake_int(const FakeDescriptor *d, int name, int i)
{
    return ((const int64_t *)fake_find(d, name)->value)[i];
}

int fake_enum(const FakeDescriptor *d, int name)
{
    return *(const int *)fake_find(d, name)->value;
}

static float float_of(const FakeDescriptor *d, int name)
{
    return *(const float *)fake_find(d, name)->value;
}

const FakeDescriptor *fake_part(const FakeDescriptor *d, int name)
{
    return *(FakeDescriptor *const *)fake_find(d, name)->value;
}

const FakeDescriptor *fake_part_of(const FakeDescriptor *d, int name, int i)
{
    return ((FakeDescriptor *const *)fake_find(d, name)->value)[i];
}

bool fake_has(const FakeDescriptor *d, int name, int type, int64_t count)
{
    const FakeAttribute *attribute = fake_find(d, name);
    return attribute && attribute->type == type && attribute->count == count;
}

static bool has_part(const FakeDescriptor *d, int name, int type)
{
    return fake_has(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1) && fake_part(d, name) &&
           fake_part(d, name)->type == type && fake_part(d, name)->is_final;
}

static bool has_handle(const FakeDescriptor *d, int name)
{
    return fake_has(d, name, CUDNN_TYPE_HANDLE, 1) && *(void *const *)fake_find(d, name)->value;
}

/* ---- What makes descriptors complete ---- */

static bool tensor_is_good(const FakeDescriptor *d)
{
    const FakeAttribute *dims = fake_find(d, CUDNN_ATTR_TENSOR_DIMENSIONS);
    if (!dims || dims->count < 4 || dims->count > FAKE_MOST_DIMS ||
        !fake_has(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims->count) ||
        !fake_has(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, dims->count) ||
        !fake_has(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1) ||
        !fake_has(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1) ||
        !fake_has(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1))
        return false;
    return true;
}

/* Channels are last in memory. */
static bool is_image(const FakeDescriptor *d)
{
    const int dims = (int)fake_find(d, CUDNN_ATTR_TENSOR_DIMENSIONS)->count;
    int64_t step = fake_int(d, CUDNN_ATTR_TENSOR_DIMENSIONS, 1);
    bool good = fake_int(d, CUDNN_ATTR_TENSOR_STRIDES, 1) == 1;
    for (int i = dims - 1; i >= 2; i--) {
        good &= fake_int(d, CUDNN_ATTR_TENSOR_STRIDES, i) == step;
        step *= fake_int(d, CUDNN_ATTR_TENSOR_DIMENSIONS, i);
    }
    return good && step > 0 && fake_int(d, CUDNN_ATTR_TENSOR_STRIDES, 0) == step;
}

static bool windows_are_good(const FakeDescriptor *d)
{
    if (!fake_has(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1))
        return false;
    const int64_t space = fake_int(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0);
    return fake_has(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1) &&
           fake_has(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1) &&
           fake_has(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, space) &&
           fake_has(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, space) &&
           fake_has(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, space) &&
           fake_has(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, space) &&
           fake_enum(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE) == CUDNN_DATA_FLOAT &&
           fake_enum(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION;
}

FakeNames fake_names(const FakeDescriptor *operation)
{
    switch (operation->type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        return (FakeNames){700, 701, 702, 703, 704, 705};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        return (FakeNames){706, 707, 708, 709, 710, 711};
    }
    return (FakeNames){712, 713, 714, 715, 716, 717};
}

static int64_t dim(const FakeDescriptor *tensor, int i)
{
    return fake_int(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, i);
}

static bool sizes_go_together(const FakeDescriptor *x, const FakeDescriptor *filter,
                              const FakeDescriptor *y, const FakeDescriptor *windows)
{
    const int64_t space = fake_int(windows, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0);
    bool good = fake_find(x, CUDNN_ATTR_TENSOR_DIMENSIONS)->count == 2 + space &&
                fake_find(filter, CUDNN_ATTR_TENSOR_DIMENSIONS)->count == 2 + space &&
                fake_find(y, CUDNN_ATTR_TENSOR_DIMENSIONS)->count == 2 + space &&
                dim(x, 0) == dim(y, 0) && dim(y, 1) == dim(filter, 0) &&
                dim(x, 1) % dim(filter, 1) == 0 &&
                dim(filter, 0) % (dim(x, 1) / dim(filter, 1)) == 0;
    for (int i = 0; good && i < space; i++) {
        const int64_t padded = dim(x, 2 + i) +
                               fake_int(windows, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, i) +
                               fake_int(windows, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, i);
        const int64_t reach =
            fake_int(windows, CUDNN_ATTR_CONVOLUTION_DILATIONS, i) * (dim(filter, 2 + i) - 1) + 1;
        good = fake_int(windows, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, i) >= 0 &&
               (padded - reach) / fake_int(windows, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, i) + 1 ==
                   dim(y, 2 + i);
    }
    return good;
}

static bool operation_is_good(const FakeDescriptor *d)
{
    const FakeNames names = fake_names(d);
    return has_part(d, names.x, CUDNN_BACKEND_TENSOR_DESCRIPTOR) &&
           has_part(d, names.filter, CUDNN_BACKEND_TENSOR_DESCRIPTOR) &&
           has_part(d, names.y, CUDNN_BACKEND_TENSOR_DESCRIPTOR) &&
           has_part(d, names.windows, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) &&
           is_image(fake_part(d, names.x)) && is_image(fake_part(d, names.filter)) &&
           is_image(fake_part(d, names.y)) && fake_has(d, names.alpha, CUDNN_TYPE_FLOAT, 1) &&
           fake_has(d, names.beta, CUDNN_TYPE_FLOAT, 1) && float_of(d, names.alpha) == 1 &&
           float_of(d, names.beta) == 0 &&
           sizes_go_together(fake_part(d, names.x), fake_part(d, names.filter),
                             fake_part(d, names.y), fake_part(d, names.windows));
}

static bool is_operation(int type)
{
    return type >= CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR &&
           type <= CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
}

int fake_operations(const FakeDescriptor *graph)
{
    return (int)fake_find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)->count;
}

const FakeDescriptor *fake_operation(const FakeDescriptor *graph, int i)
{
    return fake_part_of(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, i);
}

/* One convolution, or operations of attention. */
static bool graph_is_good(const FakeDescriptor *d)
{
    const FakeAttribute *list = fake_find(d, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    bool good = list && list->type == CUDNN_TYPE_BACKEND_DESCRIPTOR &&
                has_handle(d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
    for (int i = 0; good && i < list->count; i++) {
        const FakeDescriptor *operation = fake_operation(d, i);
        good = operation->is_final && (fake_is_of_sdpa(operation->type) ||
                                       (is_operation(operation->type) && list->count == 1));
    }
    return good;
}

static bool plan_is_good(const FakeDescriptor *d)
{
    return has_part(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                    CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) &&
           has_handle(d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE) &&
           fake_algorithms[fake_part(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->algorithm]
               .is_there;
}

static bool pack_is_good(const FakeDescriptor *d)
{
    const FakeAttribute *ids = fake_find(d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    return ids && ids->type == CUDNN_TYPE_INT64 &&
           fake_has(d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, ids->count) &&
           fake_has(d, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1);
}

void *fake_pointer(const FakeDescriptor *pack, const FakeDescriptor *tensor)
{
    const int64_t id = fake_int(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
    const uintptr_t alignment =
        fake_find(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE)
            ? 1
            : (uintptr_t)fake_int(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
    const FakeAttribute *pointers = fake_find(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (int i = 0; i < pointers->count; i++) {
        void *const at = ((void *const *)pointers->value)[i];
        if (fake_int(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, i) == id &&
            (uintptr_t)at % alignment == 0)
            return at;
    }
    return NULL;
}

bool fake_is_complete(const FakeDescriptor *d)
{
    if (is_operation(d->type))
        return operation_is_good(d);
    if (fake_is_of_sdpa(d->type))
        return fake_sdpa_is_complete(d);
    switch (d->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        return tensor_is_good(d);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
        return windows_are_good(d);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        return graph_is_good(d);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return fake_has(d, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1) &&
               has_part(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                        CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return plan_is_good(d);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return pack_is_good(d);
    }
    return false; /* nobody makes them complete but the library */
}
