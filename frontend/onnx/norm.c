/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Norms and softmax. */
#include "frontend/onnx/norm.h"

#include "frontend/onnx/map.h"
#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"
#include "frontend/onnx/windows.h"

#include <string.h>

/* ", eps = 1e-12"; "" for the one that norms of the language have by themselves. */
static const char *eps_text(MwOnnxImport *import, double eps)
{
    if ((float)eps == 1e-5f)
        return "";
    return mw_onnx_text(import, ", eps = %s", mw_onnx_number_text(import, MW_F32, eps));
}

MwOnnxTerm *mw_onnx_norm_of(MwOnnxImport *import, MwOnnxValue *x, const char *function, double eps)
{
    MwOnnxTerm *term = mw_onnx_term(import, x);
    return mw_onnx_emit1(import, &x->shape,
                         mw_onnx_text(import, "%s($0%s)", function, eps_text(import, eps)), term);
}

/* function(x, eps) * scale + shift, over the last dimension. */
static bool row_norm(MwOnnxImport *import, const MwOnnxNode *node, const char *function)
{
    MwOnnxValue *x = node->inputs[0], *scale = mw_onnx_input(node, 1),
                *shift = mw_onnx_input(node, 2);
    int axis;
    if (!mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", -1), x->shape.rank, &axis))
        return false;
    if (axis != x->shape.rank - 1)
        return mw_onnx_refuse(import, node, "attribute axis: more than the last dimension");
    for (int i = 1; i < node->output_count; i++)
        if (node->outputs[i] && node->outputs[i]->user)
            return mw_onnx_refuse(import, node, "a second result");
    MwOnnxTerm *term =
        mw_onnx_norm_of(import, x, function, mw_onnx_float_of(node, "epsilon", (double)1e-5f));
    int8_t order[MW_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    term = mw_onnx_emit2(import, &x->shape, "#0 * #1", term,
                         mw_onnx_map_operand(import, scale, &x->shape, order));
    if (shift)
        term = mw_onnx_emit2(import, &x->shape, "#0 + #1", term,
                             mw_onnx_map_operand(import, shift, &x->shape, order));
    return mw_onnx_set(import, node, 0, &x->shape, term, NULL);
}

bool mw_onnx_layer_norm(MwOnnxImport *import, const MwOnnxNode *node)
{
    return row_norm(import, node, "layer_norm");
}

bool mw_onnx_rms_norm(MwOnnxImport *import, const MwOnnxNode *node)
{
    return row_norm(import, node, "rms_norm");
}

/* ---- Norms of images ---- */

static bool check_images(MwOnnxImport *import, const MwOnnxNode *node, int least)
{
    const MwOnnxShape *shape = &node->inputs[0]->shape;
    if (shape->rank < least || shape->rank > MW_ONNX_MAX_SPATIAL + 2)
        return mw_onnx_refuse(import, node, "images of %d spatial dimensions", shape->rank - 2);
    for (int i = 1; i < node->input_count; i++)
        if (!node->inputs[i] || node->inputs[i]->shape.rank != 1 ||
            !mw_onnx_dim_equal(&node->inputs[i]->shape.dim[0], &shape->dim[1]))
            return mw_onnx_refuse(import, node, "operands that have no element for each channel");
    return true;
}

/* The shape of the term of images, channels last. */
static MwOnnxShape placed_shape(const MwOnnxShape *shape)
{
    MwOnnxShape placed = *shape;
    for (int i = 0; i < shape->rank; i++)
        placed.dim[i] = shape->dim[mw_onnx_channels_last[shape->rank][i]];
    return placed;
}

bool mw_onnx_batch_norm(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0];
    if (mw_onnx_int_of(node, "training_mode", 0))
        return mw_onnx_refuse(import, node, "attribute training_mode = 1");
    if (!check_images(import, node, 2))
        return false;
    const int8_t *order = mw_onnx_channels_last[x->shape.rank];
    const MwOnnxShape placed = placed_shape(&x->shape);
    node->inputs[3]->is_weight = node->inputs[4]->is_weight = false; /* they are not trained */
    MwOnnxTerm *const operands[] = {
        mw_onnx_term_in(import, x, order), mw_onnx_term(import, node->inputs[1]),
        mw_onnx_term(import, node->inputs[2]), mw_onnx_term(import, node->inputs[3]),
        mw_onnx_term(import, node->inputs[4])};
    const char *eps =
        mw_onnx_number_text(import, MW_F32, mw_onnx_float_of(node, "epsilon", (double)1e-5f));
    return mw_onnx_set(
        import, node, 0, &x->shape,
        mw_onnx_emit(import, &placed,
                     mw_onnx_text(import, "(#0 - #3) * (#1 * rsqrt(#4 + %s)) + #2", eps), operands,
                     5),
        order);
}

/* group_norm(x, groups) * scale + shift */
static bool norm_of_groups(MwOnnxImport *import, const MwOnnxNode *node, const char *groups)
{
    MwOnnxValue *x = node->inputs[0];
    if (!check_images(import, node, 3))
        return false;
    const int8_t *order = mw_onnx_channels_last[x->shape.rank];
    const MwOnnxShape placed = placed_shape(&x->shape);
    MwOnnxTerm *const operands[] = {mw_onnx_term_in(import, x, order),
                                    mw_onnx_term(import, node->inputs[1]),
                                    mw_onnx_term(import, node->inputs[2])};
    const char *text =
        mw_onnx_text(import, "group_norm($0, %s%s) * #1 + #2", groups,
                     eps_text(import, mw_onnx_float_of(node, "epsilon", (double)1e-5f)));
    return mw_onnx_set(import, node, 0, &x->shape, mw_onnx_emit(import, &placed, text, operands, 3),
                       order);
}

bool mw_onnx_instance_norm(MwOnnxImport *import, const MwOnnxNode *node)
{
    if (node->inputs[0]->shape.rank < 2)
        return mw_onnx_refuse(import, node, "no images");
    return norm_of_groups(import, node, mw_onnx_dim_text(import, &node->inputs[0]->shape.dim[1]));
}

bool mw_onnx_group_norm(MwOnnxImport *import, const MwOnnxNode *node)
{
    const int64_t groups = mw_onnx_int_of(node, "num_groups", 0);
    if (import->graph->opset < 21 || groups < 1)
        return mw_onnx_refuse(import, node, "its form before version 21, or no num_groups");
    return norm_of_groups(import, node, mw_onnx_text(import, "%lld", (long long)groups));
}

bool mw_onnx_lp_norm(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0];
    int axis;
    const int64_t p = mw_onnx_int_of(node, "p", 2);
    if (p != 1 && p != 2)
        return mw_onnx_refuse(import, node, "attribute p: only 1 and 2");
    if (!mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", -1), x->shape.rank, &axis))
        return false;
    /* so small a bound that rows of zeros alone have it, which stay zeros */
    const char *least = x->shape.type == MW_F16 ? "1e-7" : "1e-30";
    const char *text =
        mw_onnx_text(import,
                     p == 1 ? "#0 / maximum(sum(abs($0), axis = %d, keep = true), %s)"
                            : "#0 / maximum(sqrt(sum(#0 * #0, axis = %d, keep = "
                              "true)), %s)",
                     axis, least);
    return mw_onnx_set(import, node, 0, &x->shape,
                       mw_onnx_emit1(import, &x->shape, text, mw_onnx_term(import, x)), NULL);
}

/* ---- Softmax ---- */

static bool softmax_by(MwOnnxImport *import, const MwOnnxNode *node, const char *function)
{
    MwOnnxValue *x = node->inputs[0];
    const int rank = x->shape.rank;
    int axis, place = 0;
    if (!mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", -1), rank, &axis))
        return false;
    MwOnnxTerm *term = mw_onnx_term_as_is(import, x);
    while (x->order[place] != axis)
        place++;
    const char *text = place == rank - 1
                           ? mw_onnx_text(import, "%s($0)", function)
                           : mw_onnx_text(import, "%s($0, axis = %d)", function, place);
    return mw_onnx_set(import, node, 0, &x->shape, mw_onnx_emit1(import, &term->shape, text, term),
                       x->order);
}

bool mw_onnx_softmax(MwOnnxImport *import, const MwOnnxNode *node)
{
    return softmax_by(import, node, "softmax");
}

bool mw_onnx_log_softmax(MwOnnxImport *import, const MwOnnxNode *node)
{
    return softmax_by(import, node, "log_softmax");
}
