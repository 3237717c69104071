/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/shape/context.h"

bool mw_shape_fail(MwShapeContext *context, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = mw_arena_vprintf(context->arena, format, args);
    va_end(args);
    const MwShapeQuery *query = context->query;
    mw_diag_error(context->diags, query->span, "%s %s",
                  query->callee ? query->callee : mw_op_info(query->op)->name, message);
    return false;
}

bool mw_shape_note(MwShapeContext *context, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = mw_arena_vprintf(context->arena, format, args);
    va_end(args);
    mw_diag_note(context->diags, mw_span_none(), "%s", message);
    return false;
}

bool mw_shape_give(MwShapeContext *context, const MwTensor *result)
{
    return mw_shape_give_all(context, result, 1);
}

bool mw_shape_give_all(MwShapeContext *context, const MwTensor *results, int count)
{
    context->results = mw_arena_dup(context->arena, results, sizeof(MwTensor) * (size_t)count);
    context->result_count = count;
    return true;
}

const MwTensor *mw_shape_operand(const MwShapeContext *context, int k)
{
    MW_ASSERT(k >= 0 && k < context->query->operand_count);
    return &context->query->operands[k];
}

const char *mw_shape_text(MwShapeContext *context, const MwTensor *tensor)
{
    return mw_tensor_text(tensor, mw_arena_alloc(context->arena, MW_TENSOR_TEXT_BYTES));
}

const char *mw_shape_operand_name(MwShapeContext *context, int k)
{
    if (context->query->operand_count == 1)
        return "the operand";
    if (context->query->operand_count == 2)
        return k ? "the right" : "the left";
    static const char *const ordinals[] = {"first", "second", "third", "fourth", "fifth"};
    if (k < MW_COUNT(ordinals))
        return mw_arena_printf(context->arena, "the %s operand", ordinals[k]);
    return mw_arena_printf(context->arena, "operand %d", k + 1);
}

const MwAttr *mw_shape_attr(const MwShapeContext *context, MwAttrKey key)
{
    return mw_attrs_find(context->query->attrs, context->query->attr_count, key);
}

int64_t mw_shape_int(const MwShapeContext *context, MwAttrKey key)
{
    return mw_shape_attr(context, key)->i;
}

double mw_shape_float(const MwShapeContext *context, MwAttrKey key)
{
    return mw_shape_attr(context, key)->f;
}

bool mw_shape_want_axis(MwShapeContext *context, MwAttrKey key, const MwTensor *tensor, int *axis)
{
    int64_t given = mw_shape_int(context, key);
    if (given < 0 || given >= tensor->rank)
        return mw_shape_fail(context, "has %s %lld, but %s has %d dimension%s", mw_attr_name(key),
                             (long long)given, mw_shape_text(context, tensor), tensor->rank,
                             tensor->rank == 1 ? "" : "s");
    *axis = (int)given;
    return true;
}

bool mw_shape_want_rank(MwShapeContext *context, int k, int rank, const char *dims)
{
    const MwTensor *operand = mw_shape_operand(context, k);
    if (operand->rank == rank)
        return true;
    return mw_shape_fail(context, "needs %s as %s, not %s", dims, mw_shape_operand_name(context, k),
                         mw_shape_text(context, operand));
}

bool mw_shape_want_computed(MwShapeContext *context, int k)
{
    const MwTensor *operand = mw_shape_operand(context, k);
    if (!mw_type_is_fp8(operand->type))
        return true;
    mw_shape_fail(context, "does not compute with floats of 8 bits, such as %s",
                  mw_shape_text(context, operand));
    return mw_shape_note(context, "cast it, for instance cast(x, bf16)");
}

bool mw_shape_want_float(MwShapeContext *context, int k)
{
    const MwTensor *operand = mw_shape_operand(context, k);
    if (mw_type_is_float(operand->type))
        return mw_shape_want_computed(context, k);
    return mw_shape_fail(context, "needs a floating-point type for %s, not %s",
                         mw_shape_operand_name(context, k), mw_shape_text(context, operand));
}

bool mw_shape_want_addable(MwShapeContext *context, int k)
{
    const MwTensor *operand = mw_shape_operand(context, k);
    if (mw_type_bytes(operand->type) > 1)
        return true;
    mw_shape_fail(context, "adds up numbers of more than 8 bits, not %s",
                  mw_shape_text(context, operand));
    return mw_shape_note(context, "cast it, for instance cast(x, i32)");
}

