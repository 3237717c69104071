/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/map.h"

#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"

#include <string.h>

/* Whether a constant may be written as a number: it has one, and its shape adds nothing to that of
 * the others. */
static bool is_number(const MwOnnxValue *value, const MwOnnxShape *others)
{
    double number;
    if (!mw_onnx_constant_number(value, &number) || value->constant->symbolic)
        return false;
    if (value->shape.rank > others->rank)
        return false;
    const int ahead = others->rank - value->shape.rank;
    for (int i = 0; i < value->shape.rank; i++)
        if (!mw_onnx_dim_is(&value->shape.dim[i], 1) &&
            !mw_onnx_dim_equal(&value->shape.dim[i], &others->dim[i + ahead]))
            return false;
    return true;
}

/* A term of lower rank, in the order that the dimensions of the result stand in: with dimensions of
 * size 1 before it as far as it takes. */
static MwOnnxTerm *aligned(MwOnnxImport *import, MwOnnxValue *value, const MwOnnxShape *shape,
                           const int8_t *order)
{
    const int ahead = shape->rank - value->shape.rank;
    MwOnnxShape padded = {.type = value->shape.type, .rank = shape->rank}, placed, least;
    for (int i = 0; i < shape->rank; i++)
        padded.dim[i] = i < ahead ? mw_onnx_dim(1) : value->shape.dim[i - ahead];
    placed = padded;
    for (int i = 0; i < shape->rank; i++)
        placed.dim[i] = padded.dim[order[i]];
    least = placed; /* without what broadcasting adds by itself */
    int drop = 0;
    while (drop < shape->rank && mw_onnx_dim_is(&placed.dim[drop], 1))
        drop++;
    least.rank = shape->rank - drop;
    for (int i = 0; i < least.rank; i++)
        least.dim[i] = placed.dim[i + drop];
    if (mw_onnx_same_elements(shape->rank, padded.dim, order))
        return mw_onnx_reshape(import, mw_onnx_term(import, value), &least);
    /* the order of its own dimensions */
    int8_t own[MW_MAX_RANK];
    int count = 0;
    for (int i = 0; i < shape->rank; i++)
        if (order[i] >= ahead)
            own[count++] = (int8_t)(order[i] - ahead);
    return mw_onnx_reshape(import, mw_onnx_term_in(import, value, own), &least);
}

MwOnnxTerm *mw_onnx_map_operand(MwOnnxImport *import, MwOnnxValue *value, const MwOnnxShape *shape,
                                const int8_t *order)
{
    double number;
    if (is_number(value, shape) && mw_onnx_constant_number(value, &number))
        return mw_onnx_emit_number(import, value->shape.type, number);
    if (value->shape.rank == shape->rank)
        return mw_onnx_term_in(import, value, order);
    return aligned(import, value, shape, order);
}

/* The order that the result has: of the first operand of its rank that has one of its own. */
static const int8_t *choose_order(MwOnnxValue *const *operands, int count, int rank)
{
    static const int8_t as_it_stands[MW_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < count; i++) {
        const MwOnnxValue *value = operands[i];
        if (value->shape.rank != rank || !value->term || value->constant)
            continue;
        if (memcmp(value->order, as_it_stands, (size_t)rank) != 0)
            return value->order;
    }
    return as_it_stands;
}

bool mw_onnx_map_values(MwOnnxImport *import, const MwOnnxNode *node, MwType type, const char *text,
                        MwOnnxValue *const *operands, int count)
{
    MwOnnxShape shape = operands[0]->shape, others = {.rank = 0};
    for (int i = 1; i < count; i++)
        if (!mw_onnx_shape_broadcast(import, node, &shape, &operands[i]->shape, &shape))
            return false;
    shape.type = type;
    int8_t order[MW_MAX_RANK];
    memcpy(order, choose_order(operands, count, shape.rank), sizeof order);
    /* A number is written as one beside what has the whole shape. */
    bool any = false;
    for (int i = 0; i < count; i++) {
        double number;
        if (mw_onnx_constant_number(operands[i], &number))
            continue;
        if (!any)
            others = operands[i]->shape;
        else if (!mw_onnx_shape_broadcast(import, node, &others, &operands[i]->shape, &others))
            return false;
        any = true;
    }
    MwOnnxTerm *terms[MW_ONNX_MAX_OPERANDS];
    for (int i = 0; i < count; i++) {
        double number;
        const bool plain =
            any && mw_onnx_constant_number(operands[i], &number) && is_number(operands[i], &others);
        terms[i] = plain ? mw_onnx_emit_number(import, operands[i]->shape.type, number)
                   : operands[i]->shape.rank == shape.rank
                       ? mw_onnx_term_in(import, operands[i], order)
                       : aligned(import, operands[i], &shape, order);
    }
    MwOnnxShape placed = shape;
    for (int i = 0; i < shape.rank; i++)
        placed.dim[i] = shape.dim[order[i]];
    return mw_onnx_set(import, node, 0, &shape, mw_onnx_emit(import, &placed, text, terms, count),
                       order);
}

