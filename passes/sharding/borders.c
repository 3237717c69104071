/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/borders.h"

#include "cost/units.h"
#include "ir/build.h"
#include "ir/node_windows.h"
#include "passes/sharding/step_node.h"
#include "passes/sharding/steps.h"

/* The mesh axis of a border that has one alone. */
static int only_axis(const MwBorder *border)
{
    int axis = 0;
    while (!(border->axes >> axis & 1))
        axis++;
    return axis;
}

/* The block with the borders of the first `count` dimensions. */
static MwTensor extended(const MwBorders *borders, int count)
{
    MwTensor tensor = borders->block;
    for (int i = 0; i < count; i++)
        tensor.dim[borders->at[i].dim] += borders->at[i].before + borders->at[i].after;
    return tensor;
}

/* Bytes of one element of dimension `i` of those that are split, across the others. */
static int64_t slice_bytes(const MwBorders *borders, int i)
{
    MwTensor slice = extended(borders, i);
    slice.dim[borders->at[i].dim] = 1;
    return mw_tensor_bytes(&slice);
}

/* Whether shifts along the dimension take less time than an all-gather. */
static bool is_quicker_round(const MwBorders *borders, int i, const MwCostModel *model)
{
    const MwBorder *border = &borders->at[i];
    const double bytes = (double)slice_bytes(borders, i);
    const double before = (double)border->before, after = (double)border->after;
    if (border->axes & (border->axes - 1))
        return false;
    const int axis = only_axis(border);
    double seconds = 0;
    if (border->after > 0)
        seconds += mw_cost_collective_s(model, MW_RING_SHIFT, axis, after * bytes);
    if (border->before > 0)
        seconds += mw_cost_collective_s(model, MW_RING_SHIFT_BACK, axis, before * bytes);
    return seconds < mw_cost_collective_s(model, MW_ALL_GATHER, axis,
                                          border->ways * (before + after) * bytes);
}

MwBorders mw_borders(const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                     const MwCostModel *model)
{
    const MwNode *node = mw_node(graph, id);
    if (!mw_op_has_windows(node->op))
        return (MwBorders){0};
    MwBorders borders = {.takes = mw_windows_taken(node->op), .gives = mw_windows_give_x(node->op)};
    for (int k = 0; k < borders.takes; k++)
        borders.outside[k] = mw_windows_outside(node->op, k);
    const MwSpec spec = borders.takes ? strategy->operands[0] : strategy->results[0];
    const MwWindows windows = mw_windows(graph, node);
    borders.block = mw_spec_local(spec, mw_value_tensor(graph, mw_windows_x(node)), &model->mesh);
    for (int d = 0; d < windows.count; d++) {
        const MwAxes axes = mw_spec_dim(spec, d + 1);
        const int ways = mw_mesh_ways(&model->mesh, axes);
        const MwWindowReach reach = mw_window_reach(&windows.dim[d]);
        if (ways > 1)
            borders.at[borders.count++] = (MwBorder){.dim = d + 1,
                                                     .ways = ways,
                                                     .axes = axes,
                                                     .before = mw_max(reach.before, 0),
                                                     .after = mw_max(reach.after, 0)};
    }
    for (int i = 0; i < borders.count; i++)
        borders.at[i].goes_round = is_quicker_round(&borders, i, model);
    return borders;
}

MwTensor mw_borders_tensor(const MwBorders *borders)
{
    return extended(borders, borders->count);
}

/* ---- Costs ---- */

/* Adds the collectives of what the devices exchange along dimension `i` of those that are split,
 * where they are to give `first` elements to the device before and `last` to the one after. */
static void add_exchange(MwSteps *steps, const MwBorders *borders, int i, int64_t first,
                         int64_t last)
{
    const MwBorder *border = &borders->at[i];
    int64_t bytes = slice_bytes(borders, i);
    if (border->goes_round) {
        if (first > 0)
            mw_steps_add(steps, MW_OP_RING_SHIFT, only_axis(border), border->dim, first * bytes);
        if (last > 0)
            mw_steps_add(steps, MW_OP_RING_SHIFT_BACK, only_axis(border), border->dim,
                         last * bytes);
        return;
    }
    bytes *= first + last;
    for (int axis = MW_MAX_AXES - 1; axis >= 0 && bytes > 0; axis--) {
        if (!(border->axes >> axis & 1))
            continue;
        bytes *= steps->model->mesh.size[axis];
        mw_steps_add(steps, MW_OP_ALL_GATHER, axis, border->dim, bytes);
    }
}

MwReshardPath mw_borders_path(MwArena *arena, const MwBorders *borders, const MwCostModel *model)
{
    MwSteps steps = {.arena = arena, .model = model};
    for (int k = 0; k < borders->takes; k++)
        for (int i = 0; i < borders->count; i++)
            add_exchange(&steps, borders, i, borders->at[i].after, borders->at[i].before);
    for (int i = 0; i < borders->count && borders->gives; i++)
        add_exchange(&steps, borders, i, borders->at[i].before, borders->at[i].after);
    return mw_steps_path(&steps);
}

