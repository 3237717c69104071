/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/cudnn_sdpa.h"

#include <float.h>

/* Elements of a head. On compute capability 9.0 it has algorithms for wider ones, too. */
enum { MOST_WIDTH = 128 };

/* ---- Tensors ---- */

/* What tensors there are besides those of a call: numbers that the host holds, and what one
 * operation hands to another. */
enum {
    SCALE = MW_CUDNN_SDPA_TENSORS,
    LOWEST,
    SHIFT,
    ONE,
    SCORES,
    SCALED,
    QUERY_PLACES,
    SHIFTED_PLACES,
    KEY_PLACES,
    SEEN,
    MASKED,
    LARGEST,
    LOWERED,
    POWERS,
    SUM,
    LOG_SUM,
    P,
    P_TURNED,
    OUT_DOUT,
    DOT,
    DP,
    DP_LOWERED,
    DS_OF_SCALED,
    DS,
    DS_TURNED,
    K_TURNED,
    DK_OF_HEADS,
    DV_OF_HEADS,
    TENSORS
};

typedef enum {
    OF_ONE,           /* [1, 1, 1, 1] */
    OF_QUERIES,       /* [b, h, s, d] */
    OF_KEYS,          /* [b, g, t, d] */
    OF_TURNED_KEYS,   /* [b, g, d, t], of the same memory */
    OF_HEADS_KEYS,    /* [b, h, t, d], dense */
    OF_ROWS,          /* [b, h, s, 1] */
    OF_SCORES,        /* [b, h, s, t] */
    OF_TURNED_SCORES, /* [b, h, t, s], of the same memory */
} Form;

typedef enum { OPERAND, F32, BOOLEAN, INTEGER } Type; /* OPERAND: that of the operands */

typedef enum { DENSE, Q_ROW, K_ROW, V_ROW, DQ_ROW, DK_ROW, DV_ROW } Row;

typedef struct {
    Form form;
    Type type;
    Row row; /* of queries and keys */
} Info;

/* K and V are operands of products as transposed matrices. */
static const Info infos[TENSORS] = {
    [MW_CUDNN_Q] = {OF_QUERIES, OPERAND, Q_ROW},
    [MW_CUDNN_K] = {OF_TURNED_KEYS, OPERAND, K_ROW},
    [MW_CUDNN_V] = {OF_KEYS, OPERAND, V_ROW}, /* of the gradient: OF_TURNED_KEYS */
    [MW_CUDNN_OUT] = {OF_QUERIES, OPERAND, DENSE},
    [MW_CUDNN_LSE] = {OF_ROWS, F32, DENSE},
    [MW_CUDNN_DOUT] = {OF_QUERIES, OPERAND, DENSE},
    [MW_CUDNN_DQ] = {OF_QUERIES, OPERAND, DQ_ROW},
    [MW_CUDNN_DK] = {OF_KEYS, OPERAND, DK_ROW},
    [MW_CUDNN_DV] = {OF_KEYS, OPERAND, DV_ROW},
    [MW_CUDNN_DELTA] = {OF_ROWS, F32, DENSE},
    [SCALE] = {OF_ONE, F32, DENSE},
    [LOWEST] = {OF_ONE, F32, DENSE},
    [SHIFT] = {OF_ONE, INTEGER, DENSE},
    [ONE] = {OF_ONE, F32, DENSE},
    [DOT] = {OF_ROWS, F32, DENSE},
    [SCORES] = {OF_SCORES, F32, DENSE},
    [SCALED] = {OF_SCORES, F32, DENSE},
    [QUERY_PLACES] = {OF_SCORES, INTEGER, DENSE},
    [SHIFTED_PLACES] = {OF_SCORES, INTEGER, DENSE},
    [KEY_PLACES] = {OF_SCORES, INTEGER, DENSE},
    [SEEN] = {OF_SCORES, BOOLEAN, DENSE},
    [MASKED] = {OF_SCORES, F32, DENSE},
    [LARGEST] = {OF_ROWS, F32, DENSE},
    [LOWERED] = {OF_SCORES, F32, DENSE},
    [POWERS] = {OF_SCORES, F32, DENSE},
    [SUM] = {OF_ROWS, F32, DENSE},
    [LOG_SUM] = {OF_ROWS, F32, DENSE},
    [P] = {OF_SCORES, OPERAND, DENSE},
    [P_TURNED] = {OF_TURNED_SCORES, OPERAND, DENSE},
    [OUT_DOUT] = {OF_QUERIES, F32, DENSE},
    [DP] = {OF_SCORES, F32, DENSE},
    [DP_LOWERED] = {OF_SCORES, F32, DENSE},
    [DS_OF_SCALED] = {OF_SCORES, F32, DENSE},
    [DS] = {OF_SCORES, F32, DENSE},
    [DS_TURNED] = {OF_TURNED_SCORES, OPERAND, DENSE},
    [K_TURNED] = {OF_KEYS, OPERAND, K_ROW},
    [DK_OF_HEADS] = {OF_HEADS_KEYS, OPERAND, DENSE},
    [DV_OF_HEADS] = {OF_HEADS_KEYS, OPERAND, DENSE},
};

