/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolutions and pooling: the arguments of their routines, whose operands are dense.
 *
 * The routines have three spatial dimensions; those that the operator lacks come first and have one
 * element. */
#include "codegen/legal/library_args.h"
#include "ir/node_windows.h"
#include "runtime/plan/routine.h"

static void fill_windows(const MwWindows *windows, MwPlanArg *args)
{
    for (int i = 0; i < MW_MAX_WINDOW_DIMS; i++) {
        const int d = i - (MW_MAX_WINDOW_DIMS - windows->count);
        const MwWindow one = {.in = 1, .out = 1, .size = 1, .stride = 1, .dilation = 1};
        const MwWindow *window = d < 0 ? &one : &windows->dim[d];
        args[MW_WINDOW_IN + i].i = window->in;
        args[MW_WINDOW_OUT + i].i = window->out;
        args[MW_WINDOW_SIZE + i].i = window->size;
        args[MW_WINDOW_STRIDE + i].i = window->stride;
        args[MW_WINDOW_DILATION + i].i = window->dilation;
        args[MW_WINDOW_BEFORE + i].i = window->before;
    }
}

void mw_arguments_conv(const MwLegal *legal, const MwNode *node, MwPlanArg *args)
{
    const MwWindows windows = mw_windows(legal->graph, node);
    const MwConvolved conv = mw_convolved(legal->graph, node);
    fill_windows(&windows, args);
    args[MW_WINDOW_TYPE].i = mw_product_type(legal->graph, conv.x->type);
    args[MW_WINDOW_BATCH].i = conv.x->dim[0];
    args[MW_WINDOW_CHANNELS].i = conv.x->dim[conv.x->rank - 1];
    args[MW_CONV_FEATURES].i = conv.y->dim[conv.y->rank - 1];
    args[MW_CONV_GROUPS].i = mw_conv_groups(conv.x, conv.filter);
    args[MW_CONV_FILTER_TYPE].i = conv.filter->type;
}

void mw_arguments_pool(const MwLegal *legal, const MwNode *node, MwPlanArg *args)
{
    const MwWindows windows = mw_windows(legal->graph, node);
    const MwPooled pool = mw_pooled(legal->graph, node);
    fill_windows(&windows, args);
    args[MW_WINDOW_TYPE].i = pool.x->type;
    args[MW_WINDOW_BATCH].i = pool.x->dim[0];
    args[MW_WINDOW_CHANNELS].i = pool.x->dim[pool.x->rank - 1];
}
