/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of the graph under names of ONNX, in the order of dimensions that is asked for. */
#include "codegen/onnx/writer.h"

/* Nodes of a value are added where it is made: in the body of its scan, or in the model. Returns
 * where nodes were added before. */
static MwWrittenNodes *go_to(MwWriter *writer, MwValueId value)
{
    MwWrittenNodes *before = writer->target;
    const int loop = writer->loops.of_value[value.index];
    writer->target = loop >= 0 ? &writer->scans[loop].body : &writer->nodes;
    return before;
}

/* perm[i] is the dimension in one order that is dimension i in the other. */
static void order_perm(int rank, MwDimOrder to, int64_t *perm)
{
    for (int d = 0; d < rank; d++)
        if (to == MW_ORDER_CHANNELS_FIRST)
            perm[mw_writer_axis(rank, d, MW_ORDER_CHANNELS_FIRST)] = d;
        else
            perm[d] = mw_writer_axis(rank, d, MW_ORDER_CHANNELS_FIRST);
}

static const char *reorder(MwWriter *writer, const char *name, int rank, MwDimOrder to)
{
    int64_t perm[MW_MAX_RANK];
    order_perm(rank, to, perm);
    return mw_writer_transpose(writer, name, perm, rank);
}

/* ---- What is made where it is asked for ---- */

bool mw_writer_constant(const MwWriter *writer, MwValueId value, double *number)
{
    const MwNode *node = mw_value_node(writer->graph, value);
    if (node->op == MW_OP_BROADCAST || node->op == MW_OP_RESHAPE)
        return mw_writer_constant(writer, node->operands[0], number);
    if (node->op != MW_OP_CONSTANT)
        return false;
    *number = mw_node_float(node, MW_ATTR_VALUE);
    bool same = true;
    for (int point = 1; point < mw_open_point_count(writer->open); point++)
        same &= mw_node_float(mw_value_node(writer->open->graphs[point], value), MW_ATTR_VALUE) ==
                *number;
    return same;
}

/* The numbers of an iota, with dimensions of 1 around them. */
static const char *put_iota(MwWriter *writer, MwValueId value)
{
    const MwTensor *tensor = mw_value_tensor(writer->graph, value);
    const int axis = (int)mw_node_int(mw_value_node(writer->graph, value), MW_ATTR_AXIS);
    int64_t axes[MW_MAX_RANK];
    int count = 0;
    for (int d = 0; d < tensor->rank; d++)
        if (d != axis)
            axes[count++] = d;
    const char *range = mw_writer_range(writer, mw_writer_dim(writer, value, axis));
    return mw_writer_unsqueeze(writer, mw_writer_cast(writer, range, MW_I64, tensor->type), axes,
                               count);
}

/* What stretches to a value that is made where it is asked for, and its rank; NULL: it is another
 * value, or one that is written. */
static const char *stretching(MwWriter *writer, MwValueId value, int *rank)
{
    const MwNode *node = mw_value_node(writer->graph, value);
    const MwTensor *tensor = mw_value_tensor(writer->graph, value);
    double number;
    *rank = tensor->rank;
    switch (node->op) {
    case MW_OP_CONSTANT:
        *rank = 0;
        if (mw_writer_constant(writer, value, &number))
            return mw_writer_number(writer, tensor->type, number);
        mw_diag_error(writer->diags, node->origin.span,
                      "'%s' depends on an open size, in a way that ONNX has no expression for here",
                      mw_value(writer->graph, value)->name);
        return mw_writer_number(writer, tensor->type, 0);
    case MW_OP_IOTA:
        return put_iota(writer, value);
    case MW_OP_BROADCAST: {
        const char *name = stretching(writer, node->operands[0], rank);
        if (name)
            return name;
        *rank = mw_value_tensor(writer->graph, node->operands[0])->rank;
        return mw_writer_in(writer, node->operands[0], MW_ORDER_OWN);
    }
    default:
        return NULL;
    }
}

/* The value with all of its dimensions. */
static const char *put_value(MwWriter *writer, MwValueId value)
{
    const MwNode *node = mw_value_node(writer->graph, value);
    const MwTensor *tensor = mw_value_tensor(writer->graph, value);
    int rank;
    if (node->op == MW_OP_WEIGHT || node->op == MW_OP_STATE)
        return mw_writer_weight(writer, value, NULL);
    const char *name = stretching(writer, value, &rank);
    MW_ASSERT(name);
    const bool is_range = tensor->rank == 1 && node->op == MW_OP_IOTA;
    if (tensor->rank == 0 || (is_range && tensor->type != MW_I64)) /* a range of i64 is shared */
        return name;
    return mw_writer_put2(writer, "Expand", name, mw_writer_shape(writer, value, false));
}

/* ---- Names ---- */

/* Names that are kept are copies, so that mw_writer_give tells them from results of the last node,
 * which nothing takes yet. */
static const char *keep(MwWriter *writer, const char *name)
{
    return mw_arena_strdup(writer->arena, name);
}

