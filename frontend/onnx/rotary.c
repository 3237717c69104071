/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rotary positions that are products with tables of cosines and sines:
 *
 *     x * cos + concat(-x[.., half:], x[.., :half]) * sin,    x [batch, heads, sequence, head]
 *
 * or with heads and sequence exchanged. The tables are those of `rope`: at position p, elements i
 * and i + half turn by p * base^(-i / half) (Su et al., RoFormer, 2021). */
#include "frontend/onnx/match.h"
#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"

#include <math.h>
#include <string.h>

typedef struct {
    MwOnnxValue *x, *cosines, *sines; /* these are [sequence, head], with dimensions of size 1 */
    int64_t head;
    int axis; /* of x: the sequence */
} Rotary;

/* Whether a value is elements [begin, begin + half) along the last dimension of x, all of the
 * others. */
static bool is_half(MwOnnxImport *import, const MwOnnxValue *value, const MwOnnxValue *x,
                    int64_t begin, int64_t half)
{
    MwOnnxRange range[MW_MAX_RANK];
    const int last = x->shape.rank - 1;
    const MwOnnxNode *node = value->constant ? NULL : value->producer;
    if (!node || node->input_count < 1 || node->inputs[0] != x || value->shape.rank != last + 1 ||
        !mw_onnx_dim_is(&value->shape.dim[last], half))
        return false;
    if (strcmp(node->op, "Split") == 0) /* which takes all of the other dimensions */
        return value->result == (begin > 0) && node->output_count == 2;
    if (strcmp(node->op, "Slice") != 0 || !mw_onnx_shape_slice(import, node, range))
        return false;
    for (int i = 0; i < last; i++)
        if (range[i].step != 1 || !mw_onnx_dim_equal(&range[i].count, &x->shape.dim[i]))
            return false;
    return range[last].step == 1 && mw_onnx_dim_is(&range[last].begin, begin);
}

/* Whether a value is concat(-x[.., half:], x[.., :half]). */
static bool is_turned(MwOnnxImport *import, const MwOnnxValue *value, const MwOnnxValue *x)
{
    const int last = x->shape.rank - 1;
    const int64_t half = x->shape.dim[last].value / 2;
    const MwOnnxNode *join = mw_onnx_made_by(value, "Concat");
    const MwOnnxNode *negative = join ? mw_onnx_made_by(join->inputs[0], "Neg") : NULL;
    const int64_t axis = join ? mw_onnx_int_of(join, "axis", 0) : 0;
    return negative && join->input_count == 2 && join->inputs[1] && (axis == -1 || axis == last) &&
           is_half(import, negative->inputs[0], x, half, half) &&
           is_half(import, join->inputs[1], x, 0, half);
}

/* Which operands of the sum and its products are which. */
static bool match_products(MwOnnxImport *import, const MwOnnxNode *sum, Rotary *rotary)
{
    for (int way = 0; way < 8; way++) {
        const MwOnnxNode *plain = mw_onnx_made_by(sum->inputs[way & 1], "Mul"),
                         *turned = mw_onnx_made_by(sum->inputs[1 - (way & 1)], "Mul");
        if (!plain || !turned)
            return false;
        const int a = way >> 1 & 1, b = way >> 2;
        MwOnnxValue *x = plain->inputs[a];
        *rotary = (Rotary){x, plain->inputs[1 - a], turned->inputs[1 - b], 0, 0};
        if (x->shape.rank != 4 || x->shape.type != MW_F32 ||
            !mw_onnx_dim_is_constant(&x->shape.dim[3]) || !is_turned(import, turned->inputs[b], x))
            continue;
        rotary->head = x->shape.dim[3].value;
        return rotary->head >= 4 && rotary->head % 2 == 0;
    }
    return false;
}

/* Dimension of x that a factor [sequence, head] runs along beside the last, if it is the same for
 * all of the batch; -1: it is another. */
