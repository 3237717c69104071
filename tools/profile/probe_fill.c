/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured times become the figures of a cluster, such that cost/ gives the times back. Where
 * by noise more work took less time, the longer time counts. */
#include "tools/profile/probe.h"

#include "ir/ir.h"

#include <math.h>

/* The time of the work itself, without that of its launch. */
static double work_s(const MwCluster *cluster, const MwProbe *probe)
{
    return fmax(probe->time_s - cluster->device.launch_s, probe->time_s / 10);
}

static void add_point(MwArena *arena, MwCurve *curve, double at, double value)
{
    MwCurvePoint *points = MW_NEW(arena, MwCurvePoint, curve->count + 1);
    for (int i = 0; i < curve->count; i++)
        points[i] = curve->points[i];
    points[curve->count] = (MwCurvePoint){at, value};
    *curve = (MwCurve){points, curve->count + 1};
}

/* ---- Products ---- */

static void add_size(MwArena *arena, MwNumbers *sizes, double size)
{
    for (int i = 0; i < sizes->count; i++)
        if (sizes->at[i] == size)
            return;
    double *at = MW_NEW(arena, double, sizes->count + 1);
    for (int i = 0; i < sizes->count; i++)
        at[i] = sizes->at[i];
    at[sizes->count] = size;
    *sizes = (MwNumbers){at, sizes->count + 1};
}

static int index_of(const MwNumbers *sizes, double size)
{
    for (int i = 0; i < sizes->count; i++)
        if (sizes->at[i] == size)
            return i;
    MW_UNREACHABLE();
}

/* Makes no product take less time than one that is smaller in m, n or k. `time_s` is laid out like
 * MwGemm.rates. */
static void make_monotone(double *time_s, int count)
{
    for (int i = 0; i < count * count * count; i++) {
        int m = i / (count * count), n = i / count % count, k = i % count;
        if (m)
            time_s[i] = fmax(time_s[i], time_s[i - count * count]);
        if (n)
            time_s[i] = fmax(time_s[i], time_s[i - count]);
        if (k)
            time_s[i] = fmax(time_s[i], time_s[i - 1]);
    }
}

static bool is_product(const MwProbe *probe, MwType type)
{
    return probe->kind == MW_PROBE_PRODUCT && probe->type == type;
}

/* The probes of products of a type are in ascending order of m, n and k. */
static void fill_products(MwArena *arena, MwCluster *cluster, const MwProbes *probes, MwType type)
{
    MwGemm *gemm = &cluster->device.gemm[type];
    MwNumbers *sizes = &gemm->sizes;
    for (int i = 0; i < probes->count; i++)
        if (is_product(&probes->probes[i], type))
            add_size(arena, sizes, (double)probes->probes[i].k);
    int count = sizes->count, all = count * count * count;
    double *values = MW_NEW(arena, double, all);
    for (int i = 0; i < probes->count; i++) {
        const MwProbe *probe = &probes->probes[i];
        if (!is_product(probe, type))
            continue;
        int m = index_of(sizes, (double)probe->m), n = index_of(sizes, (double)probe->n);
        values[(m * count + n) * count + index_of(sizes, (double)probe->k)] =
            work_s(cluster, probe);
    }
    make_monotone(values, count);
    for (int i = 0; i < all; i++) {
        double flops = 2 * sizes->at[i / (count * count)] * sizes->at[i / count % count] *
                       sizes->at[i % count];
        values[i] = flops / values[i];
    }
    gemm->rates = (MwNumbers){values, all};
}

/* ---- Other work ---- */

/* The rate of element-wise arithmetic is the geometric mean of what the functions achieve. */
static void fill_vector(MwCluster *cluster, const MwProbes *probes)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < probes->count; i++) {
        const MwProbe *probe = &probes->probes[i];
        if (probe->kind != MW_PROBE_VECTOR)
            continue;
        sum += log((double)(probe->m * probe->n) / work_s(cluster, probe));
        count++;
    }
    if (count)
        cluster->device.vector_flops = exp(sum / count);
}

/* FLOPs of one head of causal attention, as cost/work.c counts them. */
static double head_flops(const MwProbe *probe)
{
    MwOp op = probe->kind == MW_PROBE_ATTENTION ? MW_OP_SDPA : MW_OP_SDPA_GRAD;
    return mw_op_info(op)->flops_per_point * (double)(probe->n * probe->n * probe->k) / 2;
}

