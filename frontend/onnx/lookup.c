/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements and slices by their indices. */
#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"

#include <string.h>

static bool gathered_shape(MwOnnxImport *import, const MwOnnxNode *node, int axis,
                           MwOnnxShape *shape)
{
    const MwOnnxShape *x = &node->inputs[0]->shape, *ids = &node->inputs[1]->shape;
    *shape = (MwOnnxShape){.type = x->type};
    if (x->rank - 1 + ids->rank > MW_MAX_RANK || !mw_type_is_index(ids->type))
        return mw_onnx_refuse(import, node, "more than %d dimensions", MW_MAX_RANK);
    for (int i = 0; i < x->rank; i++) {
        if (i != axis)
            shape->dim[shape->rank++] = x->dim[i];
        for (int k = 0; i == axis && k < ids->rank; k++)
            shape->dim[shape->rank++] = ids->dim[k];
    }
    return true;
}

/* One element of a dimension, which the result lacks: x[:, 3]. */
static bool set_element(MwOnnxImport *import, const MwOnnxNode *node, int axis, int64_t id)
{
    MwOnnxValue *x = node->inputs[0];
    MwOnnxTerm *term = mw_onnx_term_as_is(import, x);
    MwOnnxShape shape = {.type = x->shape.type}, placed = shape;
    int8_t order[MW_MAX_RANK] = {0};
    MwText text = {.arena = import->arena};
    mw_text_add(&text, "$0[");
    for (int i = 0; x->order[i] != axis; i++)
        mw_text_add(&text, ":, ");
    for (int i = 0; i < x->shape.rank; i++)
        if (i != axis)
            shape.dim[shape.rank++] = x->shape.dim[i];
    for (int i = 0; i < x->shape.rank; i++) {
        const int from = x->order[i];
        if (from == axis)
            continue;
        order[placed.rank] = (int8_t)(from - (from > axis));
        placed.dim[placed.rank++] = x->shape.dim[from];
    }
    mw_text_printf(&text, "%lld]", (long long)id);
    term->alone = true; /* what is indexed has a name */
    return mw_onnx_set(import, node, 0, &shape, mw_onnx_emit1(import, &placed, text.at, term),
                       order);
}

/* Indices that are constants count from the end where they are negative. */
static MwOnnxValue *counted_ids(MwOnnxImport *import, MwOnnxValue *ids, const MwOnnxDim *size)
{
    const MwOnnxTensor *from = ids->constant;
    bool negative = false;
    for (int64_t i = 0; from && i < from->count; i++)
        negative |= mw_onnx_integer(from, i) < 0;
    if (!negative)
        return ids;
    mw_onnx_fix(import, size);
    MwOnnxTensor *tensor = mw_onnx_tensor_new(import->arena, from->type, from->rank, from->dim);
    for (int64_t i = 0; i < from->count; i++) {
        const int64_t id = mw_onnx_integer(from, i);
        mw_element_put_integer(from->type, (void *)(uintptr_t)tensor->data, i,
                               id < 0 ? id + size->value : id);
    }
    MwOnnxValue *counted = mw_arena_dup(import->arena, ids, sizeof *ids);
    counted->constant = tensor;
    counted->term = NULL;
    return counted;
}

bool mw_onnx_gather(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0];
    MwOnnxShape shape;
    int64_t id;
    int axis;
    if (!mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", 0), x->shape.rank, &axis) ||
        !gathered_shape(import, node, axis, &shape))
        return false;
    const bool one = node->inputs[1]->shape.rank == 0 &&
                     mw_onnx_constant_ints(import, node->inputs[1], &id, 1) == 1;
    const int64_t size = x->shape.dim[axis].value;
    if (one && id >= -size && id < size)
        return set_element(import, node, axis, id);
    MwOnnxTerm *ids =
        mw_onnx_term(import, counted_ids(import, node->inputs[1], &x->shape.dim[axis]));
    MwOnnxTerm *term = mw_onnx_term(import, x);
    /* slices are of floats and of integers of 32 bits and more */
    const MwType type = x->shape.type;
    const bool is_short = !mw_type_is_float(type) && !mw_type_is_index(type);
    MwOnnxShape whole = x->shape, taken = shape;
    whole.type = taken.type = is_short ? MW_I32 : type;
    if (is_short)
        term = mw_onnx_emit1(import, &whole, "cast($0, i32)", term);
    if (x->shape.rank == 2 && axis == 0 && x->is_weight)
        return mw_onnx_set(import, node, 0, &shape,
                           mw_onnx_emit2(import, &shape, "embedding($0, $1)", ids, term), NULL);
    const char *text =
        axis == 0 ? "gather($0, $1)" : mw_onnx_text(import, "gather($0, $1, axis = %d)", axis);
    term = mw_onnx_emit2(import, &taken, text, term, ids);
    if (is_short)
        term = mw_onnx_emit1(import, &shape,
                             mw_onnx_text(import, "cast($0, %s)", mw_type_name(type)), term);
    return mw_onnx_set(import, node, 0, &shape, term, NULL);
}

