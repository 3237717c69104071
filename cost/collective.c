/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds of collectives, from the figures of a cluster file.
 *
 * A collective on b bytes (of the larger of operand and result) takes the fixed cost of a call and
 * what its algorithm takes, the least over the algorithms (cost/algorithms.def) and the protocols
 * (cost/protocols.def) that the library has.
 * A ring shift is one message from each device to its neighbour.
 * An axis that spans nodes runs either one algorithm through all its devices, or the hierarchical
 * one: within nodes, then between nodes on the remaining share, then within nodes. NCCL does the
 * latter only where it has none of the former. All groups that cross the network of a node share
 * it.
 *
 * Measured curves of a link replace the formula. Between sizes they are interpolated in
 * logarithms. A curve of another number of devices, or that of an all-reduce if there is none of
 * the kind, is scaled: its latency (the time of its least size) by the ratio of the formula's
 * latencies, and the rest by the ratio of the formula's bytes. */
#include "base/backend.h"
#include "cost/algorithms.h"
#include "cost/cost.h"
#include "cost/curve.h"
#include "cost/protocols.h"

#include <math.h>

/* ---- One level ---- */

/* Groups of devices that reach each other over one link. */
typedef struct {
    const MwCluster *cluster;
    const MwLink *link;
    int ways;
    int flows;          /* groups that share the link */
    int measured_flows; /* groups that shared the link when its curves were measured */
} LinkLevel;

double mw_cost_link_share(const MwLink *link, int ways, int flows, int devices)
{
    double share = mw_curve_value(&link->bandwidth, ways) / flows;
    if (link->device_bytes_per_s > 0)
        share = fmin(share, link->device_bytes_per_s * devices);
    return share;
}

/* Whether trees are chains within nodes, as NCCL's are. */
static bool has_chains(const MwCluster *cluster)
{
    return mw_backend_named(cluster->backend)->uses_nccl;
}

static MwGroupLinks level_route(const LinkLevel *level)
{
    return (MwGroupLinks){
        .inner = level->ways,
        .outer = 1,
        .near_latency_s = level->link->latency_s,
        .near_bytes_per_s = mw_cost_link_share(level->link, level->ways, level->flows, 1),
        .group_bytes_per_s = INFINITY,
        .one_bytes_per_s = INFINITY,
        .each_bytes_per_s = INFINITY,
        .switch_bytes_per_s = level->link->switch_bytes_per_s,
        .has_chains = has_chains(level->cluster) && level->link == &level->cluster->node_link};
}

/* The algorithm among the choices that is the fastest on a route, and its time. */
static MwCollectiveChoice fastest(const MwCluster *cluster, const MwLink *link, MwCollective kind,
                                  const MwGroupLinks *route, double bytes)
{
    MwCollectiveChoice best = {INFINITY, MW_ALGORITHM_COUNT};
    const MwAlgorithmCost *row = NULL;
    while ((row = mw_algorithm_next(kind, row))) {
        if (!mw_algorithm_is_choice(row, cluster, route->inner * route->outer))
            continue;
        const double time_s = mw_protocols_s(cluster, link, row, route, bytes);
        if (time_s < best.time_s)
            best = (MwCollectiveChoice){time_s, mw_algorithm_of(row)};
    }
    return best;
}

/* The fastest algorithm on one level, by the formulas. */
static MwCollectiveChoice formula(const LinkLevel *level, MwCollective kind, double bytes)
{
    const MwGroupLinks route = level_route(level);
    MwCollectiveChoice best = fastest(level->cluster, level->link, kind, &route, bytes);
    MW_ASSERT(isfinite(best.time_s)); /* else the collective has no row */
    return best;
}

/* The curve of `kind` for the nearest number of devices, the smaller of two equally near; if
 * there is none, that of an all-reduce; NULL if there is none of that either. */
static const MwMeasuredCollective *nearest_curve(const MwLink *link, MwCollective kind, int ways)
{
    const MwMeasuredCollective *nearest = NULL;
    double nearest_distance = INFINITY;
    for (int i = 0; i < link->measured_count; i++) {
        const MwMeasuredCollective *measured = &link->measured[i];
        double distance = fabs(log((double)measured->ways / ways));
        if (measured->kind == kind && distance < nearest_distance) {
            nearest = measured;
            nearest_distance = distance;
        }
    }
    return nearest || kind == MW_ALL_REDUCE ? nearest : nearest_curve(link, MW_ALL_REDUCE, ways);
}

/* Seconds per byte for large collectives. */
static double byte_s(const LinkLevel *level, MwCollective kind)
{
    return mw_collective_volume(kind, level->ways) /
           mw_cost_link_share(level->link, level->ways, level->flows, 1);
}

/* A collective on one level, by a measured curve if there is one. */
static MwCollectiveChoice level_choice(const LinkLevel *level, MwCollective kind, double bytes)
{
    if (level->ways == 1)
        return (MwCollectiveChoice){0, MW_ALGORITHM_COUNT};
    const MwMeasuredCollective *measured = nearest_curve(level->link, kind, level->ways);
    if (!measured)
        return formula(level, kind, bytes);
    LinkLevel measured_level = *level;
    measured_level.ways = measured->ways;
    measured_level.flows = level->measured_flows;
    double latency_s = measured->time_s.points[0].value;
    double transfer_s = mw_curve_time_s(&measured->time_s, bytes) - latency_s;
    double latency_ratio =
        formula(level, kind, 0).time_s / formula(&measured_level, measured->kind, 0).time_s;
    double byte_ratio = byte_s(level, kind) / byte_s(&measured_level, measured->kind);
    return (MwCollectiveChoice){latency_s * latency_ratio + transfer_s * byte_ratio,
                                MW_ALGORITHM_COUNT};
}

