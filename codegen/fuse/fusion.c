/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/fuse/fusion.h"

#include "codegen/fuse/gemm_absorb.h"
#include "codegen/fuse/kernel_merge.h"
#include "codegen/fuse/library_unit.h"
#include "codegen/fuse/phase_join.h"
#include "codegen/tuning.h"

#include <string.h>

/* ---- The walk ---- */

static bool node_has_unit(const MwNode *node)
{
    MwLowering lowering = mw_op_info(node->op)->lowering;
    return mw_node_is_kernel(node) || lowering == MW_LOWER_CONTRACT ||
           lowering == MW_LOWER_LIBRARY || lowering == MW_LOWER_COLLECTIVE ||
           lowering == MW_LOWER_TRANSFER;
}

static void start_units(MwFusion *f)
{
    const MwGraph *graph = f->legal->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        f->out->level[n] = MW_LEVEL_POINT;
        f->out->unit_of[n] = -1;
        if (!node_has_unit(node))
            continue;
        f->out->unit_of[n] = f->out->units.count;
        MwUnit *unit = mw_vec_add(f->arena, &f->out->units);
        *unit = (MwUnit){.is_kernel = mw_node_is_kernel(node),
                         .on_host = mw_runs_on_host(f->legal->on_host, node),
                         .phase = node->phase,
                         .loop = f->legal->loops.of_node[n]};
        mw_vec_push(f->arena, &unit->nodes, n);
        if (!unit->is_kernel)
            continue;
        unit->space = mw_node_space(f->legal, node);
        if (!unit->space.is_alone)
            MW_ASSERT(mw_fusion_cut_space(f, unit, n));
    }
}

static bool is_in_kernel(const MwFusion *f, int n)
{
    const int unit = f->out->unit_of[n];
    return unit >= 0 && mw_fusion_unit(f, unit)->is_kernel;
}

static void merge_with_producers(MwFusion *f, int n)
{
    const MwNode *node = mw_legal_at(f->legal, n);
    for (int k = 0; k < node->operand_count; k++) {
        int producer = f->out->unit_of[mw_fusion_producer(f->legal, node, k)];
        if (producer >= 0)
            mw_fusion_merge_levels(f, producer, f->out->unit_of[n]);
    }
}

/* Merges the units of nodes that read the same large value not far from each other. */
static void merge_siblings(MwFusion *f, int n, int32_t *last_reader)
{
    const MwNode *node = mw_legal_at(f->legal, n);
    for (int k = 0; k < node->operand_count; k++) {
        MwValueId root = mw_legal_root(f->legal, node->operands[k]);
        const MwTensor *tensor = mw_value_tensor(f->legal->graph, root);
        bool large =
            mw_tensor_elements(tensor) >= mw_fusion_unit(f, f->out->unit_of[n])->space.points;
        int reader = last_reader[root.index];
        last_reader[root.index] = n;
        if (reader >= 0 && large && n - reader <= MW_TUNED_SIBLING_DISTANCE)
            mw_fusion_merge_points(f, f->out->unit_of[reader], f->out->unit_of[n]);
    }
}

/* Producers come first: a node that computes something for one reader alone is to be in the kernel
 * of that reader, and not in that of another node with the same operand. */
static void merge_units(MwFusion *f)
{
    const MwGraph *graph = f->legal->graph;
    int32_t *last_reader = MW_NEW(f->arena, int32_t, graph->values.count);
    memset(last_reader, -1, sizeof(int32_t) * (size_t)graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++)
        if (is_in_kernel(f, n))
            merge_with_producers(f, n);
    for (int n = 0; n < graph->nodes.count; n++)
        if (is_in_kernel(f, n))
            merge_siblings(f, n, last_reader);
}

/* ---- What is stored ---- */

static void store(MwFusion *f, MwValueId value)
{
    MwValueId root = mw_legal_root(f->legal, value);
    MwOp op = mw_value_node(f->legal->graph, root)->op;
    if (!mw_op_is_generator(op) && op != MW_OP_SEND)
        f->out->is_stored[root.index] = true;
}

/* Stores what node n, of an operator that is no kernel or of a source, gives in any case: the
 * results of its unit's call. */
static void store_results(MwFusion *f, int n)
{
    const MwNode *node = mw_legal_at(f->legal, n);
    const MwLowering lowering = mw_op_info(node->op)->lowering;
    const int unit = f->out->unit_of[n];
    const bool is_library = lowering == MW_LOWER_LIBRARY;
    if (unit < 0 ? lowering != MW_LOWER_SOURCE
                 : mw_fusion_unit(f, unit)->is_kernel ||
                       (!is_library && mw_vec_last(&mw_fusion_unit(f, unit)->nodes) != n))
        return;
    for (int k = 0; k < node->result_count; k++)
        store(f, is_library ? mw_library_unit_result(f->legal, mw_fusion_unit(f, unit), k).root
                            : (MwValueId){node->first_result + k});
}

static void find_stored(MwFusion *f)
{
    const MwGraph *graph = f->legal->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        int unit = f->out->unit_of[n];
        for (int k = 0; k < node->operand_count && unit >= 0; k++)
            if (f->out->unit_of[mw_fusion_producer(f->legal, node, k)] != unit)
                store(f, node->operands[k]);
        if (node->op == MW_OP_SCAN_NEXT) /* the next step takes it over */
            store(f, (MwValueId){node->first_result});
        store_results(f, n);
    }
    for (int i = 0; i < graph->outputs.count; i++)
        store(f, graph->outputs.at[i].value);
    for (int i = 0; i < graph->assigns.count; i++)
        store(f, graph->assigns.at[i].value);
    for (int i = 0; i < graph->metrics.count; i++)
        store(f, graph->metrics.at[i].value);
}

/* Drops the units that were merged into others. */
static void compact(MwFusion *f)
{
    int32_t *new_index = MW_NEW(f->arena, int32_t, f->out->units.count);
    int count = 0;
    for (int u = 0; u < f->out->units.count; u++) {
        new_index[u] = count;
        if (mw_fusion_unit(f, u)->nodes.count)
            f->out->units.at[count++] = *mw_fusion_unit(f, u);
    }
    f->out->units.count = count;
    for (int n = 0; n < f->legal->graph->nodes.count; n++)
        if (f->out->unit_of[n] >= 0)
            f->out->unit_of[n] = new_index[f->out->unit_of[n]];
}

MwUnits *mw_units_form(const MwLegal *legal, bool backward_follows)
{
    MwArena *arena = legal->graph->arena;
    int nodes = legal->graph->nodes.count;
    MwUnits *units = MW_NEW(arena, MwUnits, 1);
    units->unit_of = MW_NEW(arena, int32_t, nodes);
    units->level = MW_NEW(arena, MwLevel, nodes);
    units->is_stored = MW_NEW(arena, bool, legal->graph->values.count);
    units->backward_follows = backward_follows;
    start_units(&(MwFusion){.arena = arena, .legal = legal, .out = units});
    MwFusion f = mw_fusion_begin(legal, units);
    mw_gemm_units_absorb(&f);
    mw_library_units_absorb(&f);
    merge_units(&f);
    if (backward_follows)
        mw_fusion_join_phases(&f);
    find_stored(&f);
    compact(&f);
    return units;
}
