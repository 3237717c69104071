/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/cudnn_conv.h"

/* Unique ids of the tensors in cuDNN's graph. */
enum { X = 1, FILTER, Y };

/* Dimensions of a tensor: images, channels, and up to three of space. */
enum { LEAST_SPACE = 2, MOST_DIMS = 2 + MW_WINDOW_DIMS };

/* ---- The convolution ---- */

/* A convolution with as many spatial dimensions as it needs; `dims` are indices of arguments. */
typedef struct {
    const MwKernelArg *args;
    int space;                     /* spatial dimensions, the last ones */
    int64_t after[MW_WINDOW_DIMS]; /* padding behind x */
} Shape;

static int64_t at(const Shape *shape, int argument, int d)
{
    return shape->args[argument + MW_WINDOW_DIMS - shape->space + d].i;
}

static bool is_flat(const MwKernelArg *args, int d)
{
    return args[MW_WINDOW_IN + d].i == 1 && args[MW_WINDOW_OUT + d].i == 1 &&
           args[MW_WINDOW_SIZE + d].i == 1;
}

/* cuDNN computes the number of windows from the padding on both sides. False if no padding gives
 * the number that there is. */
static bool find_padding(Shape *shape, MwFault *fault)
{
    for (int d = 0; d < shape->space; d++) {
        const int64_t in = at(shape, MW_WINDOW_IN, d), out = at(shape, MW_WINDOW_OUT, d);
        const int64_t stride = at(shape, MW_WINDOW_STRIDE, d);
        const int64_t before = at(shape, MW_WINDOW_BEFORE, d);
        const int64_t reach =
            at(shape, MW_WINDOW_DILATION, d) * (at(shape, MW_WINDOW_SIZE, d) - 1) + 1;
        shape->after[d] = mw_max(0, (out - 1) * stride + reach - in - before);
        if ((in + before + shape->after[d] - reach) / stride + 1 != out)
            return mw_fault_set(fault, "the last elements of an image are in no window");
    }
    return true;
}

static bool make_shape(const MwKernelArg *args, Shape *shape, MwFault *fault)
{
    *shape = (Shape){.args = args, .space = MW_WINDOW_DIMS};
    while (shape->space > LEAST_SPACE && is_flat(args, MW_WINDOW_DIMS - shape->space))
        shape->space--;
    return find_padding(shape, fault);
}

/* A tensor [outer, inner, size..], of which dimension 1 is the one whose elements are next to each
 * other. */
typedef struct {
    int id;
    MwType type;
    int64_t outer, inner;
    int sizes; /* arguments */
    int64_t alignment;
} Tensor;

static void find_strides(const Shape *shape, const Tensor *t, int64_t dims[MOST_DIMS],
                         int64_t strides[MOST_DIMS])
{
    int64_t step = t->inner;
    dims[0] = t->outer;
    dims[1] = t->inner;
    strides[1] = 1;
    for (int d = shape->space - 1; d >= 0; d--) {
        dims[2 + d] = at(shape, t->sizes, d);
        strides[2 + d] = step;
        step *= dims[2 + d];
    }
    strides[0] = step;
}

static bool make_tensor(MwCudnnPlan *plan, const Shape *shape, const Tensor *t,
                        cudnnBackendDescriptor_t *tensor, MwFault *fault)
{
    int64_t dims[MOST_DIMS], strides[MOST_DIMS];
    const int count = 2 + shape->space;
    const int type = mw_cudnn_data_type(t->type);
    find_strides(shape, t, dims, strides);
    return mw_cudnn_make(plan, CUDNN_BACKEND_TENSOR_DESCRIPTOR, tensor, fault) &&
           mw_cudnn_set(*tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type,
                        fault) &&
           mw_cudnn_set(*tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, count, dims,
                        fault) &&
           mw_cudnn_set(*tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, count, strides,
                        fault) &&
           mw_cudnn_set_int(*tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, t->id, fault) &&
           mw_cudnn_set_int(*tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, t->alignment, fault) &&
           mw_cudnn_finalize(*tensor, fault);
}

static bool set_dims(cudnnBackendDescriptor_t windows, int name, const Shape *shape, int argument,
                     MwFault *fault)
{
    int64_t values[MW_WINDOW_DIMS];
    for (int d = 0; d < shape->space; d++)
        values[d] = at(shape, argument, d);
    return mw_cudnn_set(windows, name, CUDNN_TYPE_INT64, shape->space, values, fault);
}