/* ---- Operators that are one expression ---- */

static const char *text_of(const MwOnnxNode *node)
{
    return mw_onnx_operator(node->op)->text;
}

/* Whether operands from `begin` on have one type. */
static bool check_types(MwOnnxImport *import, const MwOnnxNode *node, int begin)
{
    for (int i = begin + 1; i < node->input_count; i++)
        if (!node->inputs[i] || node->inputs[i]->shape.type != node->inputs[begin]->shape.type)
            return mw_onnx_refuse(import, node, "operands of several types");
    return true;
}

bool mw_onnx_map(MwOnnxImport *import, const MwOnnxNode *node)
{
    const int count = mw_onnx_operator(node->op)->operands;
    if (count > 1 && !check_types(import, node, 0))
        return false;
    MwOnnxValue *const turned[] = {mw_onnx_input(node, 1), node->inputs[0]};
    const bool bias_first =
        strcmp(node->op, "Add") == 0 && node->inputs[0]->is_weight && !node->inputs[1]->constant;
    return mw_onnx_map_values(import, node, node->inputs[0]->shape.type, text_of(node),
                              bias_first ? turned : node->inputs, count);
}

/* `x and true` is x, if nothing stretches it. */
static MwOnnxValue *beside_true(const MwOnnxNode *node)
{
    for (int i = 0; i < 2 && strcmp(node->op, "And") == 0; i++) {
        double number;
        const MwOnnxValue *constant = node->inputs[i];
        MwOnnxValue *other = node->inputs[1 - i];
        if (mw_onnx_constant_number(constant, &number) && number != 0 &&
            is_number(constant, &other->shape))
            return other;
    }
    return NULL;
}

bool mw_onnx_compare(MwOnnxImport *import, const MwOnnxNode *node)
{
    const int count = mw_onnx_operator(node->op)->operands;
    if (count > 1 && !check_types(import, node, 0))
        return false;
    MwOnnxValue *same = count > 1 ? beside_true(node) : NULL;
    if (same)
        return mw_onnx_set_same(import, node, 0, same);
    return mw_onnx_map_values(import, node, MW_BOOL, text_of(node), node->inputs, count);
}

/* Two numbers to choose from would be f32. */
bool mw_onnx_where(MwOnnxImport *import, const MwOnnxNode *node)
{
    double number;
    if (node->inputs[0]->shape.type != MW_BOOL)
        return mw_onnx_refuse(import, node, "a choice by what is no bool");
    if (!check_types(import, node, 1))
        return false;
    const MwType type = node->inputs[1]->shape.type;
    const char *text = "where($0, $1, $2)";
    if (type != MW_F32 && type != MW_BOOL && mw_onnx_constant_number(node->inputs[1], &number) &&
        mw_onnx_constant_number(node->inputs[2], &number))
        text = mw_onnx_text(import, "cast(where($0, $1, $2), %s)", mw_type_name(type));
    return mw_onnx_map_values(import, node, type, text, node->inputs, 3);
}

/* Exponents may be of another type than what they raise. */
bool mw_onnx_power(MwOnnxImport *import, const MwOnnxNode *node)
{
    double exponent;
    const MwType type = node->inputs[0]->shape.type;
    const bool is_constant = mw_onnx_constant_number(node->inputs[1], &exponent);
    if (!mw_type_is_float(type) && !(is_constant && exponent == 2))
        return mw_onnx_refuse(import, node, "a power of integers");
    if (is_constant && is_number(node->inputs[1], &node->inputs[0]->shape)) {
        const char *text = exponent == 2     ? "#0 * #0"
                           : exponent == 0.5 ? "sqrt($0)"
                           : exponent == 1   ? "$0"
                                             : NULL;
        if (!text)
            text = mw_onnx_text(import, "#0 ** %s%s%s", exponent < 0 ? "(" : "",
                                mw_onnx_number_text(import, MW_F32, exponent),
                                exponent < 0 ? ")" : "");
        return mw_onnx_map_values(import, node, type, text, node->inputs, 1);
    }
    if (node->inputs[1]->shape.type != type)
        return mw_onnx_refuse(import, node, "operands of several types");
    return mw_onnx_map_values(import, node, type, text_of(node), node->inputs, 2);
}

