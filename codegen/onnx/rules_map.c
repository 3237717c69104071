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

/* The type in which a node runs whose operands have a type that its operator of ONNX does not take.
 * Results are the same. */
static MwType run_type(MwOp op, MwType type)
{
    static const struct {
        MwOp op;
        MwType lacks, instead;
    } lacking[] = {{MW_OP_SIN, MW_BF16, MW_F32},      {MW_OP_COS, MW_BF16, MW_F32},
                   {MW_OP_TAN, MW_BF16, MW_F32},      {MW_OP_ATAN2, MW_BF16, MW_F32},
                   {MW_OP_ROUND, MW_BF16, MW_F32},    {MW_OP_FLOOR_DIV, MW_BF16, MW_F32},
                   {MW_OP_SOFTPLUS, MW_BF16, MW_F32}, {MW_OP_NEG, MW_U8, MW_I32},
                   {MW_OP_LT, MW_BOOL, MW_U8},        {MW_OP_LE, MW_BOOL, MW_U8},
                   {MW_OP_GT, MW_BOOL, MW_U8},        {MW_OP_GE, MW_BOOL, MW_U8}};
    for (int i = 0; i < MW_COUNT(lacking); i++)
        if (lacking[i].op == op && lacking[i].lacks == type)
            return lacking[i].instead;
    return type;
}

/* An element-wise operator in the order in which its operands are. */
typedef struct {
    MwWriter *writer;
    MwDimOrder order;
    MwType type; /* that it runs in */
    const char *operand[3];
} Map;

static Map begin(MwWriter *writer)
{
    const MwType own = mw_writer_operand_tensor(writer, 0)->type;
    Map map = {
        .writer = writer, .order = order_of(writer), .type = run_type(writer->node->op, own)};
    const int rank = mw_value_tensor(writer->graph, mw_writer_result(writer, 0))->rank;
    const bool stretches = may_stretch(writer);
    for (int k = 0; k < writer->node->operand_count; k++) {
        const MwValueId operand = writer->node->operands[k];
        map.operand[k] = mw_writer_stretched(writer, operand, rank, map.order, stretches);
        if (map.type != own)
            map.operand[k] = mw_writer_cast(writer, map.operand[k], own, map.type);
    }
    return map;
}

static bool end(const Map *map, const char *name)
{
    const MwType own = mw_writer_operand_tensor(map->writer, 0)->type,
                 to = mw_value_tensor(map->writer->graph, mw_writer_result(map->writer, 0))->type;
    if (map->type != own && to == own)
        name = mw_writer_cast(map->writer, name, map->type, own);
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

/* Of truth values, what logic makes; onnxruntime has no Where of them. */
bool mw_write_select(MwWriter *writer, const char *op)
{
    if (mw_writer_operand_tensor(writer, 1)->type != MW_BOOL)
        return mw_write_map(writer, op);
    const Map map = begin(writer);
    const char *is = map.operand[0], *is_not = mw_writer_put1(writer, "Not", is);
    return end(&map, mw_writer_put2(writer, "Or", mw_writer_put2(writer, "And", is, map.operand[1]),
                                    mw_writer_put2(writer, "And", is_not, map.operand[2])));
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

/* Bool: x < 0, or x is -0, whose reciprocal is less. */
static const char *put_is_negative(const Map *map, const char *x)
{
    const char *inverse = mw_writer_put1(map->writer, "Reciprocal", x);
    return mw_writer_put2(map->writer, "Less", mw_writer_put2(map->writer, "Add", x, inverse),
                          number(map, 0));
}

/* atan(y / x) where x > 0, a half turn from it where x < 0; of (0, 0) the quotient is y. */
bool mw_write_atan2(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    const char *y = map.operand[0], *x = map.operand[1], *zero = number(&map, 0);
    const char *angle = mw_writer_put1(writer, "Atan", mw_writer_put2(writer, "Div", y, x));
    double at;
    if (mw_writer_constant(writer, writer->node->operands[1], &at) && at > 0)
        return end(&map, angle);
    const char *turn = mw_writer_put3(writer, "Where", put_is_negative(&map, y),
                                      number(&map, -M_PI), number(&map, M_PI));
    turn = mw_writer_put3(writer, "Where", put_is_negative(&map, x), turn, zero);
    const char *is_zero = mw_writer_put2(writer, "And", mw_writer_put2(writer, "Equal", x, zero),
                                         mw_writer_put2(writer, "Equal", y, zero));
    angle = mw_writer_put3(writer, "Where", is_zero, y, angle);
    return end(&map, mw_writer_put2(writer, "Add", angle, turn));
}

/* Bool: what division leaves with the sign of the dividend has another sign than the divisor. */
static const char *put_is_other(const Map *map, const char *rest)
{
    MwWriter *writer = map->writer;
    const char *sign = mw_writer_put1(writer, "Sign", rest),
               *of_by = mw_writer_put1(writer, "Sign", map->operand[1]);
    return mw_writer_put2(writer, "Less", mw_writer_put2(writer, "Mul", sign, of_by),
                          number(map, 0));
}

/* What division leaves, with the sign of the dividend. */
static const char *put_rest(const Map *map)
{
    const char *rest = mw_writer_put(map->writer, "Mod", map->operand, 2);
    mw_writer_int(map->writer, "fmod", 1);
    return rest;
}

/* The sign is that of the divisor, as Mod has it for integers. */
bool mw_write_mod(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    if (!mw_type_is_float(map.type))
        return end(&map, mw_writer_put(writer, "Mod", map.operand, 2));
    const char *rest = put_rest(&map);
    return end(&map, mw_writer_put3(writer, "Where", put_is_other(&map, rest),
                                    mw_writer_put2(writer, "Add", rest, map.operand[1]), rest));
}

/* The quotient without its fraction, less 1 where what is left has another sign than the divisor.
 * Div does so for integers; of floats the quotient of what is divided without rest is rounded, as
 * a / b may be rounded up to a whole number. */
bool mw_write_floor_div(MwWriter *writer, const char *op)
{
    (void)op;
    const Map map = begin(writer);
    const char *a = map.operand[0], *b = map.operand[1], *rest = put_rest(&map);
    const char *less = mw_writer_cast(writer, put_is_other(&map, rest), MW_BOOL, map.type);
    if (!mw_type_is_float(map.type))
        return end(&map, mw_writer_put2(writer, "Sub", mw_writer_put2(writer, "Div", a, b), less));
    const char *whole = mw_writer_put2(writer, "Div", mw_writer_put2(writer, "Sub", a, rest), b);
    whole = mw_writer_put2(writer, "Sub", mw_writer_put1(writer, "Round", whole), less);
    return end(&map,
               mw_writer_put3(writer, "Where", mw_writer_put2(writer, "Equal", b, number(&map, 0)),
                              mw_writer_put2(writer, "Div", a, b), whole));
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
