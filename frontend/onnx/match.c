/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/match.h"

#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"

#include <string.h>

const MwOnnxNode *mw_onnx_made_by(const MwOnnxValue *value, const char *op)
{
    const MwOnnxNode *node = value && !value->constant ? value->producer : NULL;
    if (!node || value->result != 0 || strcmp(node->op, op) != 0)
        return NULL;
    const MwOnnxOperator *row = mw_onnx_operator(op);
    for (int i = 0; row && i < row->operands; i++)
        if (!mw_onnx_input(node, i))
            return NULL;
    return row ? node : NULL;
}

MwOnnxValue *mw_onnx_before_casts(MwOnnxValue *value)
{
    for (;;) {
        const MwOnnxNode *node = mw_onnx_made_by(value, "Cast");
        if (!node)
            node = mw_onnx_made_by(value, "Identity");
        if (!node)
            node = mw_onnx_made_by(value, "Dropout");
        if (!node || node->inputs[0]->state != MW_ONNX_KNOWN ||
            node->inputs[0]->shape.type != value->shape.type)
            return value;
        value = node->inputs[0];
    }
}

const MwOnnxNode *mw_onnx_made_before_casts(const MwOnnxValue *value, const char *op)
{
    return value ? mw_onnx_made_by(mw_onnx_before_casts((MwOnnxValue *)(uintptr_t)value), op)
                 : NULL;
}

MwOnnxValue *mw_onnx_with_number(const MwOnnxNode *node, double *number)
{
    for (int i = 0; i < 2; i++)
        if (mw_onnx_constant_number(node->inputs[i], number))
            return node->inputs[1 - i];
    return NULL;
}

int mw_onnx_counts_along(const MwOnnxValue *value, const MwOnnxDim *size)
{
    int axis = -1;
    const MwOnnxShape *shape = &value->shape;
    for (int i = 0; i < shape->rank; i++)
        if (!mw_onnx_dim_is(&shape->dim[i], 1)) {
            if (axis >= 0 || !mw_onnx_dim_equal(&shape->dim[i], size))
                return -2;
            axis = i;
        }
    if (value->constant) {
        for (int64_t i = 0; i < value->constant->count; i++)
            if (value->constant->symbolic || mw_onnx_integer(value->constant, i) != i)
                return -2;
        return axis >= 0 || mw_onnx_dim_is(size, 1) ? axis : -2;
    }
    const MwOnnxNode *node;
    while ((node = mw_onnx_made_by(value, "Unsqueeze")) ||
           (node = mw_onnx_made_by(value, "Reshape")))
        value = node->inputs[0];
    double start, step;
    node = mw_onnx_made_by(value, "Range");
    const bool counts = node && mw_onnx_constant_number(node->inputs[0], &start) && start == 0 &&
                        mw_onnx_constant_number(node->inputs[2], &step) && step == 1;
    return counts && axis >= 0 ? axis : -2;
}

bool mw_onnx_keeps_shape(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxValue *value)
{
    MwOnnxShape shape;
    bool same = mw_onnx_shape_broadcast(import, node, &node->inputs[0]->shape,
                                        &node->inputs[1]->shape, &shape) &&
                shape.rank == value->shape.rank;
    for (int i = 0; same && i < shape.rank; i++)
        same = mw_onnx_dim_equal(&shape.dim[i], &value->shape.dim[i]);
    return same;
}

bool mw_onnx_match(MwOnnxImport *import, const MwOnnxNode *node)
{
    static const struct {
        const char *op, *name;
        bool (*match)(MwOnnxImport *, const MwOnnxNode *);
    } patterns[] = {
#define PATTERN(op, name, note) {#op, #name, mw_onnx_match_##name},
#include "frontend/onnx/patterns.def"
    };
    const int refusals = import->refusals.count;
    bool found = false;
    for (int i = 0; i < MW_COUNT(patterns) && !found; i++)
        if (strcmp(patterns[i].op, node->op) == 0) {
            import->local = patterns[i].name;
            found = patterns[i].match(import, node);
            import->refusals.count = refusals; /* of what was only tried */
        }
    return found;
}
