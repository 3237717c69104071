/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cost/model_work.h"

#include "cost/cost.h"
#include "ir/loops.h"

/* FLOPs of a node that count, and the type that they are in; 0: it is no product or attention. */
static double node_flops(MwArena *scratch, const MwGraph *graph, MwNodeId id, MwType *type)
{
    const MwShardingRule rule = mw_sharding_rule(scratch, graph, id);
    int ways[MW_MAX_FACTORS];
    for (int f = 0; f < MW_MAX_FACTORS; f++)
        ways[f] = 1;
    const MwWork work = mw_cost_node_work(graph, id, &rule, ways);
    *type = work.type;
    return mw_work_is_product(work.kind) || work.kind == MW_WORK_ATTENTION ||
                   work.kind == MW_WORK_ATTENTION_GRAD
               ? work.flops
               : 0;
}

MwModelWork mw_cost_model_work(const MwGraph *graph, const MwCluster *cluster)
{
    MwArena *arena = mw_arena_new(), *scratch = NULL;
    const MwLoops loops = mw_loops(arena, graph);
    MwModelWork work = {0};
    bool is_known = true;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNodeId id = {n};
        MwType type;
        scratch = mw_arena_new();
        const double flops =
            node_flops(scratch, graph, id, &type) * (double)mw_loop_runs(&loops, id);
        mw_arena_free(&scratch);
        if (flops == 0)
            continue;
        const double peak = cluster->device.gemm[type].peak_flops;
        work.flops += flops;
        is_known &= peak > 0;
        work.peak_s += peak > 0 ? flops / peak : 0;
    }
    work.peak_s = is_known ? work.peak_s : 0;
    mw_arena_free(&arena);
    return work;
}