bool mw_shape_want_same_types(MwShapeContext *context, int from, int to)
{
    const MwTensor *first = mw_shape_operand(context, from);
    for (int k = from + 1; k < to; k++) {
        const MwTensor *other = mw_shape_operand(context, k);
        if (other->type == first->type)
            continue;
        mw_shape_fail(context, "cannot combine %s and %s: the types differ",
                      mw_shape_text(context, first), mw_shape_text(context, other));
        return mw_shape_note(
            context, "cast one of them, for instance cast(x, %s)",
            mw_type_name(mw_type_is_float(first->type) ? first->type : other->type));
    }
    return true;
}

bool mw_shape_want_like(MwShapeContext *context, int k, int like, bool typed)
{
    const MwTensor *a = mw_shape_operand(context, k), *b = mw_shape_operand(context, like);
    if (mw_tensor_same_shape(a, b) && (!typed || a->type == b->type))
        return true;
    return mw_shape_fail(context, "needs %s and %s to have one shape%s, not %s and %s",
                         mw_shape_operand_name(context, like), mw_shape_operand_name(context, k),
                         typed ? " and type" : "", mw_shape_text(context, b),
                         mw_shape_text(context, a));
}

bool mw_shape_want_equal(MwShapeContext *context, int i, int a, int j, int b, const char *what)
{
    const MwTensor *left = mw_shape_operand(context, i), *right = mw_shape_operand(context, j);
    if (left->dim[a] == right->dim[b])
        return true;
    mw_shape_fail(context, "cannot combine %s and %s: the sizes of the %s differ",
                  mw_shape_text(context, left), mw_shape_text(context, right), what);
    return mw_shape_note(context, "dimension %d of %s is %lld, dimension %d of %s is %lld", a,
                         mw_shape_operand_name(context, i), (long long)left->dim[a], b,
                         mw_shape_operand_name(context, j), (long long)right->dim[b]);
}

bool mw_shape_want_type(MwShapeContext *context, MwType *type)
{
    int64_t given = mw_shape_int(context, MW_ATTR_TYPE);
    *type = (MwType)given;
    return given != MW_TYPE_NOT_GIVEN || mw_shape_fail(context, "needs a type");
}

bool mw_shape_sum_type(MwShapeContext *context, MwType *type)
{
    const MwAttr *attr = mw_shape_attr(context, MW_ATTR_TYPE);
    if (!attr || attr->i == MW_TYPE_NOT_GIVEN || attr->i == (int64_t)*type)
        return true;
    if (!mw_type_is_half(*type) || attr->i != MW_F32)
        return mw_shape_fail(context,
                             "of %s cannot give %s: only sums of floats of 16 bits "
                             "can have another type, f32",
                             mw_type_name(*type), mw_type_name((MwType)attr->i));
    *type = MW_F32;
    return true;
}

/* Broadcasts `result` with operand `k`, aligned from the right. */
static bool broadcast_one(MwShapeContext *context, int from, int k, MwTensor *result)
{
    const MwTensor *operand = mw_shape_operand(context, k);
    MwTensor wide = operand->rank > result->rank ? *operand : *result;
    wide.type = result->type;
    for (int back = 1; back <= mw_min(operand->rank, result->rank); back++) {
        int64_t a = result->dim[result->rank - back], b = operand->dim[operand->rank - back];
        if (a != b && a != 1 && b != 1) {
            mw_shape_fail(context, "cannot combine %s and %s: their sizes do not broadcast",
                          mw_shape_text(context, mw_shape_operand(context, from)),
                          mw_shape_text(context, operand));
            return mw_shape_note(context, "dimension %d of %s is %lld, dimension %d of %s is %lld",
                                 result->rank - back, mw_shape_operand_name(context, from),
                                 (long long)a, operand->rank - back,
                                 mw_shape_operand_name(context, k), (long long)b);
        }
        wide.dim[wide.rank - back] = mw_max(a, b);
    }
    *result = wide;
    return true;
}

bool mw_shape_broadcast_operands(MwShapeContext *context, int from, int to, MwTensor *result)
{
    *result = *mw_shape_operand(context, from);
    for (int k = from + 1; k < to; k++)
        if (!broadcast_one(context, from, k, result))
            return false;
    return true;
}
