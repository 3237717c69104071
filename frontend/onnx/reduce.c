/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reductions over axes, and choices along one. */
#include "frontend/onnx/map.h"
#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"

#include <string.h>

/* The shape and order of a result that lacks axes, or has them with size 1. */
static void reduced(const MwOnnxValue *x, const bool *reduces, bool keep, MwOnnxShape *shape,
                    int8_t *order)
{
    int place[MW_MAX_RANK], count = 0;
    *shape = (MwOnnxShape){.type = x->shape.type};
    for (int i = 0; i < x->shape.rank; i++) {
        place[i] = shape->rank;
        if (!reduces[i] || keep)
            shape->dim[shape->rank++] = reduces[i] ? mw_onnx_dim(1) : x->shape.dim[i];
    }
    for (int i = 0; i < x->shape.rank; i++)
        if (!reduces[x->order[i]] || keep)
            order[count++] = (int8_t)place[x->order[i]];
}

/* Sets result 0 to a reduction of the value: `format` has the operand and %s for the axes. */
static bool set_reduced(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxValue *x,
                        const bool *reduces, const char *format)
{
    const bool keep = mw_onnx_int_of(node, "keepdims", 1) != 0;
    MwOnnxTerm *term = mw_onnx_term_as_is(import, x);
    MwOnnxShape shape, placed;
    int8_t order[MW_MAX_RANK] = {0};
    reduced(x, reduces, keep, &shape, order);
    MwText axes = {.arena = import->arena};
    mw_text_add(&axes, "");
    int count = 0;
    for (int i = 0; i < x->shape.rank; i++)
        if (reduces[x->order[i]])
            mw_text_printf(&axes, "%s%d", count++ ? ", " : "", i);
    placed = shape;
    for (int i = 0; i < shape.rank; i++)
        placed.dim[i] = shape.dim[order[i]];
    MwText text = {.arena = import->arena};
    const char *mark = strchr(format, '%');
    mw_text_add_n(&text, format, (size_t)(mark - format));
    mw_text_printf(&text, count == 1 ? "axis = %s%s" : "axis = [%s]%s", axes.at,
                   keep ? ", keep = true" : "");
    mw_text_add(&text, mark + 1);
    return mw_onnx_set(import, node, 0, &shape, mw_onnx_emit1(import, &placed, text.at, term),
                       order);
}

/* A reduction, `format`. `alone` is what it makes of an element by itself; NULL: the same. */
static bool reduce(MwOnnxImport *import, const MwOnnxNode *node, const char *format,
                   const char *alone)
{
    MwOnnxValue *x = node->inputs[0];
    bool reduces[MW_MAX_RANK], any = false;
    if (!mw_onnx_shape_reduced(import, node, x->shape.rank, reduces))
        return false;
    for (int i = 0; i < x->shape.rank; i++)
        any |= reduces[i];
    if (any)
        return set_reduced(import, node, x, reduces, format);
    return alone ? mw_onnx_map_values(import, node, x->shape.type, alone, &x, 1)
                 : mw_onnx_set_same(import, node, 0, x);
}

/* The same of floats alone. */
static bool reduce_floats(MwOnnxImport *import, const MwOnnxNode *node, const char *format,
                          const char *alone)
{
    if (!mw_type_is_float(node->inputs[0]->shape.type))
        return mw_onnx_refuse(import, node, "integers");
    return reduce(import, node, format, alone);
}

bool mw_onnx_reduce_sum(MwOnnxImport *import, const MwOnnxNode *node)
{
    return reduce(import, node, "sum($0, %)", NULL);
}

bool mw_onnx_reduce_mean(MwOnnxImport *import, const MwOnnxNode *node)
{
    return reduce_floats(import, node, "mean($0, %)", NULL);
}

static bool is_bool(const MwOnnxNode *node)
{
    return node->inputs[0]->shape.type == MW_BOOL;
}

bool mw_onnx_reduce_max(MwOnnxImport *import, const MwOnnxNode *node)
{
    return reduce(import, node, is_bool(node) ? "any($0, %)" : "max($0, %)", NULL);
}

bool mw_onnx_reduce_min(MwOnnxImport *import, const MwOnnxNode *node)
{
    return reduce(import, node, is_bool(node) ? "all($0, %)" : "min($0, %)", NULL);
}

bool mw_onnx_reduce_prod(MwOnnxImport *import, const MwOnnxNode *node)
{
    return reduce(import, node, "prod($0, %)", NULL);
}

bool mw_onnx_reduce_l1(MwOnnxImport *import, const MwOnnxNode *node)
{
    return reduce(import, node, "sum(abs($0), %)", "abs($0)");
}

bool mw_onnx_reduce_l2(MwOnnxImport *import, const MwOnnxNode *node)
{
    return reduce_floats(import, node, "sqrt(sum(#0 * #0, %))", "abs($0)");
}

bool mw_onnx_reduce_sum_square(MwOnnxImport *import, const MwOnnxNode *node)
{
    return reduce(import, node, "sum(#0 * #0, %)", "#0 * #0");
}

