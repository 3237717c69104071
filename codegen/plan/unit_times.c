/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/unit_times.h"

#include <math.h>

int mw_operand_maker(const MwLegal *legal, const MwUnits *units, const MwNode *node, int k)
{
    const MwValueId root = mw_legal_root(legal, node->operands[k]);
    return units->unit_of[mw_value(legal->graph, root)->node.index];
}

/* Bytes that a kernel reads and writes, about: operands that several of its nodes read count
 * several times. */
static double kernel_bytes(const MwLegal *legal, const MwUnits *units, int u)
{
    const MwUnit *unit = &units->units.at[u];
    double bytes = 0;
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = mw_legal_at(legal, unit->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++)
            if (mw_operand_maker(legal, units, node, k) != u)
                bytes += (double)mw_tensor_bytes(mw_legal_operand_tensor(legal, node, k));
        for (int k = 0; k < node->result_count; k++)
            if (units->is_stored[node->first_result + k])
                bytes += (double)mw_tensor_bytes(
                    &legal->graph->values.at[node->first_result + k].tensor);
    }
    return bytes;
}

/* Seconds of a node by itself. */
static double node_s(MwArena *arena, const MwLegal *legal, const MwCostModel *model, int node)
{
    const MwNodeId id = {node};
    const MwShardingRule rule = mw_sharding_rule(arena, legal->graph, id);
    int ways[MW_MAX_FACTORS];
    for (int i = 0; i < MW_MAX_FACTORS; i++)
        ways[i] = 1;
    const MwWork work = mw_cost_node_work(legal->graph, id, &rule, ways);
    return mw_cost_work_s(model, &work);
}

/* A call takes as long as the longest of what it does: it may add up a bias's gradient beside a
 * product. */
double mw_unit_s(MwArena *arena, const MwLegal *legal, const MwUnits *units,
                 const MwCostModel *model, int unit)
{
    const MwUnit *at = &units->units.at[unit];
    const MwLowering lowering = mw_op_info(mw_unit_first_node(legal, units, unit)->op)->lowering;
    if (lowering == MW_LOWER_COLLECTIVE || lowering == MW_LOWER_TRANSFER)
        return 0;
    double seconds = 0;
    if (at->is_kernel)
        seconds = mw_cost_work_s(model, &(MwWork){.kind = MW_WORK_STREAM,
                                                  .type = MW_F32,
                                                  .bytes = kernel_bytes(legal, units, unit)});
    for (int i = 0; i < at->nodes.count && !at->is_kernel; i++)
        seconds = fmax(seconds, node_s(arena, legal, model, at->nodes.at[i]));
    const int runs = at->loop < 0 ? 1 : (int)legal->loops.at[at->loop].steps;
    return runs * seconds;
}