static bool is_number(int tensor)
{
    return tensor >= SCALE && tensor <= ONE;
}

static bool is_in_memory(int tensor)
{
    return tensor < MW_CUDNN_SDPA_TENSORS || is_number(tensor);
}

/* ---- Operations ---- */

typedef enum { MATMUL, POINTWISE, INDEX, REDUCTION, RESHAPE } Kind;

typedef enum { ALWAYS, CAUSAL, SHIFTED, GROUPED } When;

/* `to` is made of `a` and, where the operation has two operands, of `b`; of `seen` and these by a
 * selection. An operation that a shape does not have leaves `a` as it is. */
typedef struct {
    Kind kind;
    int mode; /* of cuDNN; of INDEX the dimension */
    int a, b, to;
    When when;
} Step;

enum { NONE = -1, MAX_STEPS = 24 };

static const Step forward[] = {
    {MATMUL, 0, MW_CUDNN_Q, MW_CUDNN_K, SCORES, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_MUL, SCORES, SCALE, SCALED, ALWAYS},
    {INDEX, 2, SCALED, NONE, QUERY_PLACES, CAUSAL},
    {INDEX, 3, SCALED, NONE, KEY_PLACES, CAUSAL},
    {POINTWISE, CUDNN_POINTWISE_ADD, QUERY_PLACES, SHIFT, SHIFTED_PLACES, SHIFTED},
    {POINTWISE, CUDNN_POINTWISE_CMP_GE, SHIFTED_PLACES, KEY_PLACES, SEEN, CAUSAL},
    {POINTWISE, CUDNN_POINTWISE_BINARY_SELECT, SCALED, LOWEST, MASKED, CAUSAL},
    {REDUCTION, CUDNN_REDUCE_TENSOR_MAX, MASKED, NONE, LARGEST, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_SUB, MASKED, LARGEST, LOWERED, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_EXP, LOWERED, NONE, POWERS, ALWAYS},
    {REDUCTION, CUDNN_REDUCE_TENSOR_ADD, POWERS, NONE, SUM, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_LOG, SUM, NONE, LOG_SUM, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_ADD, LARGEST, LOG_SUM, MW_CUDNN_LSE, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_DIV, POWERS, SUM, P, ALWAYS},
    {MATMUL, 0, P, MW_CUDNN_V, MW_CUDNN_OUT, ALWAYS},
};

/* cuDNN 9.19 knows the backward pass for Hopper's matrix products, and works in 3 times less, where
 * delta has a factor, as with dropout it has one. */
