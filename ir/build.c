/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/build.h"

MwNodeId mw_build_node(MwGraph *graph, const MwNodeSpec *spec)
{
    MwDiags *diags = mw_diags_new(graph->arena);
    MwNodeId node = mw_graph_add(graph, spec, diags);
    if (node.index < 0) {
        mw_diags_print(diags, stderr);
        MW_UNREACHABLE();
    }
    return node;
}

MwValueId mw_build(MwGraph *graph, const char *name, MwOp op, const MwValueId *operands, int count,
                   const MwAttr *attrs, int attr_count)
{
    MwNodeSpec spec = {.op = op,
                       .operands = operands,
                       .operand_count = count,
                       .attrs = attrs,
                       .attr_count = attr_count,
                       .name = name};
    return mw_node_result(graph, mw_build_node(graph, &spec), 0);
}

MwValueId mw_build_unary(MwGraph *graph, MwOp op, MwValueId x)
{
    return mw_build(graph, NULL, op, &x, 1, NULL, 0);
}

MwValueId mw_build_binary(MwGraph *graph, MwOp op, MwValueId a, MwValueId b)
{
    return mw_build(graph, NULL, op, (MwValueId[]){a, b}, 2, NULL, 0);
}

MwValueId mw_build_select(MwGraph *graph, MwValueId condition, MwValueId a, MwValueId b)
{
    return mw_build(graph, NULL, MW_OP_SELECT, (MwValueId[]){condition, a, b}, 3, NULL, 0);
}

MwAttr mw_attr_shape(MwArena *arena, const MwTensor *tensor)
{
    int64_t *dims = mw_arena_dup(arena, tensor->dim, sizeof(int64_t) * (size_t)tensor->rank);
    return mw_attr_ints(MW_ATTR_SHAPE, dims, tensor->rank);
}

MwValueId mw_build_constant(MwGraph *graph, const MwTensor *tensor, double value)
{
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, tensor->type), mw_attr_shape(graph->arena, tensor),
                      mw_attr_float(MW_ATTR_VALUE, value)};
    return mw_build(graph, NULL, MW_OP_CONSTANT, NULL, 0, attrs, MW_COUNT(attrs));
}

MwValueId mw_build_scalar(MwGraph *graph, double value)
{
    MwTensor scalar = mw_tensor_scalar(MW_F32);
    return mw_build_constant(graph, &scalar, value);
}

MwValueId mw_build_cast(MwGraph *graph, MwValueId x, MwType type)
{
    if (mw_value_tensor(graph, x)->type == type)
        return x;
    MwAttr attr = mw_attr_int(MW_ATTR_TYPE, type);
    return mw_build(graph, NULL, MW_OP_CAST, &x, 1, &attr, 1);
}

static MwValueId build_shaped(MwGraph *graph, MwOp op, MwValueId x, const MwTensor *shape)
{
    if (mw_tensor_same_shape(mw_value_tensor(graph, x), shape))
        return x;
    MwAttr attr = mw_attr_shape(graph->arena, shape);
    return mw_build(graph, NULL, op, &x, 1, &attr, 1);
}

MwValueId mw_build_reshape(MwGraph *graph, MwValueId x, const MwTensor *shape)
{
    return build_shaped(graph, MW_OP_RESHAPE, x, shape);
}

MwValueId mw_build_broadcast(MwGraph *graph, MwValueId x, const MwTensor *shape)
{
    return build_shaped(graph, MW_OP_BROADCAST, x, shape);
}

MwValueId mw_build_slice(MwGraph *graph, MwValueId x, int dim, int64_t begin, int64_t end)
{
    if (begin == 0 && end == mw_value_tensor(graph, x)->dim[dim])
        return x;
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, dim), mw_attr_int(MW_ATTR_BEGIN, begin),
                            mw_attr_int(MW_ATTR_END, end)};
    return mw_build(graph, NULL, MW_OP_SLICE, &x, 1, attrs, MW_COUNT(attrs));
}

MwValueId mw_build_concat(MwGraph *graph, const MwValueId *parts, int count, int dim)
{
    const MwAttr axis = mw_attr_int(MW_ATTR_AXIS, dim);
    return count == 1 ? parts[0] : mw_build(graph, NULL, MW_OP_CONCAT, parts, count, &axis, 1);
}

/* `type` is that of the result, or MW_TYPE_NOT_GIVEN. */
static MwValueId build_sum(MwGraph *graph, MwValueId x, unsigned dims, bool keep, int type)
{
    if (!dims)
        return x;
    int64_t axes[MW_MAX_RANK];
    int count = 0;
    for (int d = 0; d < MW_MAX_RANK; d++)
        if (dims >> d & 1)
            axes[count++] = d;
    MwAttr attrs[] = {mw_attr_ints(MW_ATTR_AXES, axes, count), mw_attr_int(MW_ATTR_KEEP, keep),
                      mw_attr_int(MW_ATTR_TYPE, type)};
    return mw_build(graph, NULL, MW_OP_REDUCE_SUM, &x, 1, attrs, MW_COUNT(attrs));
}

MwValueId mw_build_sum(MwGraph *graph, MwValueId x, unsigned dims, bool keep)
{
    return build_sum(graph, x, dims, keep, MW_TYPE_NOT_GIVEN);
}

MwValueId mw_build_sum_to(MwGraph *graph, MwValueId x, const MwTensor *like)
{
    MwTensor wide = *mw_value_tensor(graph, x);
    unsigned stretched = 0;
    for (int d = 0; d < wide.rank; d++) {
        int from = d - (wide.rank - like->rank);
        if (from < 0 || like->dim[from] != wide.dim[d])
            stretched |= 1u << d;
    }
    int type = mw_type_is_half(wide.type) && like->type == MW_F32 ? MW_F32 : MW_TYPE_NOT_GIVEN;
    return mw_build_reshape(graph, build_sum(graph, x, stretched, false, type), like);
}

MwValueId mw_build_copy(MwGraph *graph, MwValueId value, MwValueId *copy)
{
    const MwNode node = *mw_value_node(graph, value);
    if (mw_has_value(copy[node.first_result]))
        return (MwValueId){copy[node.first_result].index + value.index - node.first_result};
    MwValueId *operands = MW_NEW(graph->arena, MwValueId, node.operand_count);
    for (int k = 0; k < node.operand_count; k++)
        operands[k] = mw_build_copy(graph, node.operands[k], copy);
    MwNodeSpec spec = {.op = node.op,
                       .operands = operands,
                       .operand_count = node.operand_count,
                       .attrs = node.attrs,
                       .attr_count = node.attr_count,
                       .given = mw_value_tensor(graph, (MwValueId){node.first_result})};
    copy[node.first_result] = mw_node_result(graph, mw_build_node(graph, &spec), 0);
    return mw_build_copy(graph, value, copy);
}

void mw_build_name_temporaries(MwGraph *graph, int first, int end, const char *name)
{
    for (int v = first; v < end; v++)
        if (graph->values.at[v].name[0] == '_')
            mw_graph_rename(graph, (MwValueId){v}, name);
}