bool mw_onnx_gather_elements(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0], *ids = node->inputs[1];
    const int rank = x->shape.rank;
    int axis;
    if (!mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", 0), rank, &axis))
        return false;
    bool good = ids->shape.rank == rank && axis == rank - 1 && mw_type_is_index(ids->shape.type);
    for (int i = 0; good && i < rank - 1; i++)
        good = mw_onnx_dim_equal(&x->shape.dim[i], &ids->shape.dim[i]);
    if (!good)
        return mw_onnx_refuse(import, node, "another axis than the last, or other rows");
    if (!mw_type_is_float(x->shape.type) && !mw_type_is_index(x->shape.type))
        return mw_onnx_refuse(import, node, "elements of type %s", mw_type_name(x->shape.type));
    ids = counted_ids(import, ids, &x->shape.dim[axis]);
    MwOnnxShape shape = ids->shape;
    shape.type = x->shape.type;
    return mw_onnx_set(import, node, 0, &shape,
                       mw_onnx_emit2(import, &shape, "take_along($0, $1)", mw_onnx_term(import, x),
                                     mw_onnx_term(import, ids)),
                       NULL);
}

/* Whether the operands are those of rows: x [n, rest..], ids [.., 1], rows [.., rest..]. */
static bool are_rows(const MwOnnxShape *x, const MwOnnxShape *ids, const MwOnnxShape *rows)
{
    const int given = ids->rank - 1;
    bool are = x->rank > 0 && ids->rank > 0 && rows->rank == given + x->rank - 1 &&
               mw_onnx_dim_is(&ids->dim[given], 1) && mw_type_is_index(ids->type) &&
               rows->type == x->type;
    for (int i = 0; are && i < rows->rank; i++)
        are = mw_onnx_dim_equal(&rows->dim[i], i < given ? &ids->dim[i] : &x->dim[i - given + 1]);
    return are;
}

bool mw_onnx_scatter_nd(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0], *ids = node->inputs[1], *rows = node->inputs[2];
    const bool adds = mw_onnx_text_is(node, "reduction", "none", "add");
    const MwType type = x->shape.type;
    if (!are_rows(&x->shape, &ids->shape, &rows->shape))
        return mw_onnx_refuse(import, node, "indices of other than one number");
    if (adds ? !mw_type_is_float(type) && !mw_type_is_index(type)
             : !mw_type_is_float(type) || x->shape.rank != 2 || ids->shape.rank != 2 ||
                   !mw_onnx_text_is(node, "reduction", "none", "none"))
        return mw_onnx_refuse(import, node, "attribute reduction, or what is put");
    ids = counted_ids(import, ids, &x->shape.dim[0]);
    MwOnnxShape flat = ids->shape;
    flat.rank--;
    MwOnnxTerm *const operands[] = {mw_onnx_term(import, x),
                                    mw_onnx_reshape(import, mw_onnx_term(import, ids), &flat),
                                    mw_onnx_term(import, rows)};
    const char *text = adds ? "scatter_add($0, $1, $2)" : "put_rows($0, $1, $2)";
    return mw_onnx_set(import, node, 0, &x->shape,
                       mw_onnx_emit(import, &x->shape, text, operands, MW_COUNT(operands)), NULL);
}

bool mw_onnx_one_hot(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *ids = node->inputs[0];
    const MwOnnxValue *values = node->inputs[2];
    MwOnnxDim depth;
    if (mw_onnx_constant_dims(node->inputs[1], &depth, 1) != 1 || !values->constant ||
        values->constant->count != 2 || mw_onnx_number(values->constant, 0) != 0 ||
        mw_onnx_number(values->constant, 1) != 1 || !mw_type_is_index(ids->shape.type))
        return mw_onnx_refuse(import, node, "values other than 0 and 1, or a computed depth");
    const int64_t axis = mw_onnx_int_of(node, "axis", -1);
    if ((axis != -1 && axis != ids->shape.rank) || ids->shape.rank == MW_MAX_RANK)
        return mw_onnx_refuse(import, node, "attribute axis: only the last");
    MwOnnxShape shape = ids->shape;
    shape.type = values->shape.type;
    shape.dim[shape.rank++] = depth;
    const char *text = mw_onnx_text(import, "one_hot($0, %s, type = %s)",
                                    mw_onnx_dim_text(import, &depth), mw_type_name(shape.type));
    return mw_onnx_set(
        import, node, 0, &shape,
        mw_onnx_emit1(import, &shape, text, mw_onnx_term(import, counted_ids(import, ids, &depth))),
        NULL);
}
