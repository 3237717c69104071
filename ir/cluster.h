/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the model is compiled for: devices and the links between them.
 *
 * A cluster is `nodes` nodes of `devices_per_node` equal devices. A mesh axis uses the link of the
 * outermost level that it crosses: the network if it joins devices of different nodes, else the
 * node's own. Rates are of useful work, as measured or published; the .cluster file says where each
 * figure is from (docs/clusters.md). */
#ifndef MW_IR_CLUSTER_H
#define MW_IR_CLUSTER_H

#include "base/diag.h"
#include "base/spec.h"
#include "base/tensor.h"

/* One measured or published point of a curve; between points interpolate, beyond them hold. */
typedef struct {
    double at;    /* a size: FLOPs of a product, or bytes of a collective */
    double value; /* FLOP/s, or seconds */
} MwCurvePoint;

typedef struct {
    MwCurvePoint *points; /* ascending in `at` */
    int count;
} MwCurve;

typedef struct {
    double latency_s;   /* alpha: per message between two devices */
    double bytes_per_s; /* beta: each way, per device */
    MwCurve
        collective_s[MW_COLLECTIVE_COUNT]; /* measured for `measured_ways` devices; may be empty */
    int measured_ways;
} MwLink;

typedef struct {
    int64_t memory_bytes;
    double memory_bytes_per_s;         /* streaming reads and writes of large arrays */
    double peak_flops[MW_TYPE_COUNT];  /* matrix products; 0: that type is not supported */
    MwCurve gemm_flops[MW_TYPE_COUNT]; /* achieved rate by FLOPs of the product; may be empty */
    double vector_flops;               /* element-wise arithmetic in f32 */
    double launch_s;                   /* fixed cost of one kernel */
} MwDevice;

typedef struct {
    const char *name;
    const char *backend; /* default backend: "cpu" or "cuda" */
    int nodes, devices_per_node;
    MwDevice device;
    MwLink node_link, network_link;
} MwCluster;

/* Reads a .cluster file, or makes the default for "local:N" (N CPU ranks of this machine). NULL
 * after errors. */
MwCluster *mw_cluster_load(MwArena *arena, const char *name_or_path, MwDiags *diags);

#endif
