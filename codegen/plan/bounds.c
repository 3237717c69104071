/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/bounds.h"

#include "runtime/plan/box.h"

#include <string.h>

/* Where the elements of a view lie in its operand: dimension d of the operand is dimension `from`
 * of the view, from index `offset` on; all of dimension d where `from` is -1. */
typedef struct {
    int from[MW_MAX_RANK];
    int64_t offset[MW_MAX_RANK];
} ViewMap;

static ViewMap same_dimensions(void)
{
    ViewMap map = {.offset = {0}};
    for (int d = 0; d < MW_MAX_RANK; d++)
        map.from[d] = d;
    return map;
}

/* Sizes of 1 come and go. Other reshapes are known of whole tensors alone. */
static bool map_reshape(const MwBox *view, const MwTensor *operand, ViewMap *map)
{
    int r = 0;
    bool are_aligned = true;
    for (int d = 0; d < operand->rank; d++) {
        map->from[d] = -1;
        if (operand->dim[d] == 1)
            continue;
        while (r < view->global.rank && view->global.dim[r] == 1)
            r++;
        are_aligned &= r < view->global.rank && view->global.dim[r] == operand->dim[d];
        map->from[d] = r++;
    }
    for (int d = 0; d < operand->rank && !are_aligned; d++)
        map->from[d] = -1;
    return are_aligned || mw_box_elements(view) == mw_tensor_elements(&view->global);
}

/* The map of result `value` of `node`, of which `view` is a part; false: it is no view, or none of
 * that part. */
static bool map_view(const MwNode *node, MwValueId value, const MwBox *view,
                     const MwTensor *operand, ViewMap *map)
{
    const int added = view->global.rank - operand->rank;
    int axis;
    *map = same_dimensions();
    switch (node->op) {
    case MW_OP_IDENTITY:
        return true;
    case MW_OP_CAST: /* to wider integers, which changes no value */
        return mw_type_widens(operand->type, view->global.type);
    case MW_OP_SLICE:
        map->offset[mw_node_int(node, MW_ATTR_AXIS)] = mw_node_int(node, MW_ATTR_BEGIN);
        return true;
    case MW_OP_SPLIT:
        axis = (int)mw_node_int(node, MW_ATTR_AXIS);
        for (int k = 0; node->first_result + k < value.index; k++)
            map->offset[axis] += mw_node_attr(node, MW_ATTR_SIZES)->ints.at[k];
        return true;
    case MW_OP_TRANSPOSE:
        for (int r = 0; r < operand->rank; r++)
            map->from[mw_node_attr(node, MW_ATTR_PERM)->ints.at[r]] = r;
        return true;
    case MW_OP_BROADCAST:
        for (int d = 0; d < operand->rank; d++)
            map->from[d] = operand->dim[d] == view->global.dim[d + added] ? d + added : -1;
        return true;
    case MW_OP_SCAN_IN:
        axis = (int)mw_node_int(node, MW_ATTR_AXIS);
        for (int d = axis; d < operand->rank; d++)
            map->from[d] = d == axis ? -1 : d - 1;
        return true;
    case MW_OP_RESHAPE:
        return map_reshape(view, operand, map);
    default:
        return false;
    }
}

static MwBox whole_of(const MwTensor *tensor)
{
    MwBox box = {.global = *tensor};
    memcpy(box.size, tensor->dim, sizeof box.size);
    return box;
}

/* Follows all of `value` back through views to an input, and sets the part of it that they are a
 * view of. No value: it is not from an input alone, or the part is not known. */
static MwValueId follow_views(const MwGraph *graph, MwValueId value, MwBox *part)
{
    *part = whole_of(mw_value_tensor(graph, value));
    while (mw_value_node(graph, value)->op != MW_OP_INPUT) {
        const MwNode *node = mw_value_node(graph, value);
        ViewMap map;
        if (node->operand_count != 1 ||
            !map_view(node, value, part, mw_value_tensor(graph, node->operands[0]), &map))
            return (MwValueId){-1};
        value = node->operands[0];
        MwBox of = whole_of(mw_value_tensor(graph, value));
        for (int d = 0; d < of.global.rank; d++) {
            if (map.from[d] < 0)
                continue;
            of.start[d] = part->start[map.from[d]] + map.offset[d];
            of.size[d] = part->size[map.from[d]];
        }
        *part = of;
    }
    return value;
}

/* The region of an input that `part` of it is, where `batch` is the size of dimension 0 over all
 * micro-batches; false: it is no region of one axis. */
static bool find_region(const MwBox *part, int64_t batch, MwPlanBound *region)
{
    int partial = 0;
    *region = (MwPlanBound){.axis = 0, .begin = 0, .end = part->global.rank ? batch : 1};
    for (int d = 0; d < part->global.rank; d++) {
        if (part->size[d] == part->global.dim[d])
            continue;
        if (++partial > 1 || (d == 0 && batch != part->global.dim[0]))
            return false;
        *region = (MwPlanBound){
            .axis = d, .begin = part->start[d], .end = part->start[d] + part->size[d]};
    }
    return true;
}

static void add_bound(MwPlanInput *input, const MwPlanBound *bound)
{
    for (int i = 0; i < input->bound_count; i++) {
        MwPlanBound *known = &input->bounds[i];
        if (known->axis == bound->axis && known->begin == bound->begin &&
            known->end == bound->end) {
            known->below = mw_min(known->below, bound->below);
            return;
        }
    }
    input->bounds[input->bound_count++] = *bound;
}

static int count_lookups(const MwCompilation *compilation)
{
    int count = 0;
    for (int i = 0; i < compilation->staging.stage_count; i++) {
        const MwGraph *graph = compilation->stages[i].local->global;
        for (int n = 0; n < graph->nodes.count; n++)
            count += mw_op_lookup(graph->nodes.at[n].op) != NULL;
    }
    return count;
}

void mw_plan_input_bounds(MwArena *arena, const MwCompilation *compilation, MwPlanInput *input)
{
    input->bounds = MW_NEW(arena, MwPlanBound, count_lookups(compilation));
    input->bound_count = 0;
    for (int i = 0; i < compilation->staging.stage_count; i++) {
        const MwGraph *graph = compilation->stages[i].local->global;
        for (int n = 0; n < graph->nodes.count; n++) {
            const MwNode *node = &graph->nodes.at[n];
            const MwLookup *lookup = mw_op_lookup(node->op);
            MwBox part;
            MwPlanBound bound;
            if (!lookup)
                continue;
            const MwValueId from = follow_views(graph, node->operands[lookup->index], &part);
            if (from.index < 0 || strcmp(mw_value(graph, from)->name, input->name) != 0 ||
                !find_region(&part, mw_plan_held(input)->dim[0], &bound))
                continue;
            const MwTensor *table = mw_value_tensor(graph, node->operands[lookup->table]);
            const MwAttr *origin = mw_node_attr(node, MW_ATTR_ORIGIN); /* given: without padding */
            const int axis = mw_lookup_axis(lookup, table);
            if (input->global.rank)
                bound.end = mw_min(bound.end, input->global.dim[bound.axis]);
            bound.below = origin->ints.count ? origin->ints.at[axis] : table->dim[axis];
            add_bound(input, &bound);
        }
    }
}
