/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients of convolutions and pooling.
 *
 * x, filter and y of a convolution are bound by one form that is linear in each, the sum over all
 * positions and taps of x filter y. Each of the three operators is its derivative by one of them,
 * so the gradient of one by an operand is another of them, on the other operand and d. */
#include "passes/graph/gradients.h"

#include "ir/build.h"

/* The attribute of the operand's shape, followed by those attributes of the node that say how
 * windows lie. */
enum { MAX_ATTRS = 6 };

typedef struct {
    MwAttr at[MAX_ATTRS];
    int count;
} Attrs;

static void keep(Attrs *attrs, const MwNode *node, MwAttrKey key)
{
    const MwAttr *attr = mw_node_attr(node, key);
    if (attr)
        attrs->at[attrs->count++] = *attr;
}

static void keep_windows(Attrs *attrs, const MwNode *node)
{
    keep(attrs, node, MW_ATTR_WINDOW);
    keep(attrs, node, MW_ATTR_STRIDE);
    keep(attrs, node, MW_ATTR_PADDING);
    keep(attrs, node, MW_ATTR_DILATION);
}

/* ---- Convolutions ---- */

/* Sets the gradient by operand k, that of `op` on `a` and `b`. */
static void set_conv(MwGradient *g, int k, MwOp op, MwValueId a, MwValueId b)
{
    if (!g->wanted[k])
        return;
    const MwTensor operand = mw_gradient_tensor(g, k);
    Attrs attrs = {0};
    if (op != MW_OP_CONV)
        attrs.at[attrs.count++] = mw_attr_shape(g->graph->arena, &operand);
    if (op == MW_OP_CONV_FILTER_GRAD) {
        const bool widens = operand.type != g->types[k];
        attrs.at[attrs.count++] =
            mw_attr_int(MW_ATTR_TYPE, widens ? (int)g->types[k] : MW_TYPE_NOT_GIVEN);
    }
    keep_windows(&attrs, &g->node);
    g->operands[k] = mw_build(g->graph, NULL, op, (MwValueId[]){a, b}, 2, attrs.at, attrs.count);
}

/* The gradient by the result in the type of the operands. */
static MwValueId narrow(MwGradient *g)
{
    return mw_build_cast(g->graph, g->results[0], mw_gradient_tensor(g, 0).type);
}

void mw_gradient_conv(MwGradient *g)
{
    const MwValueId x = mw_gradient_operand(g, 0), filter = mw_gradient_operand(g, 1);
    const MwValueId d = narrow(g);
    set_conv(g, 0, MW_OP_CONV_TRANSPOSE, d, filter);
    set_conv(g, 1, MW_OP_CONV_FILTER_GRAD, x, d);
}

void mw_gradient_conv_transpose(MwGradient *g)
{
    const MwValueId y = mw_gradient_operand(g, 0), filter = mw_gradient_operand(g, 1);
    const MwValueId d = narrow(g);
    set_conv(g, 0, MW_OP_CONV, d, filter);
    set_conv(g, 1, MW_OP_CONV_FILTER_GRAD, d, y);
}

void mw_gradient_conv_filter_grad(MwGradient *g)
{
    const MwValueId x = mw_gradient_operand(g, 0), y = mw_gradient_operand(g, 1);
    const MwValueId d = narrow(g);
    set_conv(g, 0, MW_OP_CONV_TRANSPOSE, y, d);
    set_conv(g, 1, MW_OP_CONV, x, d);
}

/* ---- Pooling ---- */

/* `op` on x, operand 0, and the gradient by the result. */
static MwValueId at_maxima(MwGradient *g, MwOp op)
{
    Attrs attrs = {0};
    keep_windows(&attrs, &g->node);
    const MwValueId operands[] = {mw_gradient_operand(g, 0), g->results[0]};
    return mw_build(g->graph, NULL, op, operands, 2, attrs.at, attrs.count);
}

void mw_gradient_max_pool(MwGradient *g)
{
    g->operands[0] = at_maxima(g, MW_OP_MAX_POOL_GRAD);
}

/* Both are linear in operand 1, and each is the transpose of the other. Where maxima lie does not
 * change with x but at kinks. */
void mw_gradient_max_pool_grad(MwGradient *g)
{
    if (g->wanted[1])
        g->operands[1] = at_maxima(g, MW_OP_MAX_POOL_PICK);
}

void mw_gradient_max_pool_pick(MwGradient *g)
{
    if (g->wanted[1])
        g->operands[1] = at_maxima(g, MW_OP_MAX_POOL_GRAD);
}

void mw_gradient_sum_pool(MwGradient *g)
{
    const MwTensor x = mw_gradient_tensor(g, 0);
    Attrs attrs = {.at = {mw_attr_shape(g->graph->arena, &x)}, .count = 1};
    keep_windows(&attrs, &g->node);
    g->operands[0] =
        mw_build(g->graph, NULL, MW_OP_SUM_POOL_GRAD, g->results, 1, attrs.at, attrs.count);
}

void mw_gradient_sum_pool_grad(MwGradient *g)
{
    Attrs attrs = {0};
    keep_windows(&attrs, &g->node);
    g->operands[0] = mw_build(g->graph, NULL, MW_OP_SUM_POOL, g->results, 1, attrs.at, attrs.count);
}