const char *mw_writer_in(MwWriter *writer, MwValueId value, MwDimOrder order)
{
    const char **names = writer->name[value.index];
    const int rank = mw_value_tensor(writer->graph, value)->rank;
    MW_ASSERT(order == MW_ORDER_OWN || rank >= 3);
    if (names[order])
        return names[order];
    MwWrittenNodes *before = go_to(writer, value);
    if (!names[MW_ORDER_OWN] && !names[MW_ORDER_CHANNELS_FIRST])
        names[MW_ORDER_OWN] = keep(writer, put_value(writer, value));
    if (!names[order])
        names[order] = keep(writer, reorder(writer, names[!order], rank, order));
    writer->target = before;
    return names[order];
}

const char *mw_writer_operand(MwWriter *writer, int k)
{
    return mw_writer_in(writer, writer->node->operands[k], MW_ORDER_OWN);
}

bool mw_writer_is_channels_first(const MwWriter *writer, MwValueId value)
{
    const char *const *names = writer->name[value.index];
    return names[MW_ORDER_CHANNELS_FIRST] && !names[MW_ORDER_OWN];
}

const char *mw_writer_stretched(MwWriter *writer, MwValueId value, int rank, MwDimOrder order,
                                bool may_lack)
{
    const char *name = NULL;
    int own = mw_value_tensor(writer->graph, value)->rank;
    MwWrittenNodes *before = go_to(writer, value);
    if (may_lack && !writer->name[value.index][order])
        name = stretching(writer, value, &own);
    if (!name && (order == MW_ORDER_OWN || own == rank))
        name = mw_writer_in(writer, value, order);
    else {
        if (!name)
            name = mw_writer_in(writer, value, MW_ORDER_OWN);
        if (order == MW_ORDER_CHANNELS_FIRST && own > 0) {
            int64_t axes[MW_MAX_RANK];
            const bool is_vector = own == 1; /* of channels: [c, 1, 1] stretches as it is */
            const int added = is_vector ? rank - 2 : rank - own;
            for (int i = 0; i < added; i++)
                axes[i] = is_vector ? i + 1 : i;
            name = mw_writer_unsqueeze(writer, name, axes, added);
            if (!is_vector)
                name = reorder(writer, name, rank, order);
        }
    }
    writer->target = before;
    return name;
}

/* A name for the value in an order; where it is an output, only its own order has its name. */
static const char *new_name(MwWriter *writer, MwValueId value, MwDimOrder order)
{
    return order == MW_ORDER_OWN || !writer->is_named[value.index]
               ? mw_writer_value_name(writer, value)
               : mw_writer_name(writer, mw_arena_printf(writer->arena, "%s.channels_first",
                                                        mw_value(writer->graph, value)->name));
}

bool mw_writer_give(MwWriter *writer, int k, const char *name, MwDimOrder order)
{
    const MwValueId value = mw_writer_result(writer, k);
    MwOnnx__NodeProto *last = writer->target->count ? mw_vec_last(writer->target) : NULL;
    for (size_t i = 0; last && i < last->n_output; i++)
        if (last->output[i] == name)
            name = last->output[i] = (char *)new_name(writer, value, order);
    writer->name[value.index][order] = keep(writer, name);
    return true;
}

bool mw_writer_alias(MwWriter *writer)
{
    const MwValueId from = writer->node->operands[0];
    const char **to = writer->name[mw_writer_result(writer, 0).index];
    if (!mw_writer_is_channels_first(writer, from))
        mw_writer_in(writer, from, MW_ORDER_OWN);
    for (int order = 0; order < MW_ORDER_COUNT; order++)
        to[order] = writer->name[from.index][order];
    return true;
}

/* ---- Users ---- */

const MwNode *mw_writer_only_user(const MwWriter *writer, MwValueId value)
{
    return writer->uses[value.index] == 1 && writer->user[value.index] >= 0
               ? &writer->graph->nodes.at[writer->user[value.index]]
               : NULL;
}

/* ---- Filters ---- */

/* A filter [sizes.., channels, features] is [features, channels, sizes..] in ONNX. */
const char *mw_writer_filter(MwWriter *writer, MwValueId value)
{
    const MwNode *node = mw_value_node(writer->graph, value);
    const int rank = mw_value_tensor(writer->graph, value)->rank;
    int64_t perm[MW_MAX_RANK] = {rank - 1, rank - 2};
    for (int d = 2; d < rank; d++)
        perm[d] = d - 2;
    if (mw_op_is_data(node->op) && node->op != MW_OP_INPUT &&
        writer->filters[value.index] == writer->uses[value.index]) {
        const char **filter = &writer->filter_name[value.index]; /* the only form of the weight */
        if (!*filter)
            *filter = mw_writer_weight(writer, value, perm);
        return *filter;
    }
    MwWrittenNodes *before = go_to(writer, value);
    const char *name =
        mw_writer_transpose(writer, mw_writer_in(writer, value, MW_ORDER_OWN), perm, rank);
    writer->target = before;
    return name;
}
