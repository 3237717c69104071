/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/cheapest.h"

#include <math.h>

typedef MW_VEC(MwCluster) Parts;

static void add_part(MwArena *arena, Parts *parts, const MwCluster *cluster, int nodes, int devices)
{
    MwCluster *part = mw_vec_add(arena, parts);
    *part = *cluster;
    part->nodes = nodes;
    part->devices_per_node = devices;
}

/* Parts with fewer devices come first. */
static Parts parts_of(MwArena *arena, const MwCluster *cluster)
{
    Parts parts = {0};
    const int devices = cluster->devices_per_node;
    const bool has_nodes_price = cluster->node_usd_per_h > 0;
    for (int count = 1; count < devices && !has_nodes_price; count *= 2)
        add_part(arena, &parts, cluster, 1, count);
    for (int nodes = 1; nodes < cluster->nodes; nodes *= 2)
        add_part(arena, &parts, cluster, nodes, devices);
    add_part(arena, &parts, cluster, cluster->nodes, devices);
    return parts;
}

/* The price of a step of the plan for a part; infinite where there is none. */
static double step_usd(MwArena *arena, const MwPlanRequest *request, const MwCluster *part)
{
    MwArena *work = mw_arena_new_within(arena);
    MwPlanRequest of_part = *request;
    MwCompileOptions options = *request->options;
    MwPipelineOptions pipeline = *request->pipeline;
    options.save_problem = options.save_ilp = NULL;
    pipeline.dump_after = MW_PASS_COUNT;
    pipeline.times = NULL;
    of_part.cluster = part;
    of_part.options = &options;
    of_part.pipeline = &pipeline;
    const MwPlan *plan = mw_plan_model(work, &of_part, mw_diags_new(work)).plan;
    const double usd = plan ? plan->step_s * plan->usd_per_h : INFINITY;
    mw_arena_free(&work);
    return usd;
}

const MwCluster *mw_cheapest_cluster(MwArena *arena, const MwPlanRequest *request, MwDiags *diags)
{
    const MwCluster *best = request->cluster;
    double best_usd = INFINITY;
    if (mw_cluster_usd_per_h(request->cluster) == 0) {
        mw_diag_error(diags, mw_span_none(),
                      "--objective cost: cluster %s has no price: give it `node_price`, or `price` "
                      "in its section `device`",
                      request->cluster->name);
        return NULL;
    }
    const Parts parts = parts_of(arena, request->cluster);
    for (int i = 0; i < parts.count; i++) {
        const double usd = step_usd(arena, request, &parts.at[i]);
        if (usd < best_usd) {
            best = &parts.at[i];
            best_usd = usd;
        }
    }
    return best;
}
