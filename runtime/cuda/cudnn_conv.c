/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/cudnn_conv.h"

/* Unique ids of the tensors in cuDNN's graph. */
enum { X = 1, FILTER, Y };

/* Dimensions of a tensor: images, channels, and up to three of space. */
enum { LEAST_SPACE = 2, MOST_DIMS = 2 + MW_WINDOW_DIMS };

/* Algorithms that are considered in each of cuDNN's two lists. It lists some 5 to 40. */
enum { MOST_CONFIGS = 64 };

static const int data_types[MW_TYPE_COUNT] = {
    [MW_F32] = CUDNN_DATA_FLOAT, [MW_BF16] = CUDNN_DATA_BFLOAT16, [MW_F16] = CUDNN_DATA_HALF};

/* ---- Descriptors ---- */

static bool check(int status, const char *call, MwFault *fault)
{
    char text[256] = "";
    if (status == CUDNN_STATUS_SUCCESS)
        return true;
    mw_cudnn.cudnnGetLastErrorString(text, sizeof text);
    return mw_fault_set(fault, "%s failed: %s: %s", call, mw_cudnn.cudnnGetErrorString(status),
                        text);
}

#define CALL(name, ...) check(mw_cudnn.name(__VA_ARGS__), #name, fault)

static bool create(int type, cudnnBackendDescriptor_t *descriptor, MwFault *fault)
{
    *descriptor = NULL;
    return CALL(cudnnBackendCreateDescriptor, type, descriptor);
}

static bool set(cudnnBackendDescriptor_t descriptor, int name, int type, int64_t count,
                const void *elements, MwFault *fault)
{
    return CALL(cudnnBackendSetAttribute, descriptor, name, type, count, elements);
}

static bool set_int(cudnnBackendDescriptor_t descriptor, int name, int64_t value, MwFault *fault)
{
    return set(descriptor, name, CUDNN_TYPE_INT64, 1, &value, fault);
}

static bool set_descriptor(cudnnBackendDescriptor_t descriptor, int name,
                           cudnnBackendDescriptor_t value, MwFault *fault)
{
    return set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value, fault);
}

static bool finalize(cudnnBackendDescriptor_t descriptor, MwFault *fault)
{
    return CALL(cudnnBackendFinalize, descriptor);
}

static void destroy(cudnnBackendDescriptor_t descriptor)
{
    if (descriptor)
        mw_cudnn.cudnnBackendDestroyDescriptor(descriptor);
}

/* Has the descriptor live as long as the plan. */
static void keep(MwCudnnConv *conv, cudnnBackendDescriptor_t descriptor)
{
    MW_ASSERT(conv->made_count < MW_CUDNN_CONV_DESCRIPTORS);
    conv->made[conv->made_count++] = descriptor;
}

/* Creates a descriptor that lives as long as the plan. */
static bool make(MwCudnnConv *conv, int type, cudnnBackendDescriptor_t *descriptor, MwFault *fault)
{
    const bool good = create(type, descriptor, fault);
    if (good)
        keep(conv, *descriptor);
    return good;
}

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

static bool make_tensor(MwCudnnConv *conv, const Shape *shape, const Tensor *t,
                        cudnnBackendDescriptor_t *tensor, MwFault *fault)
{
    int64_t dims[MOST_DIMS], strides[MOST_DIMS];
    const int count = 2 + shape->space;
    find_strides(shape, t, dims, strides);
    return make(conv, CUDNN_BACKEND_TENSOR_DESCRIPTOR, tensor, fault) &&
           set(*tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &data_types[t->type],
               fault) &&
           set(*tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, count, dims, fault) &&
           set(*tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, count, strides, fault) &&
           set_int(*tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, t->id, fault) &&
           set_int(*tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, t->alignment, fault) &&
           finalize(*tensor, fault);
}

static bool set_dims(cudnnBackendDescriptor_t windows, int name, const Shape *shape, int argument,
                     MwFault *fault)
{
    int64_t values[MW_WINDOW_DIMS];
    for (int d = 0; d < shape->space; d++)
        values[d] = at(shape, argument, d);
    return set(windows, name, CUDNN_TYPE_INT64, shape->space, values, fault);
}

