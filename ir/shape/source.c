/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shape rules of nodes without operands: their type is given or follows from their attributes. */
#include "base/init.h"
#include "ir/shape/rules.h"

#include <string.h>

/* Checks the initialiser of a weight or state. */
static bool check_initialiser(MwShapeContext *context)
{
    const char *text = mw_shape_attr(context, MW_ATTR_INIT)->text;
    MwInit init;
    if (!mw_init_parse(text, &init))
        return mw_shape_fail(context, "has no initialiser \"%s\"", text);
    const MwInitInfo *info = mw_init_info(init);
    if (info->is_random && !mw_type_is_float(context->query->given->type))
        return mw_shape_fail(context,
                             "of type %s cannot begin as %s: that needs a floating-point "
                             "type",
                             mw_type_name(context->query->given->type), text);
    double value = mw_shape_float(context, MW_ATTR_VALUE);
    if (!info->number && value != 0)
        return mw_shape_fail(context, "begins as %s, which takes no value", text);
    if (value - value != 0)
        return mw_shape_fail(context, "needs a finite initialiser, not %g", value);
    if (init == MW_INIT_CONSTANT && !mw_type_holds(context->query->given->type, value))
        return mw_shape_fail(context, "begins as %.17g, which is no value of type %s", value,
                             mw_type_name(context->query->given->type));
    if (info->is_random && value < 0)
        return mw_shape_fail(context, "begins as %s, which takes a value of at least 0, not %.15g",
                             text, value);
    return true;
}

static bool check_given(MwShapeContext *context)
{
    const MwTensor *given = context->query->given;
    for (int d = 0; d < given->rank; d++)
        if (given->dim[d] < 1)
            return mw_shape_fail(context, "has size %lld in dimension %d; sizes are at least 1",
                                 (long long)given->dim[d], d);
    return true;
}

bool mw_shape_given(MwShapeContext *context)
{
    MW_ASSERT(context->query->given != NULL);
    if (!check_given(context) ||
        (mw_shape_attr(context, MW_ATTR_INIT) && !check_initialiser(context)))
        return false;
    return mw_shape_give(context, context->query->given);
}

bool mw_shape_step(MwShapeContext *context)
{
    MwTensor step = mw_tensor_scalar(MW_I32);
    MW_ASSERT(!context->query->given || mw_tensor_equal(context->query->given, &step));
    return mw_shape_give(context, &step);
}

static bool want_shape_and_type(MwShapeContext *context, MwTensor *result)
{
    const MwAttr *shape = mw_shape_attr(context, MW_ATTR_SHAPE);
    MwType type;
    if (!mw_shape_want_type(context, &type))
        return false;
    *result = mw_tensor(type, shape->ints.count, shape->ints.at);
    return true;
}

bool mw_shape_constant(MwShapeContext *context)
{
    MwTensor result;
    if (!want_shape_and_type(context, &result))
        return false;
    double value = mw_shape_float(context, MW_ATTR_VALUE);
    if (!mw_type_holds(result.type, value))
        return mw_shape_fail(context, "%.17g is no value of type %s", value,
                             mw_type_name(result.type));
    return mw_shape_give(context, &result);
}

bool mw_shape_receive(MwShapeContext *context)
{
    MwTensor result;
    return want_shape_and_type(context, &result) && mw_shape_give(context, &result);
}

bool mw_shape_uniform(MwShapeContext *context)
{
    const MwAttr *shape = mw_shape_attr(context, MW_ATTR_SHAPE);
    MwTensor result = mw_tensor(MW_F32, shape->ints.count, shape->ints.at);
    return mw_shape_give(context, &result);
}

bool mw_shape_iota(MwShapeContext *context)
{
    MwTensor result;
    int axis;
    if (!want_shape_and_type(context, &result) ||
        !mw_shape_want_axis(context, MW_ATTR_AXIS, &result, &axis))
        return false;
    if (result.type == MW_BOOL)
        return mw_shape_fail(context, "counts in numbers, not in bool");
    return mw_shape_give(context, &result);
}
