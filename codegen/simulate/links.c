/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/simulate/links.h"

#include "cost/cost.h"
#include "cost/curve.h"

#include <math.h>

static int node_of(const MwCluster *cluster, const MwPlanMesh *mesh, bool last)
{
    const int rank = mesh->first_rank + (last ? mw_mesh_devices(&mesh->shape) - 1 : 0);
    return rank / cluster->devices_per_node;
}

static bool is_near(const MwCluster *cluster, const MwPlanMesh *from, const MwPlanMesh *to)
{
    const int node = node_of(cluster, from, false);
    return node_of(cluster, from, true) == node && node_of(cluster, to, false) == node &&
           node_of(cluster, to, true) == node;
}

/* The part of a node's network link that the devices of a mesh fill. */
static double load_of(const MwCluster *cluster, const MwPlanMesh *mesh)
{
    const MwLink *link = &cluster->network_link;
    const int devices =
        (int)mw_min(mw_mesh_devices(&mesh->shape), (int64_t)cluster->devices_per_node);
    return fmin(1, devices * mw_cost_link_share(link, 2, devices, 1) /
                       mw_curve_value(&link->bandwidth, 2));
}

/* Links 2 m and 2 m + 1 are those of mesh m, out and in; behind them are those of nodes. */
static MwRoute route_of(const MwPlan *plan, const MwPlanTransfer *transfer,
                        const MwCluster *cluster)
{
    const MwPlanMesh *from = &plan->meshes[transfer->from_mesh];
    const MwPlanMesh *to = &plan->meshes[transfer->to_mesh];
    MwRoute route = {.links = {2 * transfer->from_mesh, 2 * transfer->to_mesh + 1},
                     .load = 1,
                     .share_s = transfer->time_s};
    if (!cluster)
        return route;
    const bool near = is_near(cluster, from, to);
    const MwLink *link = near ? &cluster->node_link : &cluster->network_link;
    if (!near) {
        route.links[0] = 2 * (plan->mesh_count + node_of(cluster, from, false));
        route.links[1] = 2 * (plan->mesh_count + node_of(cluster, to, false)) + 1;
        route.load = fmax(load_of(cluster, from), load_of(cluster, to));
    }
    route.start_s = fmin(link->call_s + link->latency_s, transfer->time_s);
    route.share_s = transfer->time_s - route.start_s;
    return route;
}

/* One link for each two meshes, numbered by the first transfer between them. */
static MwRoute route_apart(const MwPlan *plan, int index)
{
    const MwPlanTransfer *transfer = &plan->transfers[index];
    int first = 0;
    while (plan->transfers[first].from_mesh != transfer->from_mesh ||
           plan->transfers[first].to_mesh != transfer->to_mesh)
        first++;
    return (MwRoute){.links = {first, first}, .load = 1, .share_s = transfer->time_s};
}

MwRoutes mw_routes(MwArena *arena, const MwPlan *plan, const MwCluster *cluster, bool contention)
{
    MwRoutes routes = {.routes = MW_NEW(arena, MwRoute, plan->transfer_count)};
    for (int t = 0; t < plan->transfer_count; t++)
        routes.routes[t] =
            contention ? route_of(plan, &plan->transfers[t], cluster) : route_apart(plan, t);
    routes.link_count = !contention ? plan->transfer_count
                                    : 2 * (plan->mesh_count + (cluster ? cluster->nodes : 0));
    return routes;
}
