/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Norms, products and transpositions that several nodes make. */
#include "frontend/onnx/contract.h"
#include "frontend/onnx/match.h"
#include "frontend/onnx/norm.h"
#include "frontend/onnx/operators.h"
#include "frontend/onnx/regroup.h"
#include "frontend/onnx/shapes.h"

#include <string.h>

/* The mean over the last dimension, which stays: of what. */
static MwOnnxValue *row_mean_of(MwOnnxImport *import, const MwOnnxValue *value)
{
    const MwOnnxNode *node = mw_onnx_made_by(value, "ReduceMean");
    if (!node || !mw_onnx_int_of(node, "keepdims", 1))
        return NULL;
    MwOnnxValue *x = node->inputs[0];
    int64_t axis;
    const MwOnnxValue *given = mw_onnx_input(node, 1);
    const int count = given ? mw_onnx_constant_ints(import, given, &axis, 1)
                            : mw_onnx_ints_of(node, "axes", &axis, 1);
    const bool is_last = count == 1 && (axis == -1 || axis == x->shape.rank - 1);
    return is_last ? x : NULL;
}

/* x * x, or x ** 2: x. */
static MwOnnxValue *squared(const MwOnnxValue *value)
{
    double two;
    const MwOnnxNode *node = mw_onnx_made_by(value, "Pow");
    if (node && mw_onnx_constant_number(node->inputs[1], &two) && two == 2)
        return node->inputs[0];
    node = mw_onnx_made_by(value, "Mul");
    return node && node->inputs[0] == node->inputs[1] ? node->inputs[0] : NULL;
}

/* sqrt(mean(x ** 2) + eps): x. */
static MwOnnxValue *row_deviation_of(MwOnnxImport *import, const MwOnnxValue *value, double *eps)
{
    const MwOnnxNode *root = mw_onnx_made_by(value, "Sqrt");
    const MwOnnxNode *sum = root ? mw_onnx_made_by(root->inputs[0], "Add") : NULL;
    const MwOnnxValue *mean = sum ? mw_onnx_with_number(sum, eps) : NULL;
    const MwOnnxValue *square = mean ? row_mean_of(import, mean) : NULL;
    return square ? squared(square) : NULL;
}

static bool set_norm(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxValue *x,
                     const char *function, double eps)
{
    if (x->shape.rank == 0 || !(eps > 0 && eps < 1) || !mw_onnx_keeps_shape(import, node, x))
        return false;
    return mw_onnx_set(import, node, 0, &x->shape, mw_onnx_norm_of(import, x, function, eps), NULL);
}

bool mw_onnx_match_layer_norm(MwOnnxImport *import, const MwOnnxNode *node)
{
    double eps;
    MwOnnxValue *centered = node->inputs[0];
    const MwOnnxNode *difference = mw_onnx_made_by(centered, "Sub");
    if (!difference)
        return false;
    MwOnnxValue *x = difference->inputs[0],
                *below = row_deviation_of(import, node->inputs[1], &eps);
    if (row_mean_of(import, difference->inputs[1]) != x || !below)
        return false;
    if (below != centered) { /* the difference may be computed twice */
        const MwOnnxNode *again = mw_onnx_made_by(below, "Sub");
        if (!again || again->inputs[0] != x || row_mean_of(import, again->inputs[1]) != x)
            return false;
    }
    return set_norm(import, node, x, "layer_norm", eps);
}

/* 1 / sqrt(mean(x ** 2) + eps): x. */
static MwOnnxValue *row_factor_of(MwOnnxImport *import, const MwOnnxValue *value, double *eps)
{
    double one;
    const MwOnnxNode *node = mw_onnx_made_by(value, "Reciprocal");
    if (node)
        return row_deviation_of(import, node->inputs[0], eps);
    node = mw_onnx_made_by(value, "Div");
    if (node && mw_onnx_constant_number(node->inputs[0], &one) && one == 1)
        return row_deviation_of(import, node->inputs[1], eps);
    return NULL;
}

bool mw_onnx_match_rms_norm(MwOnnxImport *import, const MwOnnxNode *node)
{
    double eps;
    if (strcmp(node->op, "Div") == 0) {
        MwOnnxValue *x = row_deviation_of(import, node->inputs[1], &eps);
        return x && x == node->inputs[0] && set_norm(import, node, x, "rms_norm", eps);
    }
    for (int i = 0; i < 2; i++) {
        MwOnnxValue *x = row_factor_of(import, node->inputs[i], &eps);
        if (x && x == node->inputs[1 - i])
            return set_norm(import, node, x, "rms_norm", eps);
    }
    return false;
}

/* ---- Rows of a matrix ---- */