static double level_s(const LinkLevel *level, MwCollective kind, double bytes)
{
    return level_choice(level, kind, bytes).time_s;
}

/* ---- Both levels ---- */

static LinkLevel node_level(const MwCluster *cluster, int ways)
{
    return (LinkLevel){cluster, &cluster->node_link, ways, .flows = 1, .measured_flows = 1};
}

/* Groups of one device per node; each device of the axis' inner part belongs to one. */
static LinkLevel network_level(const MwCluster *cluster, const MwAxisPath *path)
{
    return (LinkLevel){cluster, &cluster->network_link, path->outer,
                       .flows = path->sharers * path->inner,
                       .measured_flows = cluster->devices_per_node};
}

/* Through all devices of the axis, on both links. */
static MwGroupLinks whole_route(const MwCluster *cluster, const MwAxisPath *path)
{
    const MwLink *node = &cluster->node_link, *network = &cluster->network_link;
    const int sharers = path->sharers, inner = path->inner;
    return (MwGroupLinks){
        .inner = inner,
        .outer = path->outer,
        .near_latency_s = node->latency_s,
        .far_latency_s = network->latency_s,
        .near_bytes_per_s = mw_cost_link_share(node, inner, 1, 1),
        .group_bytes_per_s = mw_cost_link_share(network, path->outer, sharers, inner),
        .one_bytes_per_s = mw_cost_link_share(network, path->outer, sharers, 1),
        .each_bytes_per_s = mw_cost_link_share(network, path->outer, sharers * inner, 1),
        .switch_bytes_per_s = node->switch_bytes_per_s,
        .has_chains = has_chains(cluster),
    };
}

/* Within nodes and between them, so that each byte crosses the network once. */
static double by_level_s(const MwCluster *cluster, const MwAxisPath *path, MwCollective kind,
                         double bytes)
{
    LinkLevel near = node_level(cluster, path->inner), far = network_level(cluster, path);
    double part = bytes / path->inner;
    switch (kind) {
    case MW_ALL_REDUCE:
        return level_s(&near, MW_REDUCE_SCATTER, bytes) + level_s(&far, MW_ALL_REDUCE, part) +
               level_s(&near, MW_ALL_GATHER, bytes);
    case MW_ALL_GATHER:
    case MW_REDUCE_SCATTER:
        return level_s(&near, kind, bytes) + level_s(&far, kind, part);
    case MW_ALL_TO_ALL:
        return level_s(&near, kind, bytes) + level_s(&far, kind, bytes);
    case MW_RING_SHIFT:
    case MW_RING_SHIFT_BACK: /* one device of the group's part of a node sends to the next node */
        far.flows = path->sharers;
        return fmax(level_s(&near, kind, bytes), level_s(&far, kind, bytes));
    case MW_MIRROR: /* all devices of a node send to another one */
        return level_s(&far, kind, bytes);
    case MW_COLLECTIVE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

/* The one level of a path that has no second one. */
static LinkLevel only_level(const MwCluster *cluster, const MwAxisPath *path)
{
    return path->outer == 1 ? node_level(cluster, path->ways) : network_level(cluster, path);
}

static bool has_two_levels(const MwAxisPath *path)
{
    return path->inner > 1 && path->outer > 1;
}

bool mw_cost_has_levels(const MwCluster *cluster, MwCollective kind)
{
    return !mw_backend_named(cluster->backend)->uses_nccl ||
           (kind != MW_ALL_REDUCE && kind != MW_ALL_GATHER && kind != MW_REDUCE_SCATTER);
}

MwCollectiveChoice mw_cost_choice(const MwCostModel *model, MwCollective kind, int axis,
                                  double bytes)
{
    MW_ASSERT(axis >= 0 && axis < model->mesh.axis_count);
    const MwCluster *cluster = model->cluster;
    const MwAxisPath *path = &model->path[axis];
    if (!has_two_levels(path)) {
        const LinkLevel level = only_level(cluster, path);
        return level_choice(&level, kind, bytes);
    }
    const MwGroupLinks route = whole_route(cluster, path);
    const double by_level =
        mw_cost_has_levels(cluster, kind) ? by_level_s(cluster, path, kind, bytes) : INFINITY;
    const MwCollectiveChoice whole = fastest(cluster, &cluster->network_link, kind, &route, bytes);
    return whole.time_s < by_level ? whole
                                   : (MwCollectiveChoice){by_level, MW_ALGORITHM_HIERARCHICAL};
}

double mw_cost_collective_s(const MwCostModel *model, MwCollective kind, int axis, double bytes)
{
    return mw_cost_choice(model, kind, axis, bytes).time_s;
}

double mw_cost_algorithm_s(const MwCostModel *model, MwCollective kind, MwAlgorithm algorithm,
                           int axis, double bytes)
{
    MW_ASSERT(axis >= 0 && axis < model->mesh.axis_count);
    const MwCluster *cluster = model->cluster;
    const MwAxisPath *path = &model->path[axis];
    if (algorithm == MW_ALGORITHM_HIERARCHICAL)
        return has_two_levels(path) ? by_level_s(cluster, path, kind, bytes) : INFINITY;
    const MwAlgorithmCost *row = mw_algorithm_row(kind, algorithm);
    if (!row)
        return INFINITY;
    const LinkLevel level = only_level(cluster, path);
    const MwGroupLinks route =
        has_two_levels(path) ? whole_route(cluster, path) : level_route(&level);
    const MwLink *link = has_two_levels(path) ? &cluster->network_link : level.link;
    return mw_protocols_s(cluster, link, row, &route, bytes);
}
