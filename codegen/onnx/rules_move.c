/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators that change places and shapes, and random numbers. */
#include "codegen/onnx/rules.h"

#include <string.h>

bool mw_write_reshape(MwWriter *writer, const char *op)
{
    return mw_writer_give_own(
        writer, mw_writer_put2(writer, op, mw_writer_operand(writer, 0),
                               mw_writer_shape(writer, mw_writer_result(writer, 0), true)));
}

/* ---- Transpositions ---- */

/* Whether the result of a transposition, in an order, is its operand in the other. */
static bool is_order(const MwAttr *perm, MwDimOrder order)
{
    const int rank = perm->ints.count;
    bool is = rank >= 3;
    for (int d = 0; is && d < rank; d++) {
        const int other = mw_writer_axis(rank, d, MW_ORDER_CHANNELS_FIRST);
        is = order == MW_ORDER_CHANNELS_FIRST ? perm->ints.at[d] == other
                                              : perm->ints.at[other] == d;
    }
    return is;
}

/* Images of which the model or its file has the channels first are there in both orders. */
bool mw_write_transpose(MwWriter *writer, const char *op)
{
    (void)op;
    const MwAttr *perm = mw_node_attr(writer->node, MW_ATTR_PERM);
    const MwValueId x = writer->node->operands[0];
    for (int order = 0; order < MW_ORDER_COUNT; order++)
        if (is_order(perm, (MwDimOrder)order)) {
            const char *name = mw_writer_in(
                writer, x, order == MW_ORDER_OWN ? MW_ORDER_CHANNELS_FIRST : MW_ORDER_OWN);
            return mw_writer_give(writer, 0, name, (MwDimOrder)order);
        }
    return mw_writer_give_own(writer, mw_writer_transpose(writer, mw_writer_operand(writer, 0),
                                                          perm->ints.at, perm->ints.count));
}

/* ---- Along an axis ---- */

/* The order in which an operator along an axis runs: that in which its operands are there. */
static MwDimOrder order_of(const MwWriter *writer)
{
    bool is = writer->node->operand_count > 0;
    for (int k = 0; k < writer->node->operand_count; k++)
        is &= mw_writer_is_channels_first(writer, writer->node->operands[k]);
    return is ? MW_ORDER_CHANNELS_FIRST : MW_ORDER_OWN;
}

/* An operator along an axis. */
typedef struct {
    MwWriter *writer;
    MwDimOrder order;
    int axis; /* in that order */
    int own;  /* in its own */
    const char *x;
} Along;

static Along along(MwWriter *writer)
{
    const int rank = mw_writer_operand_tensor(writer, 0)->rank;
    const MwDimOrder order = order_of(writer);
    const int own = (int)mw_node_int(writer->node, MW_ATTR_AXIS);
    return (Along){writer, order, mw_writer_axis(rank, own, order), own,
                   mw_writer_in(writer, writer->node->operands[0], order)};
}

bool mw_write_slice(MwWriter *writer, const char *op)
{
    (void)op;
    const Along a = along(writer);
    const char *name =
        mw_writer_slice(writer, a.x, a.axis, mw_writer_attr(writer, MW_ATTR_BEGIN, 0),
                        mw_writer_attr(writer, MW_ATTR_END, 0));
    return mw_writer_give(writer, 0, name, a.order);
}

/* From the last element down to the first, which -1 would not name. */
bool mw_write_flip(MwWriter *writer, const char *op)
{
    const Along a = along(writer);
    const char *back = mw_writer_integers(writer, (int64_t[]){-1}, 1);
    const char *const operands[] = {a.x, back,
                                    mw_writer_integers(writer, (int64_t[]){INT64_MIN + 1}, 1),
                                    mw_writer_integers(writer, (int64_t[]){a.axis}, 1), back};
    return mw_writer_give(writer, 0, mw_writer_put(writer, op, operands, MW_COUNT(operands)),
                          a.order);
}

bool mw_write_pad(MwWriter *writer, const char *op)
{
    const Along a = along(writer);
    const int rank = mw_writer_operand_tensor(writer, 0)->rank;
    MwOpenNumber pads[2 * MW_MAX_RANK] = {0};
    pads[a.axis] = mw_writer_attr(writer, MW_ATTR_BEGIN, 0);
    pads[rank + a.axis] = mw_writer_attr(writer, MW_ATTR_END, 0);
    const char *name = mw_writer_put2(writer, op, a.x, mw_writer_numbers(writer, pads, 2 * rank));
    return mw_writer_give(writer, 0, name, a.order);
}

bool mw_write_split(MwWriter *writer, const char *op)
{
    const Along a = along(writer);
    const int count = writer->node->result_count;
    MwOpenNumber *sizes = MW_NEW(writer->arena, MwOpenNumber, count);
    const char **results = MW_NEW(writer->arena, const char *, count);
    for (int k = 0; k < count; k++)
        sizes[k] = mw_writer_dim(writer, mw_writer_result(writer, k), a.own);
    const char *const operands[] = {a.x, mw_writer_numbers(writer, sizes, count)};
    mw_writer_put_many(writer, op, operands, 2, results, count);
    mw_writer_int(writer, "axis", a.axis);
    for (int k = 0; k < count; k++)
        mw_writer_give(writer, k, results[k], a.order);
    return true;
}

bool mw_write_concat(MwWriter *writer, const char *op)
{
    const Along a = along(writer);
    const int count = writer->node->operand_count;
    const char **operands = MW_NEW(writer->arena, const char *, count);
    for (int k = 0; k < count; k++)
        operands[k] = mw_writer_in(writer, writer->node->operands[k], a.order);
    const char *name = mw_writer_put(writer, op, operands, count);
    mw_writer_int(writer, "axis", a.axis);
    return mw_writer_give(writer, 0, name, a.order);
}

/* ---- Random numbers ---- */

bool mw_write_uniform(MwWriter *writer, const char *op)
{
    const MwValueId result = mw_writer_result(writer, 0);
    const MwTensor *tensor = mw_value_tensor(writer->graph, result);
    for (int d = 0; d < tensor->rank; d++) {
        const MwOpenNumber size = mw_writer_dim(writer, result, d);
        if (!mw_open_is_constant(&size))
            return mw_writer_refuse(writer, "random numbers of an open size");
    }
    const char *name = mw_writer_put(writer, op, NULL, 0);
    mw_writer_ints(writer, "shape", tensor->dim, tensor->rank);
    return mw_writer_give_own(writer, name);
}