static bool make_windows(MwCudnnConv *conv, const Shape *shape, cudnnBackendDescriptor_t *windows,
                         MwFault *fault)
{
    const int sum_type = CUDNN_DATA_FLOAT, mode = CUDNN_CROSS_CORRELATION;
    return make(conv, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, windows, fault) &&
           set_int(*windows, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, shape->space, fault) &&
           set(*windows, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sum_type,
               fault) &&
           set(*windows, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode,
               fault) &&
           set_dims(*windows, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, shape, MW_WINDOW_BEFORE,
                    fault) &&
           set(*windows, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, shape->space,
               shape->after, fault) &&
           set_dims(*windows, CUDNN_ATTR_CONVOLUTION_DILATIONS, shape, MW_WINDOW_DILATION, fault) &&
           set_dims(*windows, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, shape, MW_WINDOW_STRIDE,
                    fault) &&
           finalize(*windows, fault);
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

static bool make_parts(MwCudnnConv *conv, const Shape *shape, int64_t alignment, Parts *parts,
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
    return make_tensor(conv, shape, &x, &parts->x, fault) &&
           make_tensor(conv, shape, &filter, &parts->filter, fault) &&
           make_tensor(conv, shape, &y, &parts->y, fault) &&
           make_windows(conv, shape, &parts->windows, fault);
}

static bool make_operation(MwCudnnConv *conv, const Operation *names, const Parts *parts,
                           cudnnBackendDescriptor_t *operation, MwFault *fault)
{
    const float one = 1, zero = 0;
    return make(conv, names->type, operation, fault) &&
           set_descriptor(*operation, names->x, parts->x, fault) &&
           set_descriptor(*operation, names->filter, parts->filter, fault) &&
           set_descriptor(*operation, names->y, parts->y, fault) &&
           set_descriptor(*operation, names->windows, parts->windows, fault) &&
           set(*operation, names->alpha, CUDNN_TYPE_FLOAT, 1, &one, fault) &&
           set(*operation, names->beta, CUDNN_TYPE_FLOAT, 1, &zero, fault) &&
           finalize(*operation, fault);
}

static bool make_graph(MwCudnnConv *conv, const MwCudnnTarget *target, MwRoutine routine,
                       const MwKernelArg *args, int64_t alignment, cudnnBackendDescriptor_t *graph,
                       MwFault *fault)
{
    Shape shape;
    Parts parts;
    cudnnBackendDescriptor_t operation;
    return make_shape(args, &shape, fault) && make_parts(conv, &shape, alignment, &parts, fault) &&
           make_operation(conv, &operations[routine], &parts, &operation, fault) &&
           make(conv, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, graph, fault) &&
           set_descriptor(*graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation, fault) &&
           (!target->handle || set(*graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                   &target->handle, fault)) &&
           finalize(*graph, fault);
}

/* ---- The choice of an algorithm ---- */

/* Which algorithms to choose from. */
typedef struct {
    const MwCudnnTarget *target;
    cudnnBackendDescriptor_t graph;
    bool may_round; /* the operands, for tensor cores: they have 16 bits, or tf32 is asked for */
    int64_t most_bytes;
} Choice;

static bool is_allowed(const Choice *choice, int note)
{
    return note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP ||
           (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && choice->may_round);
}

/* Whether the algorithm of a configuration computes what was asked for. */
static bool config_is_allowed(const Choice *choice, cudnnBackendDescriptor_t config)
{
    int notes[2 * CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t count = 0, engines = 0;
    MwFault unused, *const fault = &unused;
    cudnnBackendDescriptor_t engine;
    bool good = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine, fault) &&
                CALL(cudnnBackendGetAttribute, config, CUDNN_ATTR_ENGINECFG_ENGINE,
                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engines, &engine) &&
                CALL(cudnnBackendGetAttribute, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                     CUDNN_TYPE_NUMERICAL_NOTE, MW_COUNT(notes), &count, notes) &&
                count <= MW_COUNT(notes);
    for (int i = 0; good && i < count; i++)
        good = is_allowed(choice, notes[i]);
    destroy(engine);
    return good;
}

/* Makes the plan of a configuration; false if it does not serve. */
static bool make_plan(MwCudnnConv *conv, const Choice *choice, cudnnBackendDescriptor_t config)
{
    const MwCudnnTarget *target = choice->target;
    int64_t count = 0;
    MwFault unused, *const fault = &unused;
    const bool good =
        create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &conv->plan, fault) &&
        set_descriptor(conv->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config, fault) &&
        (target->handle ? set(conv->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                              &target->handle, fault)
                        : set_descriptor(conv->plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                                         target->device, fault)) &&
        finalize(conv->plan, fault) &&
        CALL(cudnnBackendGetAttribute, conv->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
             CUDNN_TYPE_INT64, 1, &count, &conv->workspace_bytes) &&
        conv->workspace_bytes <= choice->most_bytes;
    if (!good) {
        destroy(conv->plan);
        conv->plan = NULL;
    }
    return good;
}

