/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs of attention in the fake of cuDNN: their operations one after another, by plain loops in
 * double precision, each result rounded to the type of its tensor. What cuDNN's documentation and
 * release notes exclude has no algorithm. */
#include "base/element.h"
#include "tests/fake_cuda/fake.h"
#include "tests/fake_cuda/fake_cudnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIMS = 4, MOST_TENSORS = 48, MOST_OPERATIONS = 32, MOST_WIDTH = 128 };

/* ---- What makes descriptors complete ---- */

bool fake_is_of_sdpa(int type)
{
    return type == CUDNN_BACKEND_POINTWISE_DESCRIPTOR || type == CUDNN_BACKEND_MATMUL_DESCRIPTOR ||
           type == CUDNN_BACKEND_REDUCTION_DESCRIPTOR ||
           type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
           type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR ||
           type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR ||
           type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR;
}

static bool has_part(const FakeDescriptor *d, int name, int type)
{
    return fake_has(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1) &&
           fake_part(d, name)->type == type && fake_part(d, name)->is_final;
}

static bool has_tensor(const FakeDescriptor *d, int name)
{
    return has_part(d, name, CUDNN_BACKEND_TENSOR_DESCRIPTOR) &&
           fake_find(fake_part(d, name), CUDNN_ATTR_TENSOR_DIMENSIONS)->count == DIMS;
}

static int64_t dim(const FakeDescriptor *tensor, int i)
{
    return fake_int(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, i);
}

static int64_t stride(const FakeDescriptor *tensor, int i)
{
    return fake_int(tensor, CUDNN_ATTR_TENSOR_STRIDES, i);
}