static int sequence_axis(const MwOnnxValue *factor, const MwOnnxValue *x)
{
    const MwOnnxShape *of_x = &x->shape, *shape = &factor->shape;
    const int ahead = of_x->rank - shape->rank;
    int axis = -1;
    if (shape->rank < 2 || ahead < 0 ||
        !mw_onnx_dim_equal(&shape->dim[shape->rank - 1], &of_x->dim[3]))
        return -1;
    for (int i = 0; i < shape->rank - 1; i++) {
        if (mw_onnx_dim_is(&shape->dim[i], 1) || i + ahead == 0)
            continue;
        if (axis >= 0 || !mw_onnx_dim_equal(&shape->dim[i], &of_x->dim[i + ahead]))
            return -1;
        axis = i + ahead;
    }
    return axis;
}

/* A base to six digits; 0: it is none. */
static double near_base(double base)
{
    if (!(base > 1 && base < 1e12))
        return 0;
    const double digit = pow(10, floor(log10(base)) - 5), near = round(base / digit) * digit;
    return fabs(base - near) <= 1e-6 * near ? near : 0;
}

/* ---- Cosines and sines that are constants ---- */

/* Constants [sequence, head], or copies of these along the batch. NULL: they are none. */
static const MwOnnxTensor *table_of(const MwOnnxValue *value, const Rotary *rotary)
{
    const MwOnnxTensor *tensor = value->constant ? value->constant : value->stretched;
    if (!tensor || value->is_weight || tensor->symbolic || tensor->type != MW_F32 ||
        tensor->rank < 2 || tensor->dim[tensor->rank - 1] != rotary->head)
        return NULL;
    const int ahead = rotary->x->shape.rank - tensor->rank;
    for (int i = 0; i < tensor->rank - 1; i++)
        if (tensor->dim[i] != 1 && i + ahead != rotary->axis)
            return NULL;
    return tensor;
}

/* The base of tables, but for how f32 rounds angles, that the slowest element of the second
 * position tells; 0: they have none. */
static double base_of_tables(const Rotary *rotary)
{
    const int64_t head = rotary->head, half = head / 2, at = head + half - 1;
    const MwOnnxTensor *cosines = table_of(rotary->cosines, rotary),
                       *sines = table_of(rotary->sines, rotary);
    if (!cosines || !sines || cosines->count != sines->count || cosines->count <= head)
        return 0;
    const double slowest = atan2(mw_onnx_number(sines, at), mw_onnx_number(cosines, at));
    const double base = near_base(pow(slowest, -(double)half / (double)(half - 1)));
    for (int64_t i = 0; base && i < cosines->count; i++) {
        const double angle = (double)(i / head) * pow(base, -(double)(i % half) / (double)half);
        const double tolerance = 1e-6 + 2e-7 * angle;
        if (!(fabs(mw_onnx_number(cosines, i) - cos(angle)) <= tolerance &&
              fabs(mw_onnx_number(sines, i) - sin(angle)) <= tolerance))
            return 0;
    }
    return base;
}

/* ---- Cosines and sines that are computed from positions ---- */

/* The base of constant rates base^(-i / half); 0: they have none. */
static double base_of_rates(const MwOnnxValue *value, int64_t half)
{
    const MwOnnxTensor *rates = value->constant ? value->constant : value->stretched;
    if (!rates || rates->type != MW_F32 || rates->count != half)
        return 0;
    const double base =
        near_base(pow(mw_onnx_number(rates, half - 1), -(double)half / (double)(half - 1)));
    for (int64_t i = 0; base && i < half; i++) {
        const double rate = pow(base, -(double)i / (double)half);
        if (!(fabs(mw_onnx_number(rates, i) - rate) <= 1e-6 * rate))
            return 0;
    }
    return base;
}

/* Whether a value is 0, 1, 2, .. along its dimension `axis`, as floats. */
static bool counts(const MwOnnxValue *value, int axis)
{
    const MwOnnxNode *cast = mw_onnx_made_by(value, "Cast");
    return cast && axis >= 0 && mw_type_is_index(cast->inputs[0]->shape.type) &&
           mw_onnx_counts_along(cast->inputs[0], &value->shape.dim[axis]) == axis;
}

