/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of simplify that take work out of loops. A product of the element of a step and of what no
 * step changes is the element of one product of all steps, before the loop: one large product
 * instead of many small ones, as cuDNN computes the part of a recurrence that its states do not
 * enter (Appleyard et al., "Optimizing Performance of Recurrent Neural Networks on GPUs", 2016,
 * section 3.2). */
#include "passes/graph/simplify_rules.h"

#include "ir/einsum.h"

/* What the operands of a product are elements of. */
typedef struct {
    const MwNode *scan; /* a scan_in that gives one; NULL: none does */
    MwValueId whole[MW_EINSUM_MAX_OPERANDS];
    int axis[MW_EINSUM_MAX_OPERANDS]; /* of the steps; -1: no step changes the operand */
} Elements;

/* False if an operand is made in the loop, or if two are of different steps. */
static bool find_elements(const MwSimplifyContext *context, Elements *elements)
{
    const MwGraph *to = context->rewrite->to;
    elements->scan = NULL;
    for (int k = 0; k < context->node->operand_count; k++) {
        const MwNode *maker = mw_value_node(to, context->operands[k]);
        elements->whole[k] = context->operands[k];
        elements->axis[k] = -1;
        if (context->loops->of_value[context->node->operands[k].index] < 0)
            continue;
        if (maker->op != MW_OP_SCAN_IN ||
            (elements->scan &&
             mw_node_int(maker, MW_ATTR_REVERSE) != mw_node_int(elements->scan, MW_ATTR_REVERSE)))
            return false;
        elements->scan = maker;
        elements->whole[k] = maker->operands[0];
        elements->axis[k] = (int)mw_node_int(maker, MW_ATTR_AXIS);
    }
    return elements->scan != NULL;
}

/* An einsum of elements of a scan: an element of the einsum of all. The steps are the first but one
 * of its dimensions, behind the batch. */
static MwValueId simplify_einsum(const MwSimplifyContext *context)
{
    MwGraph *to = context->rewrite->to;
    const MwNode *node = context->node;
    Elements elements;
    MwEinsum einsum;
    MW_ASSERT(!mw_einsum_parse(mw_node_text(node, MW_ATTR_EQUATION), &einsum));
    if (node->operand_count > MW_EINSUM_MAX_OPERANDS || !find_elements(context, &elements))
        return mw_no_value();
    const int axis = einsum.result_rank > 0;
    const char *equation = mw_einsum_extend(to->arena, &einsum, elements.axis, axis);
    if (!equation)
        return mw_no_value();
    const MwAttr attrs[] = {
        mw_attr_text(MW_ATTR_EQUATION, mw_intern(to->interner, equation)),
        mw_attr_int(MW_ATTR_TYPE, mw_node_int(node, MW_ATTR_TYPE)),
    };
    const MwAttr scan[] = {
        mw_attr_int(MW_ATTR_AXIS, axis),
        mw_attr_int(MW_ATTR_LOOP, mw_node_int(elements.scan, MW_ATTR_LOOP)),
        mw_attr_int(MW_ATTR_REVERSE, mw_node_int(elements.scan, MW_ATTR_REVERSE)),
    };
    MwValueId all = mw_simplify_emit(context, MW_OP_EINSUM, elements.whole, node->operand_count,
                                     attrs, MW_COUNT(attrs));
    return mw_simplify_emit(context, MW_OP_SCAN_IN, &all, 1, scan, MW_COUNT(scan));
}

MwValueId mw_simplify_loop(const MwSimplifyContext *context)
{
    return context->node->op == MW_OP_EINSUM ? simplify_einsum(context) : mw_no_value();
}
