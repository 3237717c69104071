/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Element-wise operators. */
#include "codegen/onnx/rules.h"

#include <math.h>

/* The order in which an element-wise operator runs: channels first where an operand of its rank is
 * there in no other. */
static MwDimOrder order_of(const MwWriter *writer)
{
    const int rank = mw_value_tensor(writer->graph, mw_writer_result(writer, 0))->rank;
    for (int k = 0; rank >= 3 && k < writer->node->operand_count; k++)
        if (mw_writer_operand_tensor(writer, k)->rank == rank &&
            mw_writer_is_channels_first(writer, writer->node->operands[k]))
            return MW_ORDER_CHANNELS_FIRST;
    return MW_ORDER_OWN;
}

/* Whether operands that are made where they are asked for may stretch: another one has the shape of
 * the result. */
static bool may_stretch(const MwWriter *writer)
{
    const MwTensor *result = mw_value_tensor(writer->graph, mw_writer_result(writer, 0));
    for (int k = 0; k < writer->node->operand_count; k++) {
        const MwOp op = mw_value_node(writer->graph, writer->node->operands[k])->op;
        if (op != MW_OP_CONSTANT && op != MW_OP_IOTA && op != MW_OP_BROADCAST &&
            mw_tensor_same_shape(mw_writer_operand_tensor(writer, k), result))
            return true;
    }
    return false;
}

/* An element-wise operator in the order in which its operands are. */
typedef struct {
    MwWriter *writer;
    MwDimOrder order;
    MwType type; /* of the operands */
    const char *operand[3];
} Map;

static Map begin(MwWriter *writer)
{
    Map map = {.writer = writer, .order = order_of(writer)};
    const int rank = mw_value_tensor(writer->graph, mw_writer_result(writer, 0))->rank;
    const bool stretches = may_stretch(writer);
    for (int k = 0; k < writer->node->operand_count; k++) {
        const MwValueId operand = writer->node->operands[k];
        const bool is_whole = mw_writer_operand_tensor(writer, k)->rank == rank;
        if (stretches || !is_whole)
            map.operand[k] = mw_writer_stretched(writer, operand, rank, map.order);
        else
            map.operand[k] = mw_writer_in(writer, operand, map.order);
    }
    map.type = mw_writer_operand_tensor(writer, 0)->type;
    return map;
}

static bool end(const Map *map, const char *name)
{
    return mw_writer_give(map->writer, 0, name, map->order);
}

static const char *number(const Map *map, double value)
{
    return mw_writer_number(map->writer, map->type, value);
}

bool mw_write_map(MwWriter *writer, const char *op)
{
    const Map map = begin(writer);
    return end(&map, mw_writer_put(writer, op, map.operand, writer->node->operand_count));
}

bool mw_write_alias(MwWriter *writer, const char *op)
{
    (void)op;
    return mw_writer_alias(writer);
}

bool mw_write_cast(MwWriter *writer, const char *op)
{
    (void)op;
    const MwType to = mw_value_tensor(writer->graph, mw_writer_result(writer, 0))->type;
    if (mw_writer_operand_tensor(writer, 0)->type == to)
        return mw_writer_alias(writer);
    const Map map = begin(writer);
    return end(&map, mw_writer_cast(writer, map.operand[0], map.type, to));
}

bool mw_write_ne(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    return end(&map, mw_writer_put1(writer, "Not", mw_writer_put(writer, "Equal", map.operand, 2)));
}

bool mw_write_rsqrt(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    return end(
        &map, mw_writer_put1(writer, "Reciprocal", mw_writer_put1(writer, "Sqrt", map.operand[0])));
}

/* exp(x) - 1 = tanh(x / 2) (exp(x) + 1), which is exact near 0. */
bool mw_write_expm1(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    const char *half = mw_writer_put2(writer, "Mul", map.operand[0], number(&map, 0.5));
    const char *sum = mw_writer_put2(writer, "Add", mw_writer_put1(writer, "Exp", map.operand[0]),
                                     number(&map, 1));
    return end(&map, mw_writer_put2(writer, "Mul", mw_writer_put1(writer, "Tanh", half), sum));
}

/* With u = 1 + x rounded, log(1 + x) is log(u) x / (u - 1), and x where u is 1 (Goldberg, "What
 * every computer scientist should know about floating-point arithmetic", 1991, theorem 4); log(u)
 * where u is infinite. */