/* The base of angles [sequence, half] that are positions times rates; 0: they are none. */
static double base_of_angles(MwOnnxValue *angles, int64_t half)
{
    int64_t perm[3];
    const MwOnnxNode *product = mw_onnx_made_before_casts(angles, "Mul");
    for (int i = 0; product && i < 2; i++) {
        const MwOnnxValue *rates = product->inputs[i], *positions = product->inputs[1 - i];
        if (rates->shape.rank >= 1 &&
            mw_onnx_dim_is(&rates->shape.dim[rates->shape.rank - 1], half) &&
            counts(positions, positions->shape.rank - 2))
            return base_of_rates(rates, half);
    }
    const MwOnnxNode *turn = mw_onnx_made_before_casts(angles, "Transpose");
    if (!turn || mw_onnx_ints_of(turn, "perm", perm, 3) != 3 || perm[0] != 0 || perm[1] != 2)
        return 0;
    product = mw_onnx_made_before_casts(turn->inputs[0], "MatMul");
    if (!product || !counts(product->inputs[1], product->inputs[1]->shape.rank - 1))
        return 0;
    const MwOnnxShape *rates = &product->inputs[0]->shape;
    const bool is_column = rates->rank >= 2 && mw_onnx_dim_is(&rates->dim[rates->rank - 1], 1);
    return is_column ? base_of_rates(product->inputs[0], half) : 0;
}

/* What a function of angles is of, if only dimensions of size 1 were added to it since. */
static MwOnnxValue *argument_of(MwOnnxValue *value, const char *function)
{
    const MwOnnxNode *node;
    while ((node = mw_onnx_made_before_casts(value, "Unsqueeze")))
        value = node->inputs[0];
    node = mw_onnx_made_before_casts(value, function);
    return node ? node->inputs[0] : NULL;
}

static double base_of_functions(const Rotary *rotary)
{
    MwOnnxValue *angles = argument_of(rotary->cosines, "Cos");
    const MwOnnxNode *twice = angles ? mw_onnx_made_before_casts(angles, "Concat") : NULL;
    if (!twice || argument_of(rotary->sines, "Sin") != angles || twice->input_count != 2 ||
        twice->inputs[0] != twice->inputs[1])
        return 0;
    const int64_t axis = mw_onnx_int_of(twice, "axis", 0);
    if (axis != -1 && axis != angles->shape.rank - 1)
        return 0;
    return base_of_angles(twice->inputs[0], rotary->head / 2);
}

bool mw_onnx_match_rope(MwOnnxImport *import, const MwOnnxNode *node)
{
    Rotary rotary;
    if (!match_products(import, node, &rotary))
        return false;
    MwOnnxValue *x = rotary.x;
    const int axis = rotary.axis = sequence_axis(rotary.cosines, x);
    if (axis < 0 || sequence_axis(rotary.sines, x) != axis || !mw_onnx_keeps_shape(import, node, x))
        return false;
    const bool computed = !rotary.cosines->constant && !rotary.cosines->stretched;
    const double base = computed ? base_of_functions(&rotary) : base_of_tables(&rotary);
    if (base == 0)
        return false;
    const int8_t order[MW_MAX_RANK] = {0, (int8_t)axis, (int8_t)(3 - axis), 3};
    MwOnnxShape placed = x->shape;
    for (int i = 0; i < 4; i++)
        placed.dim[i] = x->shape.dim[order[i]];
    const char *text = base == 10000 ? "rope($0)"
                                     : mw_onnx_text(import, "rope($0, base = %s)",
                                                    mw_onnx_number_text(import, MW_F32, base));
    return mw_onnx_set(import, node, 0, &x->shape,
                       mw_onnx_emit1(import, &placed, text, mw_onnx_term_in(import, x, order)),
                       order);
}