/* Fills `configs` with what cuDNN lists, the best first; returns their number. Those that are not
 * NULL are to be destroyed. */
static int64_t list_configs(const Choice *choice, int mode,
                            cudnnBackendDescriptor_t configs[MOST_CONFIGS], MwFault *fault)
{
    const MwCudnnTarget *target = choice->target;
    cudnnBackendDescriptor_t list;
    int64_t count = 0;
    bool good = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &list, fault) &&
                set_descriptor(list, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, choice->graph, fault) &&
                set(list, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode, fault) &&
                (target->handle ||
                 set_descriptor(list, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target->device, fault)) &&
                finalize(list, fault);
    for (int i = 0; good && i < MOST_CONFIGS; i++)
        good = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configs[i], fault);
    good = good && CALL(cudnnBackendGetAttribute, list, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                        CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST_CONFIGS, &count, configs);
    destroy(list);
    return good ? mw_min(count, MOST_CONFIGS) : 0;
}

static bool choose_of(MwCudnnConv *conv, const Choice *choice, int mode, MwFault *fault)
{
    cudnnBackendDescriptor_t configs[MOST_CONFIGS] = {NULL};
    const int64_t count = list_configs(choice, mode, configs, fault);
    for (int64_t i = 0; i < count && !conv->plan; i++)
        if (config_is_allowed(choice, configs[i]) && make_plan(conv, choice, configs[i])) {
            keep(conv, configs[i]);
            configs[i] = NULL;
        }
    for (int i = 0; i < MOST_CONFIGS; i++)
        destroy(configs[i]);
    return conv->plan != NULL;
}

static bool choose(MwCudnnConv *conv, const Choice *choice, MwFault *fault)
{
    mw_fault_set(fault, "it has no algorithm for this");
    return choose_of(conv, choice, CUDNN_HEUR_MODE_A, fault) ||
           choose_of(conv, choice, CUDNN_HEUR_MODE_FALLBACK, fault);
}

bool mw_cudnn_conv_make(MwCudnnConv *conv, const MwCudnnTarget *target, MwRoutine routine,
                        const MwKernelArg *args, int64_t alignment, int64_t most_bytes,
                        MwFault *reason)
{
    Choice choice = {
        .target = target, .may_round = args[MW_WINDOW_TYPE].i != MW_F32, .most_bytes = most_bytes};
    *conv = (MwCudnnConv){0};
    const bool good = make_graph(conv, target, routine, args, alignment, &choice.graph, reason) &&
                      choose(conv, &choice, reason);
    if (!good)
        mw_cudnn_conv_free(conv);
    return good;
}

/* ---- Calls ---- */

static bool fill_pack(cudnnBackendDescriptor_t pack, void *const pointers[3], void *workspace,
                      MwFault *fault)
{
    static const int64_t ids[] = {X, FILTER, Y};
    return set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids, fault) &&
           set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers,
               fault) &&
           set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace,
               fault) &&
           finalize(pack, fault);
}

bool mw_cudnn_conv_run(const MwCudnnConv *conv, cudnnHandle_t handle, void *x, void *filter,
                       void *y, void *workspace, MwFault *fault)
{
    void *const pointers[] = {x, filter, y};
    cudnnBackendDescriptor_t pack;
    const bool good = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack, fault) &&
                      fill_pack(pack, pointers, workspace, fault) &&
                      CALL(cudnnBackendExecute, handle, conv->plan, pack);
    destroy(pack);
    return good;
}

void mw_cudnn_conv_free(MwCudnnConv *conv)
{
    destroy(conv->plan);
    while (conv->made_count)
        destroy(conv->made[--conv->made_count]);
    *conv = (MwCudnnConv){0};
}
