/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shape rules of operators that look up by index, and of their gradients. */
#include "ir/shape/rules.h"

#include <string.h>

static bool want_ids(MwShapeContext *context, int k)
{
    const MwTensor *ids = mw_shape_operand(context, k);
    if (mw_type_is_index(ids->type))
        return true;
    return mw_shape_fail(context, "needs i32 or i64 ids, not %s", mw_shape_text(context, ids));
}

/* Devices add up what each finds in its part of a table, so entries are what sums are of. */
static bool want_entries(MwShapeContext *context, int k)
{
    const MwTensor *table = mw_shape_operand(context, k);
    if (mw_type_is_float(table->type) || mw_type_is_index(table->type))
        return true;
    mw_shape_fail(context, "takes floats, i32 or i64, not %s", mw_shape_text(context, table));
    return mw_shape_note(context, "cast it, for instance cast(x, i32)");
}

static bool append_dim(MwShapeContext *context, MwTensor *tensor, int64_t size)
{
    if (tensor->rank == MW_MAX_RANK)
        return mw_shape_fail(context, "would give more than %d dimensions", MW_MAX_RANK);
    tensor->dim[tensor->rank++] = size;
    return true;
}

bool mw_shape_embedding(MwShapeContext *context)
{
    const MwTensor *table = mw_shape_operand(context, 1);
    if (!want_ids(context, 0) || !want_entries(context, 1) ||
        !mw_shape_want_rank(context, 1, 2, "a table [entries, width]"))
        return false;
    MwTensor result = *mw_shape_operand(context, 0);
    result.type = table->type;
    return append_dim(context, &result, table->dim[1]) && mw_shape_give(context, &result);
}

bool mw_shape_embedding_grad(MwShapeContext *context)
{
    const MwAttr *shape = mw_shape_attr(context, MW_ATTR_SHAPE);
    const MwTensor *d = mw_shape_operand(context, 1);
    if (!want_ids(context, 0) || !want_entries(context, 1))
        return false;
    if (shape->ints.count != 2)
        return mw_shape_fail(context,
                             "needs the shape of a table [entries, width], not of %d "
                             "dimensions",
                             shape->ints.count);
    MwTensor wanted = *mw_shape_operand(context, 0);
    wanted.type = d->type;
    if (!append_dim(context, &wanted, shape->ints.at[1]))
        return false;
    if (!mw_tensor_equal(d, &wanted))
        return mw_shape_fail(context, "needs %s as the right, not %s",
                             mw_shape_text(context, &wanted), mw_shape_text(context, d));
    MwTensor result = mw_tensor(d->type, 2, shape->ints.at);
    return mw_shape_give(context, &result);
}

bool mw_shape_put_rows(MwShapeContext *context)
{
    const MwTensor *table = mw_shape_operand(context, 0), *ids = mw_shape_operand(context, 1);
    if (!mw_shape_want_float(context, 0) || !want_ids(context, 1) ||
        !mw_shape_want_rank(context, 0, 2, "a table [entries, width]") ||
        !mw_shape_want_rank(context, 1, 1, "a list of rows"))
        return false;
    MwTensor wanted = mw_tensor(table->type, 2, (const int64_t[]){ids->dim[0], table->dim[1]});
    if (!mw_tensor_equal(mw_shape_operand(context, 2), &wanted))
        return mw_shape_fail(context, "needs %s to put, not %s", mw_shape_text(context, &wanted),
                             mw_shape_text(context, mw_shape_operand(context, 2)));
    return mw_shape_give(context, table);
}

bool mw_shape_add_rows(MwShapeContext *context)
{
    const MwTensor *table = mw_shape_operand(context, 0), *ids = mw_shape_operand(context, 1);
    if (!want_entries(context, 0) || !want_ids(context, 1) ||
        !mw_shape_want_rank(context, 0, 2, "a table [entries, width]"))
        return false;
    MwTensor wanted = *ids;
    wanted.type = table->type;
    if (!append_dim(context, &wanted, table->dim[1]))
        return false;
    if (!mw_tensor_equal(mw_shape_operand(context, 2), &wanted))
        return mw_shape_fail(context, "needs %s to add, not %s", mw_shape_text(context, &wanted),
                             mw_shape_text(context, mw_shape_operand(context, 2)));
    return mw_shape_give(context, table);
}

