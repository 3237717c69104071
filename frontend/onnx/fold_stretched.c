/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Constants that are stretched along dimensions whose sizes are symbols. Such a value is computed
 * in the model; but masks that are made of it are recognised as if it were a constant. */
#include "frontend/onnx/fold.h"

#include <string.h>

/* Operators that do the same to each copy, unless they work along the dimension itself, and how
 * many dimensions from the end must then be no copies. */
static const struct {
    const char *op;
    int whole; /* -1: all but the first */
} alike[] = {
    {"Add", 0},   {"Sub", 0},     {"Mul", 0},         {"Equal", 0},          {"Less", 0},
    {"Not", 0},   {"Greater", 0}, {"LessOrEqual", 0}, {"GreaterOrEqual", 0}, {"And", 0},
    {"Or", 0},    {"Where", 0},   {"Cast", 0},        {"Identity", 0},       {"Unsqueeze", 0},
    {"Slice", 0}, {"Concat", 0},  {"Transpose", 0},   {"CumSum", -1},        {"Trilu", 2},
};

static int find_row(const char *op)
{
    for (int i = 0; i < MW_COUNT(alike); i++)
        if (strcmp(alike[i].op, op) == 0)
            return i;
    return -1;
}

static const MwOnnxTensor *elements_of(const MwOnnxValue *value)
{
    return value->is_weight ? NULL : value->constant ? value->constant : value->stretched;
}

/* Whether each dimension is that of the value, or 1, and so are the last ones. */
static bool stretches_to(const MwOnnxTensor *tensor, const MwOnnxShape *shape, int whole)
{
    if (tensor->rank != shape->rank || tensor->type != shape->type || tensor->symbolic)
        return false;
    const int first_whole = whole < 0 ? 1 : shape->rank - whole;
    for (int i = 0; i < shape->rank; i++) {
        const bool same = mw_onnx_dim_is(&shape->dim[i], tensor->dim[i]);
        if (!same && (tensor->dim[i] != 1 || i >= first_whole))
            return false;
    }
    return true;
}

/* An operand that has the elements as a constant of their own shape. */
static MwOnnxValue *as_constant(MwArena *arena, const MwOnnxValue *value)
{
    MwOnnxValue *copy = mw_arena_dup(arena, value, sizeof *value);
    copy->constant = elements_of(value);
    copy->shape = (MwOnnxShape){.type = copy->constant->type, .rank = copy->constant->rank};
    for (int i = 0; i < copy->shape.rank; i++)
        copy->shape.dim[i] = mw_onnx_dim(copy->constant->dim[i]);
    return copy;
}

/* Expand leaves the elements as they are, with dimensions before them. */
static const MwOnnxTensor *expanded(MwArena *arena, const MwOnnxNode *node)
{
    const MwOnnxTensor *from = elements_of(node->inputs[0]);
    MwOnnxTensor *tensor = mw_arena_dup(arena, from, sizeof *from);
    const int ahead = node->outputs[0]->shape.rank - from->rank;
    tensor->rank += ahead;
    for (int i = 0; i < tensor->rank; i++)
        tensor->dim[i] = i < ahead ? 1 : from->dim[i - ahead];
    return tensor;
}

void mw_onnx_fold_stretched(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxFold fold)
{
    MwOnnxValue *result = node->output_count == 1 ? node->outputs[0] : NULL;
    const bool expands = strcmp(node->op, "Expand") == 0;
    const int row = find_row(node->op);
    if (!result || result->state != MW_ONNX_KNOWN || result->constant || (!expands && row < 0))
        return;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && !elements_of(node->inputs[i]) && (i == 0 || !expands))
            return;
    const MwOnnxTensor *tensor;
    if (expands) {
        tensor = expanded(import->arena, node);
    } else {
        MwOnnxNode copy = *node;
        copy.inputs = MW_NEW(import->arena, MwOnnxValue *, node->input_count);
        for (int i = 0; i < node->input_count; i++)
            copy.inputs[i] = node->inputs[i] ? as_constant(import->arena, node->inputs[i]) : NULL;
        const int refusals = import->refusals.count;
        tensor = fold(import, &copy);
        import->refusals.count = refusals;
    }
    if (tensor && stretches_to(tensor, &result->shape, expands ? 0 : alike[row].whole))
        result->stretched = tensor;
}
