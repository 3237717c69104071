/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reductions and sums along axes of constants. */
#include "frontend/onnx/fold.h"
#include "frontend/onnx/shapes.h"

#include <string.h>

static const MwOnnxTensor *operand_of(const MwOnnxNode *node)
{
    const MwOnnxValue *value = mw_onnx_input(node, 0);
    return value ? value->constant : NULL;
}

/* Where element i lies in a tensor of the same rank in which reduced dimensions are 1. */
static int64_t place_kept(const MwOnnxTensor *x, const int64_t *kept, int64_t i)
{
    int64_t place = 0, stride = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
        place += kept[d] == 1 ? 0 : i % x->dim[d] * stride;
        stride *= kept[d];
        i /= x->dim[d];
    }
    return place;
}

typedef enum { REDUCE_SUM, REDUCE_MEAN, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN } Reduction;

static Reduction reduction_of(const char *op)
{
    static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax",
                                      "ReduceMin"};
    int row = 0;
    while (row < MW_COUNT(ops) && strcmp(ops[row], op) != 0)
        row++;
    MW_ASSERT(row < MW_COUNT(ops));
    return (Reduction)row;
}

static double combined(Reduction reduction, double a, double b)
{
    switch (reduction) {
    case REDUCE_SUM:
    case REDUCE_MEAN:
        return a + b;
    case REDUCE_PROD:
        return a * b;
    case REDUCE_MAX:
        return a > b || a != a ? a : b;
    case REDUCE_MIN:
        return a < b || a != a ? a : b;
    }
    MW_UNREACHABLE();
}

static int64_t combined_integers(Reduction reduction, int64_t a, int64_t b)
{
    switch (reduction) {
    case REDUCE_SUM:
    case REDUCE_MEAN:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case REDUCE_PROD:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case REDUCE_MAX:
        return a > b ? a : b;
    case REDUCE_MIN:
        return a < b ? a : b;
    }
    MW_UNREACHABLE();
}

/* An element of the result while it is combined. */
typedef struct {
    double number;
    int64_t integer;
    bool begun;
} Combined;

static void combine(Combined *combined_so_far, Reduction reduction, const MwOnnxTensor *x,
                    int64_t i)
{
    const bool is_float = mw_type_is_float(x->type);
    const double number = is_float ? mw_onnx_number(x, i) : 0;
    const int64_t integer = is_float ? 0 : mw_onnx_integer(x, i);
    const bool first = !combined_so_far->begun;
    *combined_so_far = (Combined){
        first ? number : combined(reduction, combined_so_far->number, number),
        first ? integer : combined_integers(reduction, combined_so_far->integer, integer), true};
}

const MwOnnxTensor *mw_onnx_fold_reduce(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxTensor *x = operand_of(node);
    bool reduces[MW_MAX_RANK];
    int64_t kept[MW_MAX_RANK], dim[MW_MAX_RANK];
    int rank = 0;
    if (!x || x->count == 0 || x->symbolic ||
        !mw_onnx_shape_reduced(import, node, x->rank, reduces))
        return NULL;
    for (int d = 0; d < x->rank; d++) {
        kept[d] = reduces[d] ? 1 : x->dim[d];
        if (!reduces[d] || mw_onnx_int_of(node, "keepdims", 1))
            dim[rank++] = kept[d];
    }
    MwOnnxTensor *result = mw_onnx_fold_new(import, x->type, rank, dim);
    if (!result)
        return NULL;
    void *data = (void *)(uintptr_t)result->data; /* which is being made */
    const Reduction reduction = reduction_of(node->op);
    const int64_t each = x->count / result->count;
    Combined *all = MW_NEW(import->arena, Combined, result->count);
    for (int64_t i = 0; i < x->count; i++)
        combine(&all[place_kept(x, kept, i)], reduction, x, i);
    for (int64_t i = 0; i < result->count; i++) {
        const int64_t count = reduction == REDUCE_MEAN ? each : 1;
        if (mw_type_is_float(x->type))
            mw_element_put(x->type, data, i, all[i].number / (double)count);
        else
            mw_element_put_integer(x->type, data, i, all[i].integer / count);
    }
    return result;
}

const MwOnnxTensor *mw_onnx_fold_cumsum(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxTensor *x = operand_of(node);
    int64_t given;
    int axis;
    if (!x || x->symbolic || x->rank == 0 ||
        mw_onnx_constant_ints(import, mw_onnx_input(node, 1), &given, 1) != 1 ||
        mw_onnx_int_of(node, "exclusive", 0) || mw_onnx_int_of(node, "reverse", 0) ||
        !mw_onnx_shape_axis(import, node, given, x->rank, &axis))
        return NULL;
    MwOnnxTensor *result = mw_onnx_fold_new(import, x->type, x->rank, x->dim);
    void *data = result ? (void *)(uintptr_t)result->data : NULL;
    int64_t stride = 1;
    for (int d = axis + 1; d < x->rank; d++)
        stride *= x->dim[d];
    for (int64_t i = 0; result && i < x->count; i++) {
        const bool first = i / stride % x->dim[axis] == 0;
        if (mw_type_is_float(x->type))
            mw_element_put(x->type, data, i,
                           mw_onnx_number(x, i) + (first ? 0 : mw_onnx_number(result, i - stride)));
        else
            mw_element_put_integer(
                x->type, data, i,
                combined_integers(REDUCE_SUM, mw_onnx_integer(x, i),
                                  first ? 0 : mw_onnx_integer(result, i - stride)));
    }
    return result;
}
