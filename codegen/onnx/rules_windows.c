/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolutions and pooling, which run with their channels first. */
#include "codegen/onnx/rules.h"

#include "ir/node_windows.h"

static const char *const depend_on_size = "windows that depend on an open size";

static MwType type_of(const MwWriter *writer, const MwNode *node)
{
    return mw_value_tensor(writer->graph, node->operands[0])->type;
}

/* An operand of a node in the type in which the operator of ONNX runs. */
static const char *put_wide(MwWriter *writer, const MwNode *node, const char *name)
{
    const MwType type = type_of(writer, node);
    return mw_writer_cast(writer, name, type, mw_writer_wide(type));
}

/* What it gives, in the type of the node. */
static const char *put_narrow(MwWriter *writer, const MwNode *node, const char *name)
{
    const MwType type = type_of(writer, node);
    return mw_writer_cast(writer, name, mw_writer_wide(type), type);
}

/* A convolution of operand 0 by operand 1, without attributes. */
static const char *put_convolution(MwWriter *writer, const char *op)
{
    const MwNode *node = writer->node;
    const char *image = mw_writer_in(writer, node->operands[0], MW_ORDER_CHANNELS_FIRST);
    image = put_wide(writer, node, image);
    const char *filter = mw_writer_filter(writer, node->operands[1]);
    return mw_writer_put2(writer, op, image, put_wide(writer, node, filter));
}

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
    return is || mw_writer_refuse(writer, depend_on_size);
}

bool mw_write_conv(MwWriter *writer, const char *op)
{
    const MwWindows windows = mw_windows(writer->graph, writer->node);
    const MwConvolved of = mw_convolved(writer->graph, writer->node);
    if (!has_fixed_windows(writer, writer->node, &windows))
        return false;
    const char *name = put_convolution(writer, op);
    put_windows(writer, &windows, true);
    mw_writer_int(writer, "group", mw_conv_groups(of.x, of.filter));
    return mw_writer_give(writer, 0, put_narrow(writer, writer->node, name),
                          MW_ORDER_CHANNELS_FIRST);
}

/* The elements behind those that the windows reach. */
static int64_t left_behind(const MwWindow *w)
{
    return w->in + w->before + w->after - (w->out - 1) * w->stride - (w->size - 1) * w->dilation -
           1;
}

/* Whether a transposed convolution leaves the same for all sizes. */
static bool has_fixed_rest(MwWriter *writer, const MwWindows *windows)
{
    bool is = true;
    for (int point = 1; point < mw_open_point_count(writer->open); point++) {
        const MwWindows other =
            mw_windows(writer->open->graphs[point], mw_writer_node_at(writer, point));
        for (int i = 0; i < windows->count; i++)
            is &= left_behind(&windows->dim[i]) == left_behind(&other.dim[i]);
    }
    return is || mw_writer_refuse(writer, depend_on_size);
}

/* What is left behind is `output_padding`. */
bool mw_write_conv_transpose(MwWriter *writer, const char *op)
{
    const MwWindows windows = mw_windows(writer->graph, writer->node);
    const MwConvolved of = mw_convolved(writer->graph, writer->node);
    int64_t left[MW_MAX_WINDOW_DIMS];
    if (!has_fixed_windows(writer, writer->node, &windows) || !has_fixed_rest(writer, &windows))
        return false;
    const char *name = put_convolution(writer, op);
    put_windows(writer, &windows, true);
    for (int i = 0; i < windows.count; i++)
        left[i] = left_behind(&windows.dim[i]);
    mw_writer_ints(writer, "output_padding", left, windows.count);
    mw_writer_int(writer, "group", mw_conv_groups(of.x, of.filter));
    return mw_writer_give(writer, 0, put_narrow(writer, writer->node, name),
                          MW_ORDER_CHANNELS_FIRST);
}

const char *mw_writer_pool(MwWriter *writer, const MwNode *node, const char *op)
{
    const MwWindows windows = mw_windows(writer->graph, node);
    if (!has_fixed_windows(writer, node, &windows))
        return NULL;
    const char *image = mw_writer_in(writer, node->operands[0], MW_ORDER_CHANNELS_FIRST);
    const char *name = mw_writer_put1(writer, op, put_wide(writer, node, image));
    put_windows(writer, &windows, false);
    if (node->op == MW_OP_SUM_POOL)
        mw_writer_int(writer, "count_include_pad", 1);
    return put_narrow(writer, node, name);
}

bool mw_write_max_pool(MwWriter *writer, const char *op)
{
    const char *name = mw_writer_pool(writer, writer->node, op);
    return name && mw_writer_give(writer, 0, name, MW_ORDER_CHANNELS_FIRST);
}