static const Step backward[] = {
    {POINTWISE, CUDNN_POINTWISE_MUL, MW_CUDNN_DOUT, MW_CUDNN_OUT, OUT_DOUT, ALWAYS},
    {REDUCTION, CUDNN_REDUCE_TENSOR_ADD, OUT_DOUT, NONE, DOT, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_MUL, DOT, ONE, MW_CUDNN_DELTA, ALWAYS},
    {MATMUL, 0, MW_CUDNN_Q, MW_CUDNN_K, SCORES, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_MUL, SCORES, SCALE, SCALED, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_SUB, SCALED, MW_CUDNN_LSE, LOWERED, ALWAYS},
    {INDEX, 2, LOWERED, NONE, QUERY_PLACES, CAUSAL},
    {INDEX, 3, LOWERED, NONE, KEY_PLACES, CAUSAL},
    {POINTWISE, CUDNN_POINTWISE_ADD, QUERY_PLACES, SHIFT, SHIFTED_PLACES, SHIFTED},
    {POINTWISE, CUDNN_POINTWISE_CMP_GE, SHIFTED_PLACES, KEY_PLACES, SEEN, CAUSAL},
    {POINTWISE, CUDNN_POINTWISE_BINARY_SELECT, LOWERED, LOWEST, MASKED, CAUSAL},
    {POINTWISE, CUDNN_POINTWISE_EXP, MASKED, NONE, POWERS, ALWAYS},
    {RESHAPE, 0, POWERS, NONE, P_TURNED, ALWAYS},
    {MATMUL, 0, P_TURNED, MW_CUDNN_DOUT, DV_OF_HEADS, ALWAYS},
    {REDUCTION, CUDNN_REDUCE_TENSOR_ADD, DV_OF_HEADS, NONE, MW_CUDNN_DV, GROUPED},
    {MATMUL, 0, MW_CUDNN_DOUT, MW_CUDNN_V, DP, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_SUB, DP, MW_CUDNN_DELTA, DP_LOWERED, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_MUL, DP_LOWERED, POWERS, DS_OF_SCALED, ALWAYS},
    {POINTWISE, CUDNN_POINTWISE_MUL, DS_OF_SCALED, SCALE, DS, ALWAYS},
    {RESHAPE, 0, DS, NONE, DS_TURNED, ALWAYS},
    {MATMUL, 0, DS_TURNED, MW_CUDNN_Q, DK_OF_HEADS, ALWAYS},
    {REDUCTION, CUDNN_REDUCE_TENSOR_ADD, DK_OF_HEADS, NONE, MW_CUDNN_DK, GROUPED},
    {RESHAPE, 0, MW_CUDNN_K, NONE, K_TURNED, ALWAYS},
    {MATMUL, 0, DS, K_TURNED, MW_CUDNN_DQ, ALWAYS},
};

static bool happens(When when, const MwCudnnSdpa *shape)
{
    switch (when) {
    case ALWAYS:
        return true;
    case CAUSAL:
        return shape->is_causal;
    case SHIFTED:
        return shape->is_causal && shape->shift != 0;
    case GROUPED:
        return shape->h != shape->g;
    }
    MW_UNREACHABLE();
}

/* The operations of a shape. */
typedef struct {
    Step steps[MAX_STEPS];
    int count;
} Steps;

/* Replaces a tensor in all operations. */
static void replace(Steps *steps, int old, int new)
{
    for (int i = 0; i < steps->count; i++) {
        Step *step = &steps->steps[i];
        step->a = step->a == old ? new : step->a;
        step->b = step->b == old ? new : step->b;
        step->to = step->to == old ? new : step->to;
    }
}

/* Where an operation is left out, one tensor stands for its operand and its result: that of the
 * call, if one is. */
static Steps steps_of(const MwCudnnSdpa *shape)
{
    const Step *all = shape->is_gradient ? backward : forward;
    const int count = shape->is_gradient ? MW_COUNT(backward) : MW_COUNT(forward);
    Steps steps = {.count = 0};
    for (int i = 0; i < count; i++)
        if (happens(all[i].when, shape))
            steps.steps[steps.count++] = all[i];
    for (int i = 0; i < count; i++)
        if (!happens(all[i].when, shape) && is_in_memory(all[i].to))
            replace(&steps, all[i].a, all[i].to);
        else if (!happens(all[i].when, shape))
            replace(&steps, all[i].to, all[i].a);
    return steps;
}

