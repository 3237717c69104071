/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds of collectives, from the figures of a cluster file.
 *
 * A collective of n devices on b bytes (of the larger of operand and result) takes call +
 * messages * latency + volume * b / bandwidth, the least over the algorithms of the table below.
 * Sources:
 *   ring, recursive doubling and halving, Bruck, pairwise exchange, Rabenseifner's all-reduce:
 *     Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH,
 *     IJHPCA 19(1), 2005, section 4; the same costs as lower bounds in Chan, Heimlich,
 *     Purkayastha, van de Geijn: Collective communication: theory, practice, and experience,
 *     CCPE 19(13), 2007
 *   two trees, pipelined: Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth
 *     broadcast, reduction and scan, Parallel Computing 35(12), 2009; which of them NCCL has: its
 *     src/graph/tuning.cc
 * A ring shift is one message from each device to its neighbour.
 * An axis that spans nodes runs either one flat ring (tree) through all its devices, whose
 * latency is that of the network once per node and of the node's link elsewhere (NCCL,
 * tuning.cc), or level by level: within nodes, then between nodes on the remaining share, then
 * within nodes. All groups that cross the network of a node share it.
 *
 * Measured curves of a link replace the formula. Between sizes they are interpolated in
 * logarithms. A curve of another number of devices, or that of an all-reduce if there is none of
 * the kind, is scaled: its latency (the time of its least size) by the ratio of the formula's
 * latencies, and the rest by the ratio of the formula's bytes. */
#include "base/backend.h"
#include "cost/cost.h"
#include "cost/curve.h"

#include <math.h>
#include <string.h>

/* ---- Algorithms ---- */

static double log_2(double n)
{
    return ceil(log2(n));
}

static double ring_messages(double n)
{
    return n - 1;
}

static double ring_volume(double n)
{
    return (n - 1) / n;
}

static double two_rings_messages(double n)
{
    return 2 * (n - 1);
}

static double two_rings_volume(double n)
{
    return 2 * (n - 1) / n;
}

static double two_logs(double n)
{
    return 2 * log_2(n);
}

static double two_volumes(double n)
{
    (void)n;
    return 2;
}

static double one(double n)
{
    (void)n;
    return 1;
}

static double half_log(double n)
{
    return log_2(n) / 2;
}

typedef struct {
    MwCollective kind;
    double (*messages)(double n); /* messages one after another */
    double (*volume)(double n);   /* bytes that one device sends, as a multiple of b */
    bool in_nccl;                 /* false: only MPI has it */
    bool powers_only;             /* needs a power of two of devices */
    /* crosses each node's boundary once, so that it suits links of different speed */
    bool flat;
} Algorithm;

/* The first row of a kind has its least volume. */
/* clang-format off */
static const Algorithm algorithms[] = {
    {MW_ALL_GATHER, ring_messages, ring_volume, true, false, true},
    {MW_ALL_GATHER, log_2, ring_volume, false, false, false},        /* Bruck; recursive doubling */
    {MW_ALL_GATHER, two_logs, two_volumes, false, false, true},      /* gather, then broadcast */
    {MW_REDUCE_SCATTER, ring_messages, ring_volume, true, false, true},
    {MW_REDUCE_SCATTER, log_2, ring_volume, false, true, false},     /* recursive halving */
    {MW_REDUCE_SCATTER, two_logs, two_volumes, false, false, true},  /* reduce, then scatter */
    {MW_ALL_REDUCE, two_rings_messages, two_rings_volume, true, false, true},
    {MW_ALL_REDUCE, two_logs, two_volumes, true, false, true},       /* two trees */
    {MW_ALL_REDUCE, log_2, log_2, false, true, false},               /* recursive doubling */
    {MW_ALL_REDUCE, two_logs, two_rings_volume, false, true, false}, /* Rabenseifner */
    {MW_ALL_TO_ALL, ring_messages, ring_volume, true, false, false}, /* pairwise */
    {MW_ALL_TO_ALL, log_2, half_log, false, false, false},           /* Bruck */
    {MW_RING_SHIFT, one, one, true, false, false},
    {MW_RING_SHIFT_BACK, one, one, true, false, false},
};
/* clang-format on */