static bool make_windows(MwCudnnPlan *plan, const Shape *shape, cudnnBackendDescriptor_t *windows,
                         MwFault *fault)
{
    const int sum_type = CUDNN_DATA_FLOAT, mode = CUDNN_CROSS_CORRELATION;
    return mw_cudnn_make(plan, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, windows, fault) &&
           mw_cudnn_set_int(*windows, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, shape->space, fault) &&
           mw_cudnn_set(*windows, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                        &sum_type, fault) &&
           mw_cudnn_set(*windows, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1,
                        &mode, fault) &&
           set_dims(*windows, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, shape, MW_WINDOW_BEFORE,
                    fault) &&
           mw_cudnn_set(*windows, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64,
                        shape->space, shape->after, fault) &&
           set_dims(*windows, CUDNN_ATTR_CONVOLUTION_DILATIONS, shape, MW_WINDOW_DILATION, fault) &&
           set_dims(*windows, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, shape, MW_WINDOW_STRIDE,
                    fault) &&
           mw_cudnn_finalize(*windows, fault);
}

/* The operation of a routine, and the names of its attributes. */
typedef struct {
    int type, x, filter, y, windows, alpha, beta;
} Operation;

static const Operation operations[] = {
    [MW_ROUTINE_CONV] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [MW_ROUTINE_CONV_TRANSPOSE] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [MW_ROUTINE_CONV_FILTER_GRAD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

/* The operands and the windows of an operation. */
typedef struct {
    cudnnBackendDescriptor_t x, filter, y, windows;
} Parts;

static bool make_parts(MwCudnnPlan *plan, const Shape *shape, int64_t alignment, Parts *parts,
                       MwFault *fault)
{
    const MwKernelArg *args = shape->args;
    const int64_t batch = args[MW_WINDOW_BATCH].i, channels = args[MW_WINDOW_CHANNELS].i;
    const int64_t features = args[MW_CONV_FEATURES].i;
    const MwType type = mw_type_stored((MwType)args[MW_WINDOW_TYPE].i);
    const Tensor x = {X, type, batch, channels, MW_WINDOW_IN, alignment};
    const Tensor y = {Y, type, batch, features, MW_WINDOW_OUT, alignment};
    const Tensor filter = {FILTER,         type,     features, channels / args[MW_CONV_GROUPS].i,
                           MW_WINDOW_SIZE, alignment};
    return make_tensor(plan, shape, &x, &parts->x, fault) &&
           make_tensor(plan, shape, &filter, &parts->filter, fault) &&
           make_tensor(plan, shape, &y, &parts->y, fault) &&
           make_windows(plan, shape, &parts->windows, fault);
}

static bool add_operation(MwCudnnPlan *plan, const Operation *names, const Parts *parts,
                          MwFault *fault)
{
    const float one = 1, zero = 0;
    cudnnBackendDescriptor_t operation;
    return mw_cudnn_make(plan, names->type, &operation, fault) &&
           mw_cudnn_set_descriptor(operation, names->x, parts->x, fault) &&
           mw_cudnn_set_descriptor(operation, names->filter, parts->filter, fault) &&
           mw_cudnn_set_descriptor(operation, names->y, parts->y, fault) &&
           mw_cudnn_set_descriptor(operation, names->windows, parts->windows, fault) &&
           mw_cudnn_set(operation, names->alpha, CUDNN_TYPE_FLOAT, 1, &one, fault) &&
           mw_cudnn_set(operation, names->beta, CUDNN_TYPE_FLOAT, 1, &zero, fault) &&
           mw_cudnn_add_operation(plan, operation, fault);
}

bool mw_cudnn_conv_make(MwCudnnPlan *plan, const MwCudnnTarget *target, MwRoutine routine,
                        const MwKernelArg *args, int64_t alignment, int64_t most_bytes,
                        MwFault *reason)
{
    const MwCudnnChoice choice = {.may_round = args[MW_WINDOW_TYPE].i != MW_F32,
                                  .most_bytes = most_bytes};
    Shape shape;
    Parts parts;
    *plan = (MwCudnnPlan){0};
    const bool good = make_shape(args, &shape, reason) &&
                      make_parts(plan, &shape, alignment, &parts, reason) &&
                      add_operation(plan, &operations[routine], &parts, reason) &&
                      mw_cudnn_plan_choose(plan, target, &choice, reason);
    if (!good)
        mw_cudnn_plan_free(plan);
    return good;
}

bool mw_cudnn_conv_run(const MwCudnnPlan *plan, cudnnHandle_t handle, void *x, void *filter,
                       void *y, void *workspace, MwFault *fault)
{
    static const int64_t ids[] = {X, FILTER, Y};
    void *const pointers[] = {x, filter, y};
    const MwCudnnTensors tensors = {ids, pointers, MW_COUNT(ids), workspace};
    return mw_cudnn_plan_run(plan, handle, &tensors, fault);
}