/* ---- Descriptors ---- */

/* A graph that is being made. */
typedef struct {
    MwCudnnPlan *plan;
    const MwCudnnSdpa *shape;
    cudnnBackendDescriptor_t tensors[TENSORS]; /* NULL: not made yet */
} Graph;

enum { DIMS = 4 };

static Form form_of(const MwCudnnSdpa *shape, int tensor)
{
    return tensor == MW_CUDNN_V && shape->is_gradient ? OF_TURNED_KEYS : infos[tensor].form;
}

/* Elements from row to row of [b, rows, heads, d]. */
static int64_t row_of(const MwCudnnSdpa *z, Row row, int64_t heads)
{
    const int64_t rows[] = {
        [DENSE] = heads * z->d, [Q_ROW] = z->q_row,   [K_ROW] = z->k_row,  [V_ROW] = z->v_row,
        [DQ_ROW] = z->dq_row,   [DK_ROW] = z->dk_row, [DV_ROW] = z->dv_row};
    return rows[row];
}

static void set_layout(int64_t to[DIMS], int64_t a, int64_t b, int64_t c, int64_t d)
{
    to[0] = a;
    to[1] = b;
    to[2] = c;
    to[3] = d;
}

static void find_layout(const MwCudnnSdpa *z, int tensor, int64_t dims[DIMS], int64_t strides[DIMS])
{
    const Row row = infos[tensor].row;
    const int64_t q_row = row_of(z, row, z->h), k_row = row_of(z, row, z->g);
    set_layout(dims, 1, 1, 1, 1);
    set_layout(strides, 1, 1, 1, 1);
    switch (form_of(z, tensor)) {
    case OF_ONE:
        return;
    case OF_QUERIES:
        set_layout(dims, z->b, z->h, z->s, z->d);
        set_layout(strides, z->s * q_row, z->d, q_row, 1);
        return;
    case OF_KEYS:
        set_layout(dims, z->b, z->g, z->t, z->d);
        set_layout(strides, z->t * k_row, z->d, k_row, 1);
        return;
    case OF_TURNED_KEYS:
        set_layout(dims, z->b, z->g, z->d, z->t);
        set_layout(strides, z->t * k_row, z->d, 1, k_row);
        return;
    case OF_HEADS_KEYS:
        set_layout(dims, z->b, z->h, z->t, z->d);
        set_layout(strides, z->h * z->t * z->d, z->t * z->d, z->d, 1);
        return;
    case OF_ROWS:
        set_layout(dims, z->b, z->h, z->s, 1);
        if (tensor == MW_CUDNN_LSE && !z->is_gradient)
            set_layout(strides, z->s * z->h, 1, z->h, 1);
        else
            set_layout(strides, z->h * z->s, z->s, 1, 1);
        return;
    case OF_SCORES:
        set_layout(dims, z->b, z->h, z->s, z->t);
        set_layout(strides, z->h * z->s * z->t, z->s * z->t, z->t, 1);
        return;
    case OF_TURNED_SCORES:
        set_layout(dims, z->b, z->h, z->t, z->s);
        set_layout(strides, z->h * z->s * z->t, z->s * z->t, 1, z->t);
        return;
    }
    MW_UNREACHABLE();
}

static int data_type(const MwCudnnSdpa *shape, int tensor)
{
    switch (infos[tensor].type) {
    case OPERAND:
        return mw_cudnn_data_type(shape->type);
    case F32:
        return CUDNN_DATA_FLOAT;
    case BOOLEAN:
        return CUDNN_DATA_BOOLEAN;
    case INTEGER:
        return CUDNN_DATA_INT32;
    }
    MW_UNREACHABLE();
}

/* Unique ids of the tensors in cuDNN's graph. */
static int64_t id_of(int tensor)
{
    return tensor + 1;
}

static bool set_flag(cudnnBackendDescriptor_t descriptor, int name, bool is_set, MwFault *fault)
{
    const char flag = 1;
    return !is_set || mw_cudnn_set(descriptor, name, CUDNN_TYPE_BOOLEAN, 1, &flag, fault);
}