static bool has_algorithm(const MwCluster *cluster, const Algorithm *algorithm, int ways)
{
    bool is_power = (ways & (ways - 1)) == 0;
    return (algorithm->in_nccl || !mw_backend_named(cluster->backend)->uses_nccl) &&
           (is_power || !algorithm->powers_only);
}

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

/* Seconds of a collective on one level by the fastest algorithm. */
static double formula_s(const LinkLevel *level, MwCollective kind, double bytes)
{
    double rate = mw_cost_link_share(level->link, level->ways, level->flows, 1), least = INFINITY;
    for (int i = 0; i < MW_COUNT(algorithms); i++) {
        const Algorithm *a = &algorithms[i];
        if (a->kind != kind || !has_algorithm(level->cluster, a, level->ways))
            continue;
        least = fmin(least, a->messages(level->ways) * level->link->latency_s +
                                a->volume(level->ways) * bytes / rate);
    }
    MW_ASSERT(isfinite(least)); /* else the collective has no row */
    return level->link->call_s + least;
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
    int i = 0;
    while (i < MW_COUNT(algorithms) && algorithms[i].kind != kind)
        i++;
    MW_ASSERT(i < MW_COUNT(algorithms));
    return algorithms[i].volume(level->ways) /
           mw_cost_link_share(level->link, level->ways, level->flows, 1);
}

/* Seconds of a collective on one level, by a measured curve if there is one. */
static double level_s(const LinkLevel *level, MwCollective kind, double bytes)
{
    if (level->ways == 1)
        return 0;
    const MwMeasuredCollective *measured = nearest_curve(level->link, kind, level->ways);
    if (!measured)
        return formula_s(level, kind, bytes);
    LinkLevel measured_level = *level;
    measured_level.ways = measured->ways;
    measured_level.flows = level->measured_flows;
    double latency_s = measured->time_s.points[0].value;
    double transfer_s = mw_curve_time_s(&measured->time_s, bytes) - latency_s;
    double latency_ratio =
        formula_s(level, kind, 0) / formula_s(&measured_level, measured->kind, 0);
    double byte_ratio = byte_s(level, kind) / byte_s(&measured_level, measured->kind);
    return latency_s * latency_ratio + transfer_s * byte_ratio;
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

/* One ring or tree through all devices of the axis, node after node. */
static double flat_s(const MwCluster *cluster, const MwAxisPath *path, MwCollective kind,
                     double bytes)
{
    const MwLink *node = &cluster->node_link, *network = &cluster->network_link;
    double rate = fmin(mw_cost_link_share(node, path->inner, 1, 1),
                       mw_cost_link_share(network, path->outer, path->sharers, path->inner));
    double least = INFINITY;
    for (int i = 0; i < MW_COUNT(algorithms); i++) {
        const Algorithm *a = &algorithms[i];
        if (a->kind != kind || !a->flat || !has_algorithm(cluster, a, path->ways))
            continue;
        double far = a->messages(path->outer), near = a->messages(path->ways) - far;
        least = fmin(least, far * network->latency_s + near * node->latency_s +
                                a->volume(path->ways) * bytes / rate);
    }
    return network->call_s + least;
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
    case MW_COLLECTIVE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

double mw_cost_collective_s(const MwCostModel *model, MwCollective kind, int axis, double bytes)
{
    MW_ASSERT(axis >= 0 && axis < model->mesh.axis_count);
    const MwCluster *cluster = model->cluster;
    const MwAxisPath *path = &model->path[axis];
    if (path->outer == 1) {
        LinkLevel near = node_level(cluster, path->ways);
        return level_s(&near, kind, bytes);
    }
    double by_level = by_level_s(cluster, path, kind, bytes);
    return path->inner == 1 ? by_level : fmin(by_level, flat_s(cluster, path, kind, bytes));
}
