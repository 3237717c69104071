/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolutions and pooling, which run with their channels first. */
#include "codegen/onnx/rules.h"

#include "ir/node_windows.h"

/* Attributes of the windows of a node; `dilates`: convolutions have a dilation. */
static void put_windows(MwWriter *writer, const MwWindows *windows, bool dilates)
{
    int64_t size[MW_MAX_WINDOW_DIMS], stride[MW_MAX_WINDOW_DIMS], dilation[MW_MAX_WINDOW_DIMS];
    int64_t pads[2 * MW_MAX_WINDOW_DIMS]; /* all before, then all after */
    for (int i = 0; i < windows->count; i++) {
        const MwWindow *window = &windows->dim[i];
        size[i] = window->size;
        stride[i] = window->stride;
        dilation[i] = window->dilation;
        pads[i] = window->before;
        pads[windows->count + i] = window->after;
    }
    mw_writer_ints(writer, "kernel_shape", size, windows->count);
    mw_writer_ints(writer, "strides", stride, windows->count);
    mw_writer_ints(writer, "pads", pads, 2 * windows->count);
    if (dilates)
        mw_writer_ints(writer, "dilations", dilation, windows->count);
}

/* Whether padding, strides and sizes of windows are the same for all sizes; that of what they slide
 * over need not be. */
static bool has_fixed_windows(MwWriter *writer, const MwNode *node, const MwWindows *windows)
{
    const int index = (int)(node - writer->graph->nodes.at);
    bool is = true;
    for (int point = 1; point < mw_open_point_count(writer->open); point++) {
        const MwGraph *graph = writer->open->graphs[point];
        const MwWindows other = mw_windows(graph, &graph->nodes.at[index]);
        for (int i = 0; i < windows->count; i++) {
            const MwWindow *a = &windows->dim[i], *b = &other.dim[i];
            is &= a->size == b->size && a->stride == b->stride && a->dilation == b->dilation &&
                  a->before == b->before && a->after == b->after;
        }
    }
    return is || mw_writer_refuse(writer, "windows that depend on an open size");
}

bool mw_write_conv(MwWriter *writer, const char *op)
{
    const MwWindows windows = mw_windows(writer->graph, writer->node);
    const MwConvolved of = mw_convolved(writer->graph, writer->node);
    if (!has_fixed_windows(writer, writer->node, &windows))
        return false;
    const char *x = mw_writer_in(writer, writer->node->operands[0], MW_ORDER_CHANNELS_FIRST);
    const char *name =
        mw_writer_put2(writer, op, x, mw_writer_filter(writer, writer->node->operands[1]));
    put_windows(writer, &windows, true);
    mw_writer_int(writer, "group", mw_conv_groups(of.x, of.filter));
    return mw_writer_give(writer, 0, name, MW_ORDER_CHANNELS_FIRST);
}

/* The elements behind those that the windows reach are `output_padding`. */
bool mw_write_conv_transpose(MwWriter *writer, const char *op)
{
    const MwWindows windows = mw_windows(writer->graph, writer->node);
    const MwConvolved of = mw_convolved(writer->graph, writer->node);
    int64_t left[MW_MAX_WINDOW_DIMS];
    if (!has_fixed_windows(writer, writer->node, &windows))
        return false;
    const char *y = mw_writer_in(writer, writer->node->operands[0], MW_ORDER_CHANNELS_FIRST);
    const char *name =
        mw_writer_put2(writer, op, y, mw_writer_filter(writer, writer->node->operands[1]));
    put_windows(writer, &windows, true);
    for (int i = 0; i < windows.count; i++) {
        const MwWindow *w = &windows.dim[i];
        left[i] = w->in + w->before + w->after - (w->out - 1) * w->stride -
                  (w->size - 1) * w->dilation - 1;
    }
    mw_writer_ints(writer, "output_padding", left, windows.count);
    mw_writer_int(writer, "group", mw_conv_groups(of.x, of.filter));
    return mw_writer_give(writer, 0, name, MW_ORDER_CHANNELS_FIRST);
}

const char *mw_writer_pool(MwWriter *writer, const MwNode *node, const char *op)
{
    const MwWindows windows = mw_windows(writer->graph, node);
    if (!has_fixed_windows(writer, node, &windows))
        return NULL;
    const char *name = mw_writer_put1(
        writer, op, mw_writer_in(writer, node->operands[0], MW_ORDER_CHANNELS_FIRST));
    put_windows(writer, &windows, false);
    if (node->op == MW_OP_SUM_POOL)
        mw_writer_int(writer, "count_include_pad", 1);
    return name;
}

bool mw_write_max_pool(MwWriter *writer, const char *op)
{
    const char *name = mw_writer_pool(writer, writer->node, op);
    return name && mw_writer_give(writer, 0, name, MW_ORDER_CHANNELS_FIRST);
}