static bool make_tensor(Graph *graph, int tensor, MwFault *fault)
{
    int64_t dims[DIMS], strides[DIMS];
    const int type = data_type(graph->shape, tensor);
    cudnnBackendDescriptor_t *made = &graph->tensors[tensor];
    if (*made)
        return true;
    find_layout(graph->shape, tensor, dims, strides);
    return mw_cudnn_make(graph->plan, CUDNN_BACKEND_TENSOR_DESCRIPTOR, made, fault) &&
           mw_cudnn_set(*made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type,
                        fault) &&
           mw_cudnn_set(*made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, DIMS, dims, fault) &&
           mw_cudnn_set(*made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, DIMS, strides, fault) &&
           mw_cudnn_set_int(*made, CUDNN_ATTR_TENSOR_UNIQUE_ID, id_of(tensor), fault) &&
           mw_cudnn_set_int(*made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, MW_CUDNN_SDPA_ALIGNMENT,
                            fault) &&
           set_flag(*made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, !is_in_memory(tensor), fault) &&
           set_flag(*made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, is_number(tensor), fault) &&
           mw_cudnn_finalize(*made, fault);
}

static bool add_matmul(Graph *graph, const Step *step, MwFault *fault)
{
    const int type = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t product, operation;
    return mw_cudnn_make(graph->plan, CUDNN_BACKEND_MATMUL_DESCRIPTOR, &product, fault) &&
           mw_cudnn_set(product, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type,
                        fault) &&
           mw_cudnn_finalize(product, fault) &&
           mw_cudnn_make(graph->plan, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, &operation,
                         fault) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC,
                                   graph->tensors[step->a], fault) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC,
                                   graph->tensors[step->b], fault) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC,
                                   graph->tensors[step->to], fault) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, product, fault) &&
           mw_cudnn_add_operation(graph->plan, operation, fault);
}

static bool make_function(Graph *graph, const Step *step, cudnnBackendDescriptor_t *function,
                          MwFault *fault)
{
    const int type = step->to == SHIFTED_PLACES ? CUDNN_DATA_INT32
                     : step->to == SEEN         ? CUDNN_DATA_BOOLEAN
                                                : CUDNN_DATA_FLOAT;
    const int mode = step->kind == INDEX ? CUDNN_POINTWISE_GEN_INDEX : step->mode;
    return mw_cudnn_make(graph->plan, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, function, fault) &&
           mw_cudnn_set(*function, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode,
                        fault) &&
           mw_cudnn_set(*function, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type,
                        fault) &&
           (step->kind != INDEX ||
            mw_cudnn_set_int(*function, CUDNN_ATTR_POINTWISE_AXIS, step->mode, fault)) &&
           mw_cudnn_finalize(*function, fault);
}

static bool add_pointwise(Graph *graph, const Step *step, MwFault *fault)
{
    const bool selects = step->to == MASKED;
    cudnnBackendDescriptor_t function, operation;
    return make_function(graph, step, &function, fault) &&
           mw_cudnn_make(graph->plan, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &operation,
                         fault) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                                   function, fault) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                   graph->tensors[step->a], fault) &&
           (step->b == NONE ||
            mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                    graph->tensors[step->b], fault)) &&
           (!selects || mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
                                                graph->tensors[SEEN], fault)) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
                                   graph->tensors[step->to], fault) &&
           mw_cudnn_add_operation(graph->plan, operation, fault);
}

static bool add_reduction(Graph *graph, const Step *step, MwFault *fault)
{
    const int type = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t reduction, operation;
    return mw_cudnn_make(graph->plan, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, &reduction, fault) &&
           mw_cudnn_set(reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type,
                        fault) &&
           mw_cudnn_set(reduction, CUDNN_ATTR_REDUCTION_OPERATOR,
                        CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &step->mode, fault) &&
           mw_cudnn_finalize(reduction, fault) &&
           mw_cudnn_make(graph->plan, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, &operation,
                         fault) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction,
                                   fault) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC,
                                   graph->tensors[step->a], fault) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC,
                                   graph->tensors[step->to], fault) &&
           mw_cudnn_add_operation(graph->plan, operation, fault);
}