/* `//` rounds down; ONNX leaves the fraction out. */
bool mw_onnx_quotient(MwOnnxImport *import, const MwOnnxNode *node)
{
    if (!check_types(import, node, 0))
        return false;
    const MwType type = node->inputs[0]->shape.type;
    const char *text =
        mw_type_is_float(type) ? "#0 / #1" : "where((#0 < 0) != (#1 < 0), -(-#0 // #1), #0 // #1)";
    return mw_onnx_map_values(import, node, type, text, node->inputs, 2);
}

/* With `fmod` what is left has the sign of the dividend. Of floats abs(a) % abs(b) is exact, and
 * of integers abs(a) may not be one. */
bool mw_onnx_modulo(MwOnnxImport *import, const MwOnnxNode *node)
{
    if (!mw_onnx_int_of(node, "fmod", 0))
        return mw_onnx_map(import, node);
    if (!check_types(import, node, 0))
        return false;
    const MwType type = node->inputs[0]->shape.type;
    return mw_onnx_map_values(import, node, type,
                              mw_type_is_float(type)
                                  ? "sign($0) * (abs($0) % abs($1))"
                                  : "where((#0 % #1 != 0) and ((#0 < 0) != (#1 < 0)), "
                                    "#0 % #1 - #1, #0 % #1)",
                              node->inputs, 2);
}

bool mw_onnx_map_many(MwOnnxImport *import, const MwOnnxNode *node)
{
    if (!check_types(import, node, 0) || node->input_count > MW_ONNX_MAX_OPERANDS)
        return false;
    const bool infix = strstr(text_of(node), "#0 +") != NULL;
    const char *call = strcmp(node->op, "Min") == 0 ? "minimum" : "maximum";
    MwText text = {.arena = import->arena};
    for (int i = 1; !infix && i < node->input_count; i++)
        mw_text_printf(&text, "%s(", call);
    mw_text_add(&text, infix ? "#0" : "$0");
    for (int i = 1; i < node->input_count; i++)
        mw_text_printf(&text, infix ? " + #%d" : ", $%d)", i);
    if (node->input_count == 1)
        return mw_onnx_set_same(import, node, 0, node->inputs[0]);
    return mw_onnx_map_values(import, node, node->inputs[0]->shape.type, text.at, node->inputs,
                              node->input_count);
}

bool mw_onnx_identity(MwOnnxImport *import, const MwOnnxNode *node)
{
    if (node->output_count > 1 && node->outputs[1] && node->outputs[1]->user)
        return mw_onnx_refuse(import, node, "a second result");
    return mw_onnx_set_same(import, node, 0, node->inputs[0]);
}

/* Whether integers of a type that the language lacks are what longer ones are that stand for them:
 * it has all elements of the operand. */
static bool keeps_elements(int64_t onnx_type, MwType from)
{
    switch (onnx_type) {
    case MW_ONNX_INT16:
        return from == MW_BOOL || from == MW_U8 || from == MW_I8;
    case MW_ONNX_UINT16:
    case MW_ONNX_UINT32:
    case MW_ONNX_UINT64:
        return from == MW_BOOL || from == MW_U8;
    default:
        return true;
    }
}

static bool cast_to(MwOnnxImport *import, const MwOnnxNode *node, MwType type)
{
    if (node->inputs[0]->shape.type == type)
        return mw_onnx_set_same(import, node, 0, node->inputs[0]);
    return mw_onnx_map_values(import, node, type,
                              mw_onnx_text(import, "cast($0, %s)", mw_type_name(type)),
                              node->inputs, 1);
}

bool mw_onnx_cast(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwType type;
    if (!mw_onnx_shape_type(import, node, "to", &type))
        return false;
    if (!keeps_elements(mw_onnx_int_of(node, "to", 1), node->inputs[0]->shape.type))
        return mw_onnx_refuse(import, node, "integers that may wrap around in type %s",
                              mw_onnx_type_name((int32_t)mw_onnx_int_of(node, "to", 1)));
    return cast_to(import, node, type);
}

bool mw_onnx_cast_like(MwOnnxImport *import, const MwOnnxNode *node)
{
    return cast_to(import, node, node->inputs[1]->shape.type);
}