static void add_conv(MwArena *arena, MwCurve *curve, const MwCluster *cluster, const MwProbe *probe)
{
    const double window_flops = 2 * (double)(probe->n * probe->k);
    add_point(arena, curve, window_flops, window_flops * (double)probe->m / work_s(cluster, probe));
}

static void fill_work(MwArena *arena, MwCluster *cluster, const MwProbe *probe)
{
    MwDeviceModel *device = &cluster->device;
    switch (probe->kind) {
    case MW_PROBE_LAUNCH:
        device->launch_s = probe->time_s;
        return;
    case MW_PROBE_STREAM: {
        double bytes = (double)(3 * probe->m) * mw_type_bytes(MW_F32);
        add_point(arena, &device->bandwidth, bytes, bytes / work_s(cluster, probe));
        return;
    }
    case MW_PROBE_ROW_SUM:
        add_point(arena, &device->row_sum_flops, (double)probe->n,
                  (double)(probe->m * probe->n) / work_s(cluster, probe));
        return;
    case MW_PROBE_ATTENTION:
    case MW_PROBE_ATTENTION_GRAD: {
        MwCurve *curve = probe->kind == MW_PROBE_ATTENTION ? &device->attention_flops
                                                           : &device->attention_grad_flops;
        double flops = head_flops(probe);
        add_point(arena, curve, flops, flops * (double)probe->m / work_s(cluster, probe));
        return;
    }
    case MW_PROBE_CONV:
        add_conv(arena, &device->conv_flops, cluster, probe);
        return;
    case MW_PROBE_CONV_TRANSPOSE:
        add_conv(arena, &device->conv_transpose_flops, cluster, probe);
        return;
    case MW_PROBE_CONV_FILTER_GRAD:
        add_conv(arena, &device->conv_filter_grad_flops, cluster, probe);
        return;
    case MW_PROBE_PRODUCT:
    case MW_PROBE_VECTOR:
    case MW_PROBE_COLLECTIVE:
        return;
    }
}

/* ---- Collectives ---- */

static MwCurve *curve_of(MwArena *arena, MwLink *link, MwCollective kind, int ways)
{
    int count = link->measured_count;
    if (count && link->measured[count - 1].kind == kind && link->measured[count - 1].ways == ways)
        return &link->measured[count - 1].time_s;
    MwMeasuredCollective *measured = MW_NEW(arena, MwMeasuredCollective, count + 1);
    for (int i = 0; i < count; i++)
        measured[i] = link->measured[i];
    measured[count] = (MwMeasuredCollective){.kind = kind, .ways = ways};
    link->measured = measured;
    link->measured_count = count + 1;
    return &measured[count].time_s;
}

static void fill_collective(MwArena *arena, MwCluster *cluster, const MwProbe *probe)
{
    MwCurve *curve = curve_of(arena, &cluster->node_link, probe->collective, probe->ways);
    double least = curve->count ? curve->points[curve->count - 1].value : 0;
    add_point(arena, curve, (double)probe->bytes, fmax(least, probe->time_s));
}

/* Latency and bandwidth of the link are those of gathers: between two ranks a gather is one
 * message. */
static void fill_link(MwArena *arena, MwCluster *cluster, const MwProbes *probes)
{
    MwLink *link = &cluster->node_link;
    const MwProbe *last = NULL;
    for (int i = 0; i < probes->count; i++) {
        const MwProbe *probe = &probes->probes[i];
        if (probe->kind != MW_PROBE_COLLECTIVE || probe->collective != MW_ALL_GATHER)
            continue;
        if (link->latency_s == 0)
            link->latency_s = probe->time_s / ceil(log2(probe->ways));
        last = probe;
    }
    if (last) {
        double sent = (double)last->bytes * (last->ways - 1) / last->ways;
        add_point(arena, &link->bandwidth, last->ways, sent / last->time_s);
    }
}

void mw_probe_fill(MwCluster *cluster, const MwProbes *probes)
{
    MwArena *arena = probes->arena;
    bool has_products[MW_TYPE_COUNT] = {false};
    for (int i = 0; i < probes->count; i++) {
        const MwProbe *probe = &probes->probes[i];
        fill_work(arena, cluster, probe);
        if (probe->kind == MW_PROBE_COLLECTIVE)
            fill_collective(arena, cluster, probe);
        has_products[probe->type] |= probe->kind == MW_PROBE_PRODUCT;
    }
    for (int type = 0; type < MW_TYPE_COUNT; type++)
        if (has_products[type])
            fill_products(arena, cluster, probes, (MwType)type);
    fill_vector(cluster, probes);
    fill_link(arena, cluster, probes);
}