bool mw_write_log1p(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    const char *x = map.operand[0], *one = number(&map, 1);
    const char *u = mw_writer_put2(writer, "Add", x, one);
    const char *less = mw_writer_put2(writer, "Sub", u, one),
               *log = mw_writer_put1(writer, "Log", u);
    const char *quotient =
        mw_writer_put2(writer, "Div", mw_writer_put2(writer, "Mul", log, x), less);
    const char *is_small = mw_writer_put2(writer, "Equal", u, one);
    const char *is_large = mw_writer_put2(writer, "Greater", x, number(&map, 1e4));
    const char *rest = mw_writer_put3(writer, "Where", is_large, log, quotient);
    return end(&map, mw_writer_put3(writer, "Where", is_small, x, rest));
}

/* atan(y / x) where x > 0, a half turn from it where x < 0; 0 of (0, 0). */
bool mw_write_atan2(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    const char *y = map.operand[0], *x = map.operand[1], *zero = number(&map, 0);
    const char *angle = mw_writer_put1(writer, "Atan", mw_writer_put2(writer, "Div", y, x));
    double at;
    if (mw_writer_constant(writer, writer->node->operands[1], &at) && at > 0)
        return end(&map, angle);
    const char *turn = mw_writer_put3(writer, "Where", mw_writer_put2(writer, "Less", y, zero),
                                      number(&map, -M_PI), number(&map, M_PI));
    turn = mw_writer_put3(writer, "Where", mw_writer_put2(writer, "Less", x, zero), turn, zero);
    const char *is_zero = mw_writer_put2(writer, "And", mw_writer_put2(writer, "Equal", x, zero),
                                         mw_writer_put2(writer, "Equal", y, zero));
    return end(&map, mw_writer_put3(writer, "Where", is_zero, zero,
                                    mw_writer_put2(writer, "Add", angle, turn)));
}

/* What division leaves, with the sign of the divisor. Mod does so for integers; for floats it has
 * the sign of the dividend. */
static const char *put_mod(const Map *map)
{
    MwWriter *writer = map->writer;
    const char *rest = mw_writer_put(writer, "Mod", map->operand, 2), *by = map->operand[1];
    if (!mw_type_is_float(map->type))
        return rest;
    mw_writer_int(writer, "fmod", 1);
    const char *is_other =
        mw_writer_put2(writer, "Less",
                       mw_writer_put2(writer, "Mul", mw_writer_put1(writer, "Sign", rest),
                                      mw_writer_put1(writer, "Sign", by)),
                       number(map, 0));
    return mw_writer_put3(writer, "Where", is_other, mw_writer_put2(writer, "Add", rest, by), rest);
}

bool mw_write_mod(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    return end(&map, put_mod(&map));
}

bool mw_write_floor_div(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    if (mw_type_is_float(map.type))
        return end(&map,
                   mw_writer_put1(writer, "Floor", mw_writer_put(writer, "Div", map.operand, 2)));
    const char *whole = mw_writer_put2(writer, "Sub", map.operand[0], put_mod(&map));
    return end(&map, mw_writer_put2(writer, "Div", whole, map.operand[1]));
}

/* x / 2 (1 + erf(x / sqrt(2))) */
bool mw_write_gelu(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    const char *x = map.operand[0];
    const char *erf =
        mw_writer_put1(writer, "Erf", mw_writer_put2(writer, "Div", x, number(&map, M_SQRT2)));
    const char *sum = mw_writer_put2(writer, "Add", erf, number(&map, 1));
    return end(&map, mw_writer_put2(writer, "Mul", mw_writer_put2(writer, "Mul", x, sum),
                                    number(&map, 0.5)));
}

/* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
bool mw_write_gelu_tanh(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    const char *x = map.operand[0];
    const char *cube = mw_writer_put2(writer, "Pow", x, number(&map, 3));
    const char *inner = mw_writer_put2(writer, "Add", x,
                                       mw_writer_put2(writer, "Mul", cube, number(&map, 0.044715)));
    const char *tanh = mw_writer_put1(
        writer, "Tanh", mw_writer_put2(writer, "Mul", inner, number(&map, sqrt(M_2_PI))));
    const char *half = mw_writer_put2(writer, "Mul", x, number(&map, 0.5));
    return end(&map, mw_writer_put2(writer, "Mul", half,
                                    mw_writer_put2(writer, "Add", tanh, number(&map, 1))));
}

bool mw_write_silu(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    return end(&map, mw_writer_put2(writer, "Mul", map.operand[0],
                                    mw_writer_put1(writer, "Sigmoid", map.operand[0])));
}
