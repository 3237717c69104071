/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators that read or write entries by ids. */
#include "codegen/onnx/rules.h"

/* Operand k with a last dimension of 1. */
static const char *put_column(MwWriter *writer, int k)
{
    return mw_writer_unsqueeze(writer, mw_writer_operand(writer, k), (int64_t[]){-1}, 1);
}

/* Ids for ScatterND, which wants i64. */
static const char *put_rows_of(MwWriter *writer, int k)
{
    return mw_writer_cast(writer, put_column(writer, k), mw_writer_operand_tensor(writer, k)->type,
                          MW_I64);
}

/* Zeros of the type and shape of the result. */
static const char *put_zeros(MwWriter *writer)
{
    const MwValueId result = mw_writer_result(writer, 0);
    const MwType type = mw_value_tensor(writer->graph, result)->type;
    return mw_writer_put2(writer, "Expand", mw_writer_number(writer, type, 0),
                          mw_writer_shape(writer, result, false));
}

bool mw_write_embedding(MwWriter *writer, const char *op)
{
    const char *name =
        mw_writer_put2(writer, op, mw_writer_operand(writer, 1), mw_writer_operand(writer, 0));
    mw_writer_int(writer, "axis", 0);
    return mw_writer_give_own(writer, name);
}

bool mw_write_embedding_grad(MwWriter *writer, const char *op)
{
    const char *name = mw_writer_put3(writer, op, put_zeros(writer), put_rows_of(writer, 0),
                                      mw_writer_operand(writer, 1));
    mw_writer_text(writer, "reduction", "add");
    return mw_writer_give_own(writer, name);
}

bool mw_write_put_rows(MwWriter *writer, const char *op)
{
    return mw_writer_give_own(writer,
                              mw_writer_put3(writer, op, mw_writer_operand(writer, 0),
                                             put_rows_of(writer, 1), mw_writer_operand(writer, 2)));
}

bool mw_write_pick(MwWriter *writer, const char *op)
{
    const char *name =
        mw_writer_put2(writer, op, mw_writer_operand(writer, 0), put_column(writer, 1));
    mw_writer_int(writer, "axis", -1);
    return mw_writer_give_own(
        writer,
        mw_writer_put2(writer, "Squeeze", name, mw_writer_integers(writer, (int64_t[]){-1}, 1)));
}

bool mw_write_pick_grad(MwWriter *writer, const char *op)
{
    const char *name =
        mw_writer_put3(writer, op, put_zeros(writer), put_column(writer, 0), put_column(writer, 1));
    mw_writer_int(writer, "axis", -1);
    return mw_writer_give_own(writer, name);
}

bool mw_write_take_along(MwWriter *writer, const char *op)
{
    const char *name =
        mw_writer_put2(writer, op, mw_writer_operand(writer, 0), mw_writer_operand(writer, 1));
    mw_writer_int(writer, "axis", -1);
    return mw_writer_give_own(writer, name);
}

bool mw_write_take_along_grad(MwWriter *writer, const char *op)
{
    const char *name = mw_writer_put3(writer, op, put_zeros(writer), mw_writer_operand(writer, 0),
                                      mw_writer_operand(writer, 1));
    mw_writer_int(writer, "axis", -1);
    mw_writer_text(writer, "reduction", "add");
    return mw_writer_give_own(writer, name);
}