/* reshape(reshape(x, [rows, k]) @ w + b, [.., n]) is reshape(x, [.., k]) @ w + b. */
bool mw_onnx_match_linear(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxNode *gemm = mw_onnx_made_by(node->inputs[0], "Gemm");
    const MwOnnxNode *rows = gemm ? mw_onnx_made_by(gemm->inputs[0], "Reshape") : NULL;
    MwOnnxShape target;
    if (!rows || mw_onnx_int_of(gemm, "transA", 0) || !node->inputs[1]->constant ||
        !mw_onnx_shape_target(import, node, &target))
        return false;
    const MwOnnxValue *c = mw_onnx_input(gemm, 2);
    const MwOnnxShape *product = &node->inputs[0]->shape;
    if (target.rank < 2 || (c && c->shape.rank > 1) ||
        !mw_onnx_dim_equal(&target.dim[target.rank - 1], &product->dim[1]))
        return false;
    MwOnnxValue *x = mw_arena_dup(import->arena, gemm->inputs[0], sizeof *x);
    x->constant = NULL;
    x->shape = target;
    x->shape.type = gemm->inputs[0]->shape.type;
    x->shape.dim[target.rank - 1] = gemm->inputs[0]->shape.dim[1];
    x->term = mw_onnx_reshape_value(import, rows->inputs[0], &x->shape, x->order);
    return mw_onnx_gemm_of(import, node, gemm, x);
}

/* reshape(transpose(reshape(x, [steps, batch * heads, width]), [1, 0, 2]), [batch, heads, steps,
 * width]) of x [steps, batch, heads * width]: heads that were counted with the batch. */
bool mw_onnx_match_batched_heads(MwOnnxImport *import, const MwOnnxNode *node)
{
    int64_t perm[3];
    const MwOnnxNode *turn = mw_onnx_made_by(node->inputs[0], "Transpose");
    const MwOnnxNode *merge = turn ? mw_onnx_made_by(turn->inputs[0], "Reshape") : NULL;
    MwOnnxShape target;
    if (!merge || mw_onnx_ints_of(turn, "perm", perm, 3) != 3 || perm[0] != 1 || perm[1] != 0 ||
        !node->inputs[1]->constant || !mw_onnx_shape_target(import, node, &target))
        return false;
    MwOnnxValue *x = merge->inputs[0];
    const MwOnnxShape *merged = &turn->inputs[0]->shape;
    MwOnnxDim width;
    if (target.rank != 4 || x->shape.rank != 3 || merged->rank != 3 ||
        !mw_onnx_dim_mul(&target.dim[1], &target.dim[3], &width) ||
        !mw_onnx_dim_equal(&x->shape.dim[2], &width) ||
        !mw_onnx_dim_equal(&x->shape.dim[0], &target.dim[2]) ||
        !mw_onnx_dim_equal(&x->shape.dim[1], &target.dim[0]) ||
        !mw_onnx_dim_equal(&merged->dim[0], &target.dim[2]) ||
        !mw_onnx_dim_equal(&merged->dim[2], &target.dim[3]))
        return false;
    static const int8_t batch_first[MW_MAX_RANK] = {1, 0, 2, 3, 4, 5, 6, 7};
    static const int8_t heads_third[MW_MAX_RANK] = {0, 2, 1, 3, 4, 5, 6, 7};
    MwOnnxShape placed = target;
    placed.dim[1] = target.dim[2];
    placed.dim[2] = target.dim[1];
    MwOnnxTerm *term = mw_onnx_reshape(import, mw_onnx_term_in(import, x, batch_first), &placed);
    return mw_onnx_set(import, node, 0, &target, term, heads_third);
}

/* The value [a, b, c, d] that was merged to [a * b, c, d], in the order that it has; NULL: it was
 * another. */
static MwOnnxValue *unmerged(MwOnnxValue *merged, const MwOnnxShape *shape)
{
    const MwOnnxNode *merge = mw_onnx_made_by(merged, "Reshape");
    MwOnnxValue *x = merge ? merge->inputs[0] : NULL;
    if (!x || x->shape.rank != 4)
        return NULL;
    for (int i = 0; i < 4; i++)
        if (!mw_onnx_dim_equal(&x->shape.dim[i], &shape->dim[i]))
            return NULL;
    return x;
}

bool mw_onnx_match_transposed_blocks(MwOnnxImport *import, const MwOnnxNode *node)
{
    int64_t perm[3];
    const MwOnnxNode *turn = mw_onnx_made_by(node->inputs[0], "Transpose");
    MwOnnxShape target;
    if (!turn || mw_onnx_ints_of(turn, "perm", perm, 3) != 3 || perm[0] != 0 || perm[1] != 2 ||
        !node->inputs[1]->constant || !mw_onnx_shape_target(import, node, &target) ||
        target.rank != 4)
        return false;
    MwOnnxValue *merged = turn->inputs[0];
    MwOnnxShape shape = target;
    shape.dim[2] = target.dim[3];
    shape.dim[3] = target.dim[2];
    if (!mw_onnx_dim_equal(&merged->shape.dim[1], &shape.dim[2]) ||
        !mw_onnx_dim_equal(&merged->shape.dim[2], &shape.dim[3]))
        return false;
    MwOnnxValue *x = unmerged(merged, &shape);
    int8_t order[MW_MAX_RANK] = {0, 1, 3, 2};
    if (!x)
        return mw_onnx_set(import, node, 0, &target,
                           mw_onnx_reshape(import, mw_onnx_term(import, merged), &shape), order);
    MwOnnxTerm *term = mw_onnx_term_as_is(import, x);
    for (int i = 0; i < 4; i++)
        order[i] = (int8_t)(x->order[i] < 2 ? x->order[i] : 5 - x->order[i]);
    return mw_onnx_set(import, node, 0, &target, term, order);
}
