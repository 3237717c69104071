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
    MwOnnxValue *x;
    const MwOnnxTensor *cosines, *sines; /* [sequence, head], with dimensions of size 1 */
    int axis;                            /* of x: the sequence */
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

/* The elements of a table: constants, or copies of these along the batch. NULL: it is none. */
static const MwOnnxTensor *table_of(const MwOnnxValue *value)
{
    const MwOnnxTensor *tensor = value->constant ? value->constant : value->stretched;
    const bool good = tensor && !value->is_weight && !tensor->symbolic && tensor->type == MW_F32;
    return good ? tensor : NULL;
}

/* Dimension of x that a table [sequence, head] runs along beside the last; -1: it is no table. */
static int sequence_axis(const MwOnnxTensor *table, const MwOnnxValue *x)
{
    int axis = -1;
    for (int i = 0; i < table->rank - 1; i++) {
        if (table->dim[i] == 1)
            continue;
        if (axis >= 0)
            return -1;
        axis = i + x->shape.rank - table->rank;
    }
    const bool good = table->rank >= 2 && table->rank <= x->shape.rank &&
                      (axis == 1 || axis == 2) &&
                      mw_onnx_dim_is(&x->shape.dim[3], table->dim[table->rank - 1]);
    return good && mw_onnx_dim_is(&x->shape.dim[axis], table->count / table->dim[table->rank - 1])
               ? axis
               : -1;
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
        rotary->x = x;
        rotary->cosines = table_of(plain->inputs[1 - a]);
        rotary->sines = table_of(turned->inputs[1 - b]);
        if (x->shape.rank == 4 && x->shape.type == MW_F32 && rotary->cosines && rotary->sines &&
            mw_onnx_dim_is_constant(&x->shape.dim[3]) && is_turned(import, turned->inputs[b], x))
            return true;
    }
    return false;
}

/* The base that the slowest element of the second position tells, to six digits; 0: none. */
static double base_of(const Rotary *rotary, int64_t head)
{
    const int64_t half = head / 2, at = head + half - 1;
    const double angle =
        atan2(mw_onnx_number(rotary->sines, at), mw_onnx_number(rotary->cosines, at));
    const double base = pow(angle, -(double)half / (double)(half - 1));
    if (!(angle > 0 && base > 1 && base < 1e12))
        return 0;
    const double digit = pow(10, floor(log10(base)) - 5), near = round(base / digit) * digit;
    return fabs(base - near) <= 1e-6 * near ? near : 0;
}

/* Whether the tables are those of the base, but for how f32 rounds angles. */
static bool has_base(const Rotary *rotary, int64_t head, double base)
{
    for (int64_t i = 0; i < rotary->cosines->count; i++) {
        const double at = (double)(i / head), half = (double)(head / 2);
        const double angle = at * pow(base, -(double)(i % head % (head / 2)) / half);
        const double tolerance = 1e-6 + 2e-7 * angle;
        if (!(fabs(mw_onnx_number(rotary->cosines, i) - cos(angle)) <= tolerance &&
              fabs(mw_onnx_number(rotary->sines, i) - sin(angle)) <= tolerance))
            return false;
    }
    return true;
}

bool mw_onnx_match_rope(MwOnnxImport *import, const MwOnnxNode *node)
{
    Rotary rotary;
    if (!match_products(import, node, &rotary))
        return false;
    MwOnnxValue *x = rotary.x;
    const int64_t head = x->shape.dim[3].value;
    rotary.axis = sequence_axis(rotary.cosines, x);
    if (rotary.axis < 0 || sequence_axis(rotary.sines, x) != rotary.axis || head < 4 ||
        head % 2 != 0 || !mw_onnx_keeps_shape(import, node, x))
        return false;
    const double base = base_of(&rotary, head);
    if (base == 0 || !has_base(&rotary, head, base))
        return false;
    const int8_t order[MW_MAX_RANK] = {0, (int8_t)rotary.axis, (int8_t)(3 - rotary.axis), 3};
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