/* The heads of b may serve several of a each. */
static bool matmul_is_good(const FakeDescriptor *d)
{
    if (!has_tensor(d, CUDNN_ATTR_OPERATION_MATMUL_ADESC) ||
        !has_tensor(d, CUDNN_ATTR_OPERATION_MATMUL_BDESC) ||
        !has_tensor(d, CUDNN_ATTR_OPERATION_MATMUL_CDESC) ||
        !has_part(d, CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_BACKEND_MATMUL_DESCRIPTOR))
        return false;
    const FakeDescriptor *a = fake_part(d, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    const FakeDescriptor *b = fake_part(d, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    const FakeDescriptor *c = fake_part(d, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    return dim(a, 0) == dim(c, 0) && dim(b, 0) == dim(c, 0) && dim(a, 1) == dim(c, 1) &&
           dim(c, 1) % dim(b, 1) == 0 && dim(a, 2) == dim(c, 2) && dim(a, 3) == dim(b, 2) &&
           dim(b, 3) == dim(c, 3);
}

static bool spreads_to(const FakeDescriptor *from, const FakeDescriptor *to)
{
    for (int i = 0; i < DIMS; i++)
        if (dim(from, i) != dim(to, i) && dim(from, i) != 1)
            return false;
    return true;
}

static int mode_of(const FakeDescriptor *operation)
{
    return fake_enum(fake_part(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
                     CUDNN_ATTR_POINTWISE_MODE);
}

static bool is_of_one(int mode)
{
    return mode == CUDNN_POINTWISE_EXP || mode == CUDNN_POINTWISE_LOG ||
           mode == CUDNN_POINTWISE_GEN_INDEX;
}

static bool pointwise_is_good(const FakeDescriptor *d)
{
    if (!has_part(d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                  CUDNN_BACKEND_POINTWISE_DESCRIPTOR) ||
        !has_tensor(d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC) ||
        !has_tensor(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC))
        return false;
    const FakeDescriptor *y = fake_part(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    const int mode = mode_of(d);
    const bool has_b = has_tensor(d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const bool has_t = has_tensor(d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    return has_b == !is_of_one(mode) && has_t == (mode == CUDNN_POINTWISE_BINARY_SELECT) &&
           spreads_to(fake_part(d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC), y) &&
           (!has_b || spreads_to(fake_part(d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC), y)) &&
           (!has_t || spreads_to(fake_part(d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC), y));
}

static bool reduction_is_good(const FakeDescriptor *d)
{
    if (!has_part(d, CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_BACKEND_REDUCTION_DESCRIPTOR) ||
        !has_tensor(d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC) ||
        !has_tensor(d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC))
        return false;
    const FakeDescriptor *x = fake_part(d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    const FakeDescriptor *y = fake_part(d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    for (int i = 0; i < DIMS; i++)
        if (dim(x, i) % dim(y, i) != 0)
            return false;
    return true;
}

/* The fake knows transposition alone. */
static bool reshape_is_good(const FakeDescriptor *d)
{
    if (!has_tensor(d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC) ||
        !has_tensor(d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC))
        return false;
    const FakeDescriptor *x = fake_part(d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
    const FakeDescriptor *y = fake_part(d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    return dim(x, 0) == dim(y, 0) && dim(x, 1) == dim(y, 1) && dim(x, 2) == dim(y, 3) &&
           dim(x, 3) == dim(y, 2) && stride(x, 0) == stride(y, 0) && stride(x, 1) == stride(y, 1) &&
           stride(x, 2) == stride(y, 3) && stride(x, 3) == stride(y, 2);
}

static bool has_enum(const FakeDescriptor *d, int name, int type)
{
    return fake_has(d, name, type, 1);
}

bool fake_sdpa_is_complete(const FakeDescriptor *d)
{
    switch (d->type) {
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR:
        return has_enum(d, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE) &&
               fake_enum(d, CUDNN_ATTR_MATMUL_COMP_TYPE) == CUDNN_DATA_FLOAT;
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
        return has_enum(d, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE) &&
               has_enum(d, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE) &&
               fake_enum(d, CUDNN_ATTR_REDUCTION_COMP_TYPE) == CUDNN_DATA_FLOAT;
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
        return has_enum(d, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE) &&
               has_enum(d, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE) &&
               fake_has(d, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1) ==
                   (fake_enum(d, CUDNN_ATTR_POINTWISE_MODE) == CUDNN_POINTWISE_GEN_INDEX);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        return matmul_is_good(d);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return pointwise_is_good(d);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        return reduction_is_good(d);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        return reshape_is_good(d);
    }
    return false;
}

/* ---- Operations as the fake does them ---- */

typedef struct {
    int64_t id, dims[DIMS], strides[DIMS];
    int type;
    bool is_virtual, is_number, is_written; /* the last: by an operation */
    double number;
    void *at;
    double *values; /* dense; NULL: not there yet */
} Tensor;

typedef struct {
    int type, mode, axis; /* of the descriptor; of pointwise functions and reductions; of indices */
    int a, b, t, to;      /* tensors; -1: none */
} Operation;

typedef struct {
    int algorithm, tensor_count, operation_count;
    void *workspace;
    int64_t workspace_bytes;
    Tensor tensors[MOST_TENSORS];
    Operation operations[MOST_OPERATIONS];
} Work;

/* The index of a tensor of the work, which is added if it is new. */
static int tensor_of(Work *work, const FakeDescriptor *d)
{
    const int64_t id = fake_int(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
    for (int i = 0; i < work->tensor_count; i++)
        if (work->tensors[i].id == id)
            return i;
    if (work->tensor_count == MOST_TENSORS)
        abort();
    Tensor *t = &work->tensors[work->tensor_count];
    *t = (Tensor){.id = id,
                  .type = fake_enum(d, CUDNN_ATTR_TENSOR_DATA_TYPE),
                  .is_virtual = fake_find(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL) != NULL,
                  .is_number = fake_find(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE) != NULL};
    for (int i = 0; i < DIMS; i++) {
        t->dims[i] = dim(d, i);
        t->strides[i] = stride(d, i);
    }
    return work->tensor_count++;
}

static int part_of(Work *work, const FakeDescriptor *d, int name)
{
    return fake_find(d, name) ? tensor_of(work, fake_part(d, name)) : -1;
}

static Operation operation_of(Work *work, const FakeDescriptor *d)
{
    Operation o = {.type = d->type, .b = -1, .t = -1};
    if (d->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
        o.a = part_of(work, d, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
        o.b = part_of(work, d, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
        o.to = part_of(work, d, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    } else if (d->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
        const FakeDescriptor *f = fake_part(d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
        o.mode = mode_of(d);
        o.axis = o.mode == CUDNN_POINTWISE_GEN_INDEX
                     ? (int)fake_int(f, CUDNN_ATTR_POINTWISE_AXIS, 0)
                     : 0;
        o.a = part_of(work, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
        o.b = part_of(work, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
        o.t = part_of(work, d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
        o.to = part_of(work, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    } else if (d->type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
        o.mode = fake_enum(fake_part(d, CUDNN_ATTR_OPERATION_REDUCTION_DESC),
                           CUDNN_ATTR_REDUCTION_OPERATOR);
        o.a = part_of(work, d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
        o.to = part_of(work, d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    } else {
        o.a = part_of(work, d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
        o.to = part_of(work, d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    }
    work->tensors[o.to].is_written = true;
    return o;
}

static Work work_of(const FakeDescriptor *graph)
{
    Work work = {.operation_count = fake_operations(graph)};
    if (work.operation_count > MOST_OPERATIONS)
        abort();
    for (int i = 0; i < work.operation_count; i++)
        work.operations[i] = operation_of(&work, fake_operation(graph, i));
    return work;
}

/* ---- What the library has algorithms for ---- */

static bool is_half(const Tensor *t)
{
    return t->type == CUDNN_DATA_HALF || t->type == CUDNN_DATA_BFLOAT16;
}

/* Queries, keys, values and what is like them, in memory: [b, heads, rows, d] or transposed. */
static bool operand_is_good(const Tensor *t)
{
    const int inner = t->strides[3] == 1 ? 3 : 2;
    bool good = t->strides[inner] == 1 && t->dims[inner] % 8 == 0 && t->dims[inner] <= MOST_WIDTH &&
                t->dims[5 - inner] > 1;
    for (int i = 0; i < DIMS; i++)
        good = good && (i == inner || t->strides[i] % 8 == 0);
    return good;
}

static bool is_gradient(const Work *work)
{
    for (int i = 0; i < work->operation_count; i++)
        if (work->operations[i].type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
            return true;
    return false;
}

static bool is_packed(const Tensor *t)
{
    return t->strides[3] == 1 && t->strides[2] == t->dims[3] &&
           t->strides[1] == t->dims[2] * t->strides[2] &&
           t->strides[0] == t->dims[1] * t->strides[1];
}

/* Before 9.26 the gradient reads a log-sum-exp rightly if it is packed. */
static bool rows_are_good(const Work *work, const Tensor *t)
{
    return t->type == CUDNN_DATA_FLOAT && t->dims[3] == 1 && (!is_gradient(work) || is_packed(t));
}

/* The gradient of cuDNN's that adds up dq in any order has the sums in memory, in f32. The fake has
 * the other alone. */
bool fake_sdpa_is_supported(const FakeDescriptor *graph)
{
    const Work work = work_of(graph);
    for (int i = 0; i < work.tensor_count; i++) {
        const Tensor *t = &work.tensors[i];
        if (!t->is_virtual && !t->is_number &&
            !(is_half(t) ? operand_is_good(t) : rows_are_good(&work, t)))
            return false;
        if (t->is_number && (t->is_virtual || t->is_written))
            return false;
    }
    return true;
}

/* The gradient stores those of the scores. */
int64_t fake_sdpa_bytes(const FakeDescriptor *graph)
{
    const Work work = work_of(graph);
    const char *more = getenv("FAKE_CUDNN_BYTES");
    for (int i = 0; i < work.operation_count; i++) {
        const int64_t *dims = work.tensors[work.operations[i].a].dims;
        if (work.operations[i].type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
            return dims[0] * (dims[1] * dims[2] * dims[3] * 2 + (more ? atoll(more) : 0));
    }
    return 0;
}

/* ---- Execution ---- */

static int64_t count_of(const Tensor *t)
{
    return t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
}

static void point_of(const Tensor *t, int64_t index, int64_t point[DIMS])
{
    for (int d = DIMS - 1; d >= 0; index /= t->dims[d], d--)
        point[d] = index % t->dims[d];
}

static int64_t element_of(const Tensor *t, int64_t index)
{
    int64_t point[DIMS], element = 0;
    point_of(t, index, point);
    for (int d = 0; d < DIMS; d++)
        element += point[d] * t->strides[d];
    return element;
}

static MwType element_type(const Tensor *t)
{
    return t->type == CUDNN_DATA_HALF ? MW_F16 : t->type == CUDNN_DATA_BFLOAT16 ? MW_BF16 : MW_F32;
}

static double *allocated(const Tensor *t)
{
    double *values = calloc((size_t)count_of(t), sizeof *values);
    if (!values)
        abort();
    return values;
}

/* Has the values of an operand there. */
static void load(Tensor *t)
{
    if (t->values)
        return;
    if (t->is_virtual) /* no operation has made it */
        abort();
    t->values = allocated(t);
    for (int64_t i = 0; i < count_of(t); i++)
        t->values[i] =
            t->is_number ? t->number : mw_element_get(element_type(t), t->at, element_of(t, i));
}

/* Rounds a result, and stores it if it is in memory. */
static void store(Tensor *t)
{
    char rounded[8];
    const bool is_float = t->type != CUDNN_DATA_BOOLEAN && t->type != CUDNN_DATA_INT32;
    for (int64_t i = 0; is_float && i < count_of(t); i++) {
        mw_element_put(element_type(t), rounded, 0, t->values[i]);
        t->values[i] = mw_element_get(element_type(t), rounded, 0);
        if (!t->is_virtual)
            mw_element_put(element_type(t), t->at, element_of(t, i), t->values[i]);
    }
}

/* Scores by a negative number: cuDNN takes it, and gives NaN. */
static bool is_wrong(const Work *work, const Operation *o)
{
    const Tensor *b = o->b >= 0 ? &work->tensors[o->b] : NULL;
    return o->mode == CUDNN_POINTWISE_MUL && b && b->is_number && b->number < 0;
}

/* The value of `t` for the element of a tensor that it spreads to, or whose heads it serves. */
static double value_at(const Tensor *t, const Tensor *to, const int64_t point[DIMS])
{
    int64_t index = 0;
    for (int d = 0; d < DIMS; d++)
        index = index * t->dims[d] + point[d] / (to->dims[d] / t->dims[d]);
    return t->values[index];
}

static double function_of(int mode, double a, double b)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
        return a + b;
    case CUDNN_POINTWISE_SUB:
        return a - b;
    case CUDNN_POINTWISE_MUL:
        return a * b;
    case CUDNN_POINTWISE_DIV:
        return a / b;
    case CUDNN_POINTWISE_EXP:
        return exp(a);
    case CUDNN_POINTWISE_LOG:
        return log(a);
    case CUDNN_POINTWISE_CMP_GE:
        return a >= b;
    }
    abort();
}

static void do_pointwise(const Work *work, const Operation *o, Tensor *to)
{
    const Tensor *a = &work->tensors[o->a];
    int64_t point[DIMS];
    for (int64_t i = 0; i < count_of(to); i++) {
        point_of(to, i, point);
        const double x = value_at(a, to, point);
        const double b = o->b >= 0 ? value_at(&work->tensors[o->b], to, point) : 0;
        to->values[i] = is_wrong(work, o)                      ? NAN
                        : o->mode == CUDNN_POINTWISE_GEN_INDEX ? (double)point[o->axis]
                        : o->mode == CUDNN_POINTWISE_BINARY_SELECT
                            ? (value_at(&work->tensors[o->t], to, point) != 0 ? x : b)
                            : function_of(o->mode, x, b);
    }
}

static void do_reduction(const Operation *o, const Tensor *from, Tensor *to)
{
    const bool adds = o->mode == CUDNN_REDUCE_TENSOR_ADD;
    int64_t point[DIMS];
    for (int64_t i = 0; i < count_of(to); i++)
        to->values[i] = adds ? 0 : -INFINITY;
    for (int64_t i = 0; i < count_of(from); i++) {
        int64_t index = 0;
        point_of(from, i, point);
        for (int d = 0; d < DIMS; d++)
            index = index * to->dims[d] + point[d] / (from->dims[d] / to->dims[d]);
        to->values[index] =
            adds ? to->values[index] + from->values[i] : fmax(to->values[index], from->values[i]);
    }
}

static void do_matmul(const Tensor *a, const Tensor *b, Tensor *c)
{
    const int64_t m = c->dims[2], n = c->dims[3], inner = a->dims[3];
    for (int64_t plane = 0; plane < c->dims[0] * c->dims[1]; plane++) {
        const int64_t shared = plane / (c->dims[1] / b->dims[1]);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                for (int64_t k = 0; k < inner; k++)
                    c->values[(plane * m + i) * n + j] += a->values[(plane * m + i) * inner + k] *
                                                          b->values[(shared * inner + k) * n + j];
    }
}

static void transpose(const Tensor *from, Tensor *to)
{
    const int64_t m = to->dims[2], n = to->dims[3];
    for (int64_t plane = 0; plane < to->dims[0] * to->dims[1]; plane++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                to->values[(plane * m + i) * n + j] = from->values[(plane * n + j) * m + i];
}

static void do_operation(Work *work, const Operation *o)
{
    Tensor *a = &work->tensors[o->a], *to = &work->tensors[o->to];
    load(a);
    if (o->b >= 0)
        load(&work->tensors[o->b]);
    if (o->t >= 0)
        load(&work->tensors[o->t]);
    to->values = allocated(to);
    if (o->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
        do_matmul(a, &work->tensors[o->b], to);
    else if (o->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
        do_pointwise(work, o, to);
    else if (o->type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
        do_reduction(o, a, to);
    else
        transpose(a, to);
    for (int64_t i = 0; !fake_algorithms[work->algorithm].is_right && i < count_of(to); i++)
        to->values[i] += 1;
    store(to);
}

static bool attend(void *state)
{
    Work work = *(const Work *)state;
    memset(work.workspace, 0xff, (size_t)work.workspace_bytes);
    for (int i = 0; i < work.operation_count; i++)
        do_operation(&work, &work.operations[i]);
    for (int i = 0; i < work.tensor_count; i++)
        free(work.tensors[i].values);
    return true;
}

/* Finds the addresses of what is in memory, and reads the numbers that the host holds. */
static bool find_operands(Work *work, const FakeCall *call)
{
    for (int i = 0; i < fake_operations(call->graph); i++) {
        const FakeDescriptor *d = fake_operation(call->graph, i);
        for (int k = 0; k < d->set_count; k++) {
            const FakeDescriptor *part = *(FakeDescriptor *const *)d->set[k].value;
            if (d->set[k].type != CUDNN_TYPE_BACKEND_DESCRIPTOR ||
                part->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
                continue;
            Tensor *t = &work->tensors[tensor_of(work, part)];
            t->at = t->is_virtual ? NULL : fake_pointer(call->pack, part);
            if (!t->is_virtual && !t->at)
                return false;
            if (t->is_number)
                t->number =
                    t->type == CUDNN_DATA_INT32 ? *(const int32_t *)t->at : *(const float *)t->at;
        }
    }
    return true;
}

bool fake_attend(cudaStream_t stream, const FakeCall *call)
{
    Work work = work_of(call->graph);
    work.algorithm = call->algorithm;
    work.workspace =
        *(void *const *)fake_find(call->pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->value;
    work.workspace_bytes = call->bytes;
    if (!find_operands(&work, call) || (work.workspace_bytes && !work.workspace))
        return false;
    fake_queue(stream, attend, &work, sizeof work);
    return true;
}