double mw_borders_s(MwArena *arena, const MwBorders *borders, const MwCostModel *model)
{
    double seconds = mw_seconds(mw_borders_path(arena, borders, model).cost);
    for (int i = 0; i < borders->count; i++) {
        const MwTensor tensor = extended(borders, i + 1);
        const MwWork copy = {MW_WORK_STREAM, .bytes = 2.0 * (double)mw_tensor_bytes(&tensor)};
        if (borders->at[i].before + borders->at[i].after > 0)
            seconds += (borders->takes + borders->gives) * mw_cost_work_s(model, &copy);
    }
    return seconds;
}

/* ---- Nodes ---- */

typedef struct {
    MwGraph *graph;
    const MwBorders *borders;
    const MwMeshShape *mesh;
    const char *name; /* of x */
} Exchange;

static const MwTensor *type_of(const Exchange *e, MwValueId value)
{
    return mw_value_tensor(e->graph, value);
}

/* `x` with `before` and `after` zeros along a dimension. */
static MwValueId padded(const Exchange *e, MwValueId x, int dim, int64_t before, int64_t after)
{
    if (before == 0 && after == 0)
        return x;
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, dim), mw_attr_int(MW_ATTR_BEGIN, before),
                            mw_attr_int(MW_ATTR_END, after)};
    return mw_build(e->graph, NULL, MW_OP_PAD, &x, 1, attrs, MW_COUNT(attrs));
}

/* A collective or shard of `dim` over the devices of `axis`. */
static MwValueId along(const Exchange *e, MwOp op, MwValueId x, int axis, int dim)
{
    const MwReshardStep step = {.op = op, .axis = axis, .dim = dim, .from_dim = -1};
    return mw_step_node(e->graph, e->mesh, &step, x, e->name);
}

/* The elements from `begin` of each block of `block` elements along a dimension, `size` of each. */
static MwValueId of_each_block(const Exchange *e, MwValueId x, int dim, int64_t block,
                               int64_t begin, int64_t size)
{
    MwTensor tensor = *type_of(e, x);
    const int64_t blocks = tensor.dim[dim] / block;
    if (size == block)
        return x;
    tensor.dim[dim] = block;
    MW_ASSERT(mw_tensor_insert_dim(&tensor, dim, blocks));
    x = mw_build_reshape(e->graph, x, &tensor);
    x = mw_build_slice(e->graph, x, dim + 1, begin, begin + size);
    tensor = *type_of(e, x);
    mw_tensor_remove_dim(&tensor, dim);
    tensor.dim[dim] = blocks * size;
    return mw_build_reshape(e->graph, x, &tensor);
}

/* Of `parts`, one of each device along the border's dimension, that of the device before or of the
 * one after; `outside` at the end. */
static MwValueId of_neighbour(const Exchange *e, const MwBorder *border, MwValueId parts,
                              bool is_before, double outside)
{
    const int dim = border->dim;
    MwTensor end = *type_of(e, parts);
    const int64_t all = end.dim[dim], size = all / border->ways;
    end.dim[dim] = size;
    const MwValueId fill = mw_build_constant(e->graph, &end, outside);
    MwValueId part =
        is_before
            ? mw_build_concat(
                  e->graph,
                  (MwValueId[]){fill, mw_build_slice(e->graph, parts, dim, 0, all - size)}, 2, dim)
            : mw_build_concat(e->graph,
                              (MwValueId[]){mw_build_slice(e->graph, parts, dim, size, all), fill},
                              2, dim);
    for (int axis = 0; axis < e->mesh->axis_count; axis++)
        if (border->axes >> axis & 1)
            part = along(e, MW_OP_SHARD, part, axis, dim);
    return part;
}

/* `part`, which came round the ring from a neighbour; `outside` on the device at the end, the last
 * one or the first, which has none. */
static MwValueId but_at_end(const Exchange *e, const MwBorder *border, MwValueId part, bool is_last,
                            double outside)
{
    const int dim = border->dim;
    MwTensor flags = *type_of(e, part);
    flags.type = MW_BOOL;
    for (int d = 0; d < flags.rank; d++)
        flags.dim[d] = 1;
    const MwValueId end = mw_build_constant(e->graph, &flags, 1);
    flags.dim[dim] = border->ways - 1;
    const MwValueId others = mw_build_constant(e->graph, &flags, 0);
    const MwValueId ends[] = {is_last ? others : end, is_last ? end : others};
    const MwValueId at_end =
        along(e, MW_OP_SHARD, mw_build_concat(e->graph, ends, 2, dim), only_axis(border), dim);
    return mw_build_select(e->graph, mw_build_broadcast(e->graph, at_end, type_of(e, part)),
                           mw_build_constant(e->graph, type_of(e, part), outside), part);
}