bool mw_onnx_reduce_log_sum(MwOnnxImport *import, const MwOnnxNode *node)
{
    return reduce_floats(import, node, "log(sum($0, %))", "log($0)");
}

/* Along one axis after another, from the last; the function has none that stay. */
bool mw_onnx_reduce_logsumexp(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0];
    bool reduces[MW_MAX_RANK];
    int8_t order[MW_MAX_RANK] = {0};
    MwOnnxShape shape, placed;
    if (!mw_type_is_float(x->shape.type))
        return mw_onnx_refuse(import, node, "integers");
    if (!mw_onnx_shape_reduced(import, node, x->shape.rank, reduces))
        return false;
    MwOnnxTerm *term = mw_onnx_term_as_is(import, x);
    reduced(x, reduces, mw_onnx_int_of(node, "keepdims", 1) != 0, &shape, order);
    for (int i = x->shape.rank - 1; i >= 0; i--) {
        if (!reduces[x->order[i]])
            continue;
        MwOnnxShape rest = term->shape;
        for (int d = i + 1; d < rest.rank; d++)
            rest.dim[d - 1] = rest.dim[d];
        rest.rank--;
        term =
            mw_onnx_emit1(import, &rest, mw_onnx_text(import, "logsumexp($0, axis = %d)", i), term);
    }
    placed = shape;
    for (int i = 0; i < shape.rank; i++)
        placed.dim[i] = shape.dim[order[i]];
    return mw_onnx_set(import, node, 0, &shape, mw_onnx_reshape(import, term, &placed), order);
}

/* ---- Choices ---- */

static bool set_place(MwOnnxImport *import, const MwOnnxNode *node, const char *format)
{
    MwOnnxValue *x = node->inputs[0];
    int axis;
    if (mw_onnx_int_of(node, "select_last_index", 0))
        return mw_onnx_refuse(import, node, "attribute select_last_index = 1");
    if (!mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", 0), x->shape.rank, &axis))
        return false;
    bool reduces[MW_MAX_RANK] = {false};
    reduces[axis] = true;
    if (!set_reduced(import, node, x, reduces, format))
        return false;
    if (node->outputs[0])
        node->outputs[0]->shape.type = node->outputs[0]->term->shape.type = MW_I64;
    return true;
}

bool mw_onnx_argmax(MwOnnxImport *import, const MwOnnxNode *node)
{
    return set_place(import, node, "cast(argmax($0, %), i64)");
}

bool mw_onnx_argmin(MwOnnxImport *import, const MwOnnxNode *node)
{
    return set_place(import, node, "cast(argmin($0, %), i64)");
}

bool mw_onnx_top_k(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0];
    int64_t k;
    int axis;
    if (mw_onnx_constant_ints(import, node->inputs[1], &k, 1) != 1)
        return mw_onnx_refuse(import, node, "a number that is computed");
    if (!mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", -1), x->shape.rank, &axis))
        return false;
    if (k < 1 || k > x->shape.dim[axis].value)
        return mw_onnx_refuse(import, node, "%lld elements of %lld", (long long)k,
                              (long long)x->shape.dim[axis].value);
    MwOnnxShape shape = x->shape;
    shape.dim[axis] = mw_onnx_dim(k);
    MwOnnxTerm *whole =
        mw_onnx_emit1(import, &shape,
                      mw_onnx_text(import, "top_k($0, %lld, axis = %d%s)", (long long)k, axis,
                                   mw_onnx_int_of(node, "largest", 1) ? "" : ", ascending = true"),
                      mw_onnx_term(import, x));
    whole->parts = 2;
    MwOnnxShape ids = shape;
    ids.type = MW_I32;
    MwOnnxTerm *values = mw_onnx_emit_part(import, &shape, whole, 0);
    MwOnnxTerm *places = mw_onnx_emit_part(import, &ids, whole, 1);
    ids.type = MW_I64;
    mw_onnx_set(import, node, 0, &shape, values, NULL);
    return mw_onnx_set(import, node, 1, &ids, mw_onnx_emit1(import, &ids, "cast($0, i64)", places),
                       NULL);
}

bool mw_onnx_cumsum(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0];
    int64_t given;
    int axis;
    if (mw_onnx_constant_ints(import, node->inputs[1], &given, 1) != 1 ||
        mw_onnx_int_of(node, "exclusive", 0))
        return mw_onnx_refuse(import, node, "attribute exclusive = 1, or an axis that is computed");
    if (!mw_onnx_shape_axis(import, node, given, x->shape.rank, &axis))
        return false;
    const char *text = mw_onnx_text(import, "cumsum($0, axis = %d%s)", axis,
                                    mw_onnx_int_of(node, "reverse", 0) ? ", inverse = true" : "");
    return mw_onnx_set(import, node, 0, &x->shape,
                       mw_onnx_emit1(import, &x->shape, text, mw_onnx_term(import, x)), NULL);
}
