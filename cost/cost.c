/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds of work and of collectives, from the figures of a cluster file.
 *
 * Units: seconds, bytes, FLOPs, and their quotients. All formulas of the cost model are here;
 * cost/work.c computes how much work a node is.
 *
 * Work on one device takes launch + max(arithmetic, bytes / bandwidth(bytes)), the roofline
 * model (Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009). Bandwidth depends on the
 * bytes touched, because small working sets stay in a cache. Arithmetic is
 *   stream     flops / vector_flops
 *   product    flops / rate(m, n, k). The measured rates are interpolated linearly in the
 *              logarithms of m, n and k, so that a power law between two sizes is exact. Below
 *              the least size a product costs as much as one of that size (tiles are padded);
 *              above the largest the rate is constant. A device without a table computes 128 x
 *              128 tiles of the result on its `units` in waves: ceil(tiles / units) * tile_flops
 *              * units / rate (NVIDIA, Matrix Multiplication Background User's Guide, "Tile
 *              Quantization" and "Wave Quantization")
 *   attention  flops / rate(flops of one head); without a curve, half the rate of products of
 *              that shape (Dao: FlashAttention-2, 2023, section 4.1 measures 50-73 % of peak
 *              forward, up to 63 % backward, where products reach 80-90 %)
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
 * An axis that spans nodes runs either one flat ring (tree) through all its devices, whose
 * latency is that of the network once per node and of the node's link elsewhere (NCCL,
 * tuning.cc), or level by level: within nodes, then between nodes on the remaining share, then
 * within nodes. All groups that cross the network of a node share it.
 *
 * Measured curves of a link replace the formula. Between sizes they are interpolated in
 * logarithms. A curve of another number of devices, or that of an all-reduce if there is none of
 * the kind, is scaled: its latency (the time of its least size) by the ratio of the formula's
 * latencies, and the rest by the ratio of the formula's bytes. */
#include "cost/cost.h"

#include "base/backend.h"

#include <math.h>
#include <string.h>

/* ---- Curves ---- */

/* Index of the last point at or below `at` that has a next point. The curve has at least two. */
static int segment(const MwCurve *curve, double at)
{
    int i = 0;
    while (i + 2 < curve->count && curve->points[i + 1].at <= at)
        i++;
    return i;
}

/* Interpolates linearly in logarithms within the curve; constant outside. */
static double curve_within(const MwCurve *curve, double at)
{
    const MwCurvePoint *last = &curve->points[curve->count - 1];
    if (at <= curve->points[0].at)
        return curve->points[0].value;
    if (at >= last->at)
        return last->value;
    const MwCurvePoint *p = &curve->points[segment(curve, at)];
    double t = log(at / p[0].at) / log(p[1].at / p[0].at);
    return p[0].value * pow(p[1].value / p[0].value, t);
}

/* The value of a curve of times. Beyond the last point the rate is constant. */
static double curve_time_s(const MwCurve *curve, double bytes)
{
    double last = curve->points[curve->count - 1].at;
    return curve_within(curve, bytes) * fmax(1, bytes / last);
}

/* ---- Work ---- */

/* The position of a size among the measured ones: between sizes[index] and the next, at fraction
 * t in logarithms. */
typedef struct {
    int index;
    double t;
} SizePosition;

static SizePosition position_of(const MwGemm *gemm, double size)
{
    const double *sizes = gemm->sizes.at;
    int last = gemm->sizes.count - 1, i = 0;
    if (last == 0 || size <= sizes[0])
        return (SizePosition){0, 0};
    while (i + 1 < last && sizes[i + 1] <= size)
        i++;
    return (SizePosition){i, fmin(1, log(size / sizes[i]) / log(sizes[i + 1] / sizes[i]))};
}

/* The rate interpolated between the eight measured sizes around m, n and k. */
static double measured_rate(const MwGemm *gemm, double m, double n, double k)
{
    int count = gemm->sizes.count;
    SizePosition at[3] = {position_of(gemm, m), position_of(gemm, n), position_of(gemm, k)};
    double log_rate = 0;
    for (int corner = 0; corner < 8; corner++) {
        double weight = 1;
        int index = 0;
        for (int d = 0; d < 3; d++) {
            int upper = corner >> d & 1;
            weight *= upper ? at[d].t : 1 - at[d].t;
            index = index * count + (int)mw_min(at[d].index + upper, count - 1);
        }
        if (weight > 0)
            log_rate += weight * log(gemm->rates.at[index]);
    }
    return exp(log_rate);
}

/* A device without figures for a type computes its products in f32. */
static const MwGemm *gemm_of(const MwDeviceModel *device, MwType type)
{
    const MwGemm *gemm = &device->gemm[type];
    return gemm->rate_flops > 0 || gemm->sizes.count ? gemm : &device->gemm[MW_F32];
}