static bool add_reshape(Graph *graph, const Step *step, MwFault *fault)
{
    cudnnBackendDescriptor_t operation;
    return mw_cudnn_make(graph->plan, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, &operation,
                         fault) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC,
                                   graph->tensors[step->a], fault) &&
           mw_cudnn_set_descriptor(operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC,
                                   graph->tensors[step->to], fault) &&
           mw_cudnn_add_operation(graph->plan, operation, fault);
}

static bool add_step(Graph *graph, const Step *step, MwFault *fault)
{
    if (!make_tensor(graph, step->a, fault) || !make_tensor(graph, step->to, fault) ||
        (step->b != NONE && !make_tensor(graph, step->b, fault)))
        return false;
    switch (step->kind) {
    case MATMUL:
        return add_matmul(graph, step, fault);
    case POINTWISE:
    case INDEX:
        return add_pointwise(graph, step, fault);
    case REDUCTION:
        return add_reduction(graph, step, fault);
    case RESHAPE:
        return add_reshape(graph, step, fault);
    }
    MW_UNREACHABLE();
}

bool mw_cudnn_sdpa_takes(const MwCudnnSdpa *shape)
{
    const int64_t whole = MW_CUDNN_SDPA_ALIGNMENT / 2; /* elements */
    const int64_t last = shape->t - shape->s;
    return shape->type != MW_F32 && shape->d % whole == 0 && shape->d <= MOST_WIDTH &&
           shape->q_row % whole == 0 && shape->k_row % whole == 0 && shape->v_row % whole == 0 &&
           shape->dq_row % whole == 0 && shape->dk_row % whole == 0 && shape->dv_row % whole == 0 &&
           shape->s > 1 && shape->t > 1 && shape->scale > 0 &&
           (shape->shift == 0 || (shape->shift == last && last > 0));
}

bool mw_cudnn_sdpa_make(MwCudnnPlan *plan, const MwCudnnTarget *target, const MwCudnnSdpa *shape,
                        int64_t most_bytes, MwFault *reason)
{
    const MwCudnnChoice choice = {.may_round = true, .most_bytes = most_bytes};
    const Steps steps = steps_of(shape);
    Graph graph = {.plan = plan, .shape = shape};
    bool good = true;
    *plan = (MwCudnnPlan){0};
    for (int i = 0; good && i < steps.count; i++)
        good = add_step(&graph, &steps.steps[i], reason);
    good = good && mw_cudnn_plan_choose(plan, target, &choice, reason);
    if (!good)
        mw_cudnn_plan_free(plan);
    return good;
}

/* ---- Calls ---- */

static bool uses(const Steps *steps, int tensor)
{
    for (int i = 0; i < steps->count; i++)
        if (steps->steps[i].a == tensor || steps->steps[i].b == tensor ||
            steps->steps[i].to == tensor)
            return true;
    return false;
}

bool mw_cudnn_sdpa_run(const MwCudnnPlan *plan, cudnnHandle_t handle, const MwCudnnSdpa *shape,
                       void *const tensors[MW_CUDNN_SDPA_TENSORS], void *workspace, MwFault *fault)
{
    const Steps steps = steps_of(shape);
    float scale = shape->scale, one = 1, lowest = -FLT_MAX; /* a score without weight */
    int32_t shift = (int32_t)shape->shift;
    void *const numbers[] = {&scale, &lowest, &shift, &one};
    int64_t ids[TENSORS];
    void *pointers[TENSORS];
    MwCudnnTensors pack = {ids, pointers, 0, workspace};
    for (int i = 0; i < TENSORS; i++)
        if (is_in_memory(i) && uses(&steps, i)) {
            ids[pack.count] = id_of(i);
            pointers[pack.count++] = is_number(i) ? numbers[i - SCALE] : tensors[i];
        }
    return mw_cudnn_plan_run(plan, handle, &pack, fault);
}
