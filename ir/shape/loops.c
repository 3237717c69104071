/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shape rules of the operators that mark the border of a loop. */
#include "ir/shape/rules.h"

#include <string.h>

static bool check_loop(MwShapeContext *context)
{
    const MwAttr *steps = mw_shape_attr(context, MW_ATTR_STEPS);
    const int64_t loop = mw_shape_int(context, MW_ATTR_LOOP), most = INT32_MAX;
    if (loop < 0 || loop >= most)
        return mw_shape_fail(context, "has no loop %lld", (long long)loop);
    if (steps && (steps->i < 1 || steps->i > most))
        return mw_shape_fail(context, "cannot take %lld steps", (long long)steps->i);
    return true;
}

bool mw_shape_scan_in(MwShapeContext *context)
{
    MwTensor result = *mw_shape_operand(context, 0);
    int axis;
    if (!check_loop(context) || !mw_shape_want_axis(context, MW_ATTR_AXIS, &result, &axis))
        return false;
    result.rank--;
    memmove(&result.dim[axis], &result.dim[axis + 1],
            sizeof *result.dim * (size_t)(result.rank - axis));
    return mw_shape_give(context, &result);
}

bool mw_shape_scan_carry(MwShapeContext *context)
{
    return check_loop(context) && mw_shape_give(context, mw_shape_operand(context, 0));
}

bool mw_shape_scan_next(MwShapeContext *context)
{
    return check_loop(context) && mw_shape_want_like(context, 0, 1, true) &&
           mw_shape_give(context, mw_shape_operand(context, 0));
}

bool mw_shape_scan_out(MwShapeContext *context)
{
    const MwTensor *operand = mw_shape_operand(context, 0);
    const int64_t axis = mw_shape_int(context, MW_ATTR_AXIS);
    if (!check_loop(context))
        return false;
    if (operand->rank == MW_MAX_RANK)
        return mw_shape_fail(context, "would give %d dimensions; at most %d are possible",
                             operand->rank + 1, MW_MAX_RANK);
    if (axis < 0 || axis > operand->rank)
        return mw_shape_fail(context, "cannot insert dimension %lld into %s", (long long)axis,
                             mw_shape_text(context, operand));
    MwTensor result = *operand;
    memmove(&result.dim[axis + 1], &result.dim[axis],
            sizeof *result.dim * (size_t)(result.rank - axis));
    result.dim[axis] = mw_shape_int(context, MW_ATTR_STEPS);
    result.rank++;
    return mw_shape_give(context, &result);
}