static double products_s(const MwDeviceModel *device, const MwWork *work)
{
    const MwGemm *gemm = gemm_of(device, work->type);
    double m = work->m, n = work->n, k = work->k;
    if (gemm->sizes.count) {
        double floor = gemm->sizes.at[0];
        m = fmax(m, floor);
        n = fmax(n, floor);
        k = fmax(k, floor);
        return 2 * work->batch * m * n * k / measured_rate(gemm, m, n, k);
    }
    if (device->units == 0)
        return 2 * work->batch * m * n * k / gemm->rate_flops;
    static const double tile = 128;
    double tiles = work->batch * ceil(m / tile) * ceil(n / tile);
    double waves = ceil(tiles / device->units);
    return waves * 2 * tile * tile * k * device->units / gemm->rate_flops;
}

static double attention_s(const MwDeviceModel *device, const MwWork *work)
{
    const MwCurve *curve =
        work->kind == MW_WORK_ATTENTION ? &device->attention_flops : &device->attention_grad_flops;
    if (curve->count)
        return work->flops / curve_within(curve, work->flops / work->batch);
    double product_flops = 2 * work->batch * work->m * work->n * work->k;
    return 2 * products_s(device, work) * (work->flops / product_flops);
}

static double arithmetic_s(const MwDeviceModel *device, const MwWork *work)
{
    switch (work->kind) {
    case MW_WORK_NONE:
        return 0;
    case MW_WORK_STREAM:
        return work->flops / device->vector_flops;
    case MW_WORK_GEMM:
        return products_s(device, work);
    case MW_WORK_ATTENTION:
    case MW_WORK_ATTENTION_GRAD:
        return attention_s(device, work);
    }
    MW_UNREACHABLE();
}

double mw_cost_work_s(const MwCostModel *model, const MwWork *work)
{
    const MwDeviceModel *device = &model->cluster->device;
    if (work->kind == MW_WORK_NONE)
        return 0;
    double memory_s = work->bytes / curve_within(&device->bandwidth, work->bytes);
    return device->launch_s + fmax(arithmetic_s(device, work), memory_s);
}

/* ---- The path of an axis ---- */

/* Number of devices in the node of `first` that belong to its group along the axis (`first` has
 * coordinate 0); `even` tells whether every node of the group holds as many. */
static int devices_in_node(int first, int stride, int ways, int per_node, bool *even)
{
    int inner = 0, run = 0;
    *even = true;
    for (int i = 0; i < ways; i++) {
        run++;
        bool node_ends = i + 1 == ways ||
                         (first + i * stride) / per_node != (first + (i + 1) * stride) / per_node;
        if (!node_ends)
            continue;
        if (inner == 0)
            inner = run;
        *even &= run == inner;
        run = 0;
    }
    return inner;
}

/* The path of a mesh axis; the worst of its groups. */
static MwAxisPath axis_path(const MwCluster *cluster, const MwMeshShape *mesh, int axis)
{
    int ways = mesh->size[axis], devices = mw_mesh_devices(mesh), stride = 1;
    int per_node = cluster->devices_per_node;
    for (int i = axis + 1; i < mesh->axis_count; i++)
        stride *= mesh->size[i];
    int inner = ways;
    bool all_even = true;
    for (int device = 0; device < devices; device++) {
        bool even = true;
        if (device / stride % ways == 0)
            inner = (int)mw_min(inner, devices_in_node(device, stride, ways, per_node, &even));
        all_even &= even;
    }
    if (!all_even || ways % inner)
        inner = 1;
    int in_node = (int)mw_min(per_node, devices);
    return (MwAxisPath){.ways = ways,
                        .inner = inner,
                        .outer = ways / inner,
                        .sharers = (int)mw_max(1, in_node / inner)};
}

MwCostModel mw_cost_model(const MwCluster *cluster, const MwMeshShape *mesh)
{
    MW_ASSERT(mw_mesh_devices(mesh) <= mw_cluster_devices(cluster));
    MwCostModel model = {.cluster = cluster, .mesh = *mesh};
    for (int axis = 0; axis < mesh->axis_count; axis++)
        model.path[axis] = axis_path(cluster, mesh, axis);
    return model;
}

/* ---- Collectives: the algorithms ---- */

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
};
/* clang-format on */

static bool has_algorithm(const MwCluster *cluster, const Algorithm *algorithm, int ways)
{
    bool is_power = (ways & (ways - 1)) == 0;
    return (algorithm->in_nccl || !mw_backend_named(cluster->backend)->uses_nccl) &&
           (is_power || !algorithm->powers_only);
}

/* ---- Collectives: one level ---- */

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
    double share = curve_within(&link->bandwidth, ways) / flows;
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
    double volume =
        kind == MW_ALL_REDUCE ? two_rings_volume(level->ways) : ring_volume(level->ways);
    return volume / mw_cost_link_share(level->link, level->ways, level->flows, 1);
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
    double transfer_s = curve_time_s(&measured->time_s, bytes) - latency_s;
    double latency_ratio =
        formula_s(level, kind, 0) / formula_s(&measured_level, measured->kind, 0);
    double byte_ratio = byte_s(level, kind) / byte_s(&measured_level, measured->kind);
    return latency_s * latency_ratio + transfer_s * byte_ratio;
}

/* ---- Collectives: both levels ---- */

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