bool mw_shape_first_equal(MwShapeContext *context)
{
    if (!want_ids(context, 0) || !mw_shape_want_rank(context, 0, 1, "a list of ids"))
        return false;
    const MwTensor places = mw_tensor(MW_I32, 1, mw_shape_operand(context, 0)->dim);
    return mw_shape_give(context, &places);
}

/* Checks that tensor x has a last dimension, to pick along. */
static bool want_last(MwShapeContext *context, const MwTensor *x)
{
    return x->rank || mw_shape_fail(context, "picks along the last dimension, but %s has none",
                                    mw_shape_text(context, x));
}

/* Checks that `ids` has one index for each row of `x`. */
static bool want_row_ids(MwShapeContext *context, const MwTensor *ids, const MwTensor *x)
{
    MwTensor rows = mw_tensor(MW_I32, x->rank - 1, x->dim);
    if (mw_tensor_same_shape(ids, &rows))
        return true;
    return mw_shape_fail(context, "needs one index for each row of %s, %s, not %s",
                         mw_shape_text(context, x), mw_shape_text(context, &rows),
                         mw_shape_text(context, ids));
}

bool mw_shape_pick(MwShapeContext *context)
{
    const MwTensor *x = mw_shape_operand(context, 0);
    if (!want_entries(context, 0) || !want_ids(context, 1))
        return false;
    if (!want_last(context, x) || !want_row_ids(context, mw_shape_operand(context, 1), x))
        return false;
    MwTensor result = mw_tensor(x->type, x->rank - 1, x->dim);
    return mw_shape_give(context, &result);
}

/* The checks that the gradients of picking share: gets the type of what was picked from. */
static bool want_picked(MwShapeContext *context, MwTensor *x)
{
    const MwAttr *shape = mw_shape_attr(context, MW_ATTR_SHAPE);
    if (!want_ids(context, 0) || !mw_shape_want_float(context, 1))
        return false;
    if (!shape->ints.count)
        return mw_shape_fail(context, "needs the shape of what was picked from");
    *x = mw_tensor(mw_shape_operand(context, 1)->type, shape->ints.count, shape->ints.at);
    return true;
}

bool mw_shape_pick_grad(MwShapeContext *context)
{
    MwTensor result;
    return want_picked(context, &result) &&
           want_row_ids(context, mw_shape_operand(context, 0), &result) &&
           mw_shape_want_like(context, 1, 0, false) && mw_shape_give(context, &result);
}

/* Checks that `ids` has a row of indices for each row of `x`. */
static bool want_ids_along(MwShapeContext *context, const MwTensor *ids, const MwTensor *x)
{
    if (ids->rank == x->rank) {
        MwTensor wanted = *x;
        wanted.dim[x->rank - 1] = ids->dim[x->rank - 1];
        if (mw_tensor_same_shape(ids, &wanted))
            return true;
    }
    return mw_shape_fail(context, "needs a row of indices for each row of %s, not %s",
                         mw_shape_text(context, x), mw_shape_text(context, ids));
}

bool mw_shape_take_along(MwShapeContext *context)
{
    const MwTensor *x = mw_shape_operand(context, 0), *ids = mw_shape_operand(context, 1);
    if (!want_entries(context, 0) || !want_ids(context, 1) || !want_last(context, x) ||
        !want_ids_along(context, ids, x))
        return false;
    MwTensor result = mw_tensor(x->type, ids->rank, ids->dim);
    return mw_shape_give(context, &result);
}

bool mw_shape_take_along_grad(MwShapeContext *context)
{
    MwTensor result;
    return want_picked(context, &result) &&
           want_ids_along(context, mw_shape_operand(context, 0), &result) &&
           mw_shape_want_like(context, 1, 0, false) && mw_shape_give(context, &result);
}