/* What neighbours exchange along a dimension. */
typedef struct {
    MwValueId before, after; /* no value: nothing */
} Neighbours;

static Neighbours exchange_round(const Exchange *e, const MwBorder *border, MwValueId first,
                                 MwValueId last, double outside)
{
    const int axis = only_axis(border), dim = border->dim;
    Neighbours neighbours = {mw_no_value(), mw_no_value()};
    if (mw_has_value(first))
        neighbours.after =
            but_at_end(e, border, along(e, MW_OP_RING_SHIFT, first, axis, dim), true, outside);
    if (mw_has_value(last))
        neighbours.before =
            but_at_end(e, border, along(e, MW_OP_RING_SHIFT_BACK, last, axis, dim), false, outside);
    return neighbours;
}

static Neighbours exchange_among_all(const Exchange *e, const MwBorder *border, MwValueId first,
                                     MwValueId last, double outside)
{
    const int dim = border->dim;
    const int64_t firsts = mw_has_value(first) ? type_of(e, first)->dim[dim] : 0;
    const int64_t lasts = mw_has_value(last) ? type_of(e, last)->dim[dim] : 0;
    Neighbours neighbours = {mw_no_value(), mw_no_value()};
    MwValueId given[2];
    int count = 0;
    if (firsts)
        given[count++] = first;
    if (lasts)
        given[count++] = last;
    if (!count)
        return neighbours;
    MwValueId all = mw_build_concat(e->graph, given, count, dim);
    for (int axis = e->mesh->axis_count - 1; axis >= 0; axis--)
        if (border->axes >> axis & 1)
            all = along(e, MW_OP_ALL_GATHER, all, axis, dim);
    if (firsts)
        neighbours.after = of_neighbour(
            e, border, of_each_block(e, all, dim, firsts + lasts, 0, firsts), false, outside);
    if (lasts)
        neighbours.before = of_neighbour(
            e, border, of_each_block(e, all, dim, firsts + lasts, firsts, lasts), true, outside);
    return neighbours;
}

/* Gives the first `first` elements of a dimension of `x` to the device before, and the last `last`
 * to the one after; the result is what these give. */
static Neighbours exchange(const Exchange *e, const MwBorder *border, MwValueId x, int64_t first,
                           int64_t last, double outside)
{
    const int dim = border->dim;
    const int64_t size = type_of(e, x)->dim[dim];
    const MwValueId firsts = first > 0 ? mw_build_slice(e->graph, x, dim, 0, first) : mw_no_value();
    const MwValueId lasts =
        last > 0 ? mw_build_slice(e->graph, x, dim, size - last, size) : mw_no_value();
    return border->goes_round ? exchange_round(e, border, firsts, lasts, outside)
                              : exchange_among_all(e, border, firsts, lasts, outside);
}

static MwValueId take(const Exchange *e, const MwBorder *border, MwValueId x, double outside)
{
    const Neighbours neighbours = exchange(e, border, x, border->after, border->before, outside);
    MwValueId parts[3];
    int count = 0;
    if (mw_has_value(neighbours.before))
        parts[count++] = neighbours.before;
    parts[count++] = x;
    if (mw_has_value(neighbours.after))
        parts[count++] = neighbours.after;
    return mw_build_concat(e->graph, parts, count, border->dim);
}

static MwValueId give(const Exchange *e, const MwBorder *border, MwValueId x)
{
    const int dim = border->dim;
    const int64_t before = border->before, after = border->after;
    const int64_t size = type_of(e, x)->dim[dim] - before - after;
    const Neighbours neighbours = exchange(e, border, x, before, after, 0);
    MwValueId block = mw_build_slice(e->graph, x, dim, before, before + size);
    if (mw_has_value(neighbours.after))
        block = mw_build_binary(e->graph, MW_OP_ADD, block,
                                padded(e, neighbours.after, dim, size - before, 0));
    if (mw_has_value(neighbours.before))
        block = mw_build_binary(e->graph, MW_OP_ADD, block,
                                padded(e, neighbours.before, dim, 0, size - after));
    return block;
}

MwValueId mw_borders_take(MwGraph *local, const MwBorders *borders, const MwMeshShape *mesh, int k,
                          MwValueId x, const char *name)
{
    const Exchange e = {.graph = local, .borders = borders, .mesh = mesh, .name = name};
    for (int i = 0; i < borders->count; i++)
        x = take(&e, &borders->at[i], x, borders->outside[k]);
    return x;
}

MwValueId mw_borders_give(MwGraph *local, const MwBorders *borders, const MwMeshShape *mesh,
                          MwValueId x, const char *name)
{
    const Exchange e = {.graph = local, .borders = borders, .mesh = mesh, .name = name};
    for (int i = borders->count - 1; i >= 0; i--)
        x = give(&e, &borders->at[i], x);
    return x;
}
