/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shape rule of contractions. */
#include "ir/einsum.h"
#include "ir/shape/rules.h"

/* Sets size[letter] from operand `k`. An error names the two sizes that disagree. */
static bool bind_sizes(MwShapeContext *context, const MwEinsum *einsum, int k, int64_t *size)
{
    const MwTensor *operand = mw_shape_operand(context, k);
    if (operand->rank != einsum->rank[k])
        return mw_shape_fail(context, "\"%s\" has %d letters for %s, %s",
                             mw_shape_attr(context, MW_ATTR_EQUATION)->text, einsum->rank[k],
                             mw_shape_operand_name(context, k), mw_shape_text(context, operand));
    for (int d = 0; d < operand->rank; d++) {
        int letter = einsum->operand[k][d];
        if (size[letter] && size[letter] != operand->dim[d]) {
            mw_shape_fail(context, "\"%s\" cannot combine %s and %s",
                          mw_shape_attr(context, MW_ATTR_EQUATION)->text,
                          mw_shape_text(context, mw_shape_operand(context, 0)),
                          mw_shape_text(context, operand));
            return mw_shape_note(context, "letter '%c' is %lld in the left and %lld in the right",
                                 einsum->letter[letter], (long long)size[letter],
                                 (long long)operand->dim[d]);
        }
        size[letter] = operand->dim[d];
    }
    return true;
}

/* A product of floats of 8 bits, which may differ, gives the type that it says. */
static bool product_of_fp8(MwShapeContext *context, MwType *type)
{
    const int64_t given = mw_shape_int(context, MW_ATTR_TYPE);
    *type = (MwType)given;
    if (given == MW_F32 || given == MW_BF16)
        return true;
    mw_shape_fail(context, "of floats of 8 bits gives bf16 or f32, not %s",
                  given == MW_TYPE_NOT_GIVEN ? "these" : mw_type_name((MwType)given));
    return mw_shape_note(context,
                         "say which, for instance einsum(\"ij,jk->ik\", a, b, type = bf16)");
}

static bool product_type(MwShapeContext *context, MwType *type)
{
    const int count = context->query->operand_count;
    if (count == 2 && mw_type_is_fp8(mw_shape_operand(context, 0)->type) &&
        mw_type_is_fp8(mw_shape_operand(context, 1)->type))
        return product_of_fp8(context, type);
    for (int k = 0; k < count; k++)
        if (!mw_shape_want_float(context, k))
            return false;
    *type = mw_shape_operand(context, 0)->type;
    return mw_shape_want_same_types(context, 0, count) && mw_shape_sum_type(context, type);
}

bool mw_shape_einsum(MwShapeContext *context)
{
    const char *equation = mw_shape_attr(context, MW_ATTR_EQUATION)->text;
    MwEinsum einsum;
    const char *wrong = mw_einsum_parse(equation, &einsum);
    if (wrong)
        return mw_shape_fail(context, "cannot read \"%s\": %s", equation, wrong);
    if (einsum.operand_count > 2)
        return mw_shape_fail(context, "contracts one operand or two, not %d", einsum.operand_count);
    if (einsum.operand_count != context->query->operand_count)
        return mw_shape_fail(context, "\"%s\" is for %d operands, not for %d", equation,
                             einsum.operand_count, context->query->operand_count);
    int64_t size[MW_EINSUM_MAX_LETTERS] = {0};
    for (int k = 0; k < einsum.operand_count; k++)
        if (!bind_sizes(context, &einsum, k, size))
            return false;
    MwTensor result = mw_tensor_scalar(MW_F32);
    if (!product_type(context, &result.type))
        return false;
    for (int d = 0; d < einsum.result_rank; d++)
        result.dim[result.rank++] = size[einsum.result[d]];
    return mw_shape_give(context, &result);
}
