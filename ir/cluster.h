/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cluster that a model is compiled for: devices and the links between them.
 *
 * A cluster is `nodes` nodes of `devices_per_node` equal devices. Devices of one node
 * communicate over the node's link, devices of different nodes over the network, which all
 * devices of a node share. Rates are those of useful work, as measured or published; the
 * .cluster file names the source of each figure (docs/clusters.md). The front end reads and
 * prints such files (frontend/cluster/cluster.h); cost/ computes seconds from them. */
#ifndef MW_IR_CLUSTER_H
#define MW_IR_CLUSTER_H

#include "base/spec.h"
#include "base/tensor.h"

/* One measured or published point of a curve. */
typedef struct {
    double at;    /* a size, in bytes or FLOPs */
    double value; /* a rate, or seconds */
} MwCurvePoint;

/* A measured quantity that depends on a size. */
typedef struct {
    MwCurvePoint *points; /* ascending in `at` */
    int count;            /* 0: not known */
} MwCurve;

typedef struct {
    double *at;
    int count;
} MwNumbers;

/* Matrix products c[m,n] += a[m,k] b[k,n] of one element type. Without a rate and without sizes
 * the device cannot compute products of this type. */
typedef struct {
    double peak_flops; /* FLOP/s by the datasheet; 0: not known */
    double rate_flops; /* FLOP/s achieved on large products */
    MwNumbers sizes;   /* sizes of m, n and k that were measured, ascending; may be empty */
    MwNumbers rates;   /* FLOP/s achieved for each combination of `sizes`: [m][n][k] */
    /* FLOP/s achieved by attention of this type, by the FLOPs of one head of one sequence; empty:
     * those of the device */
    MwCurve attention_flops;        /* forward */
    MwCurve masked_attention_flops; /* forward with a mask; empty: as without one */
    MwCurve attention_grad_flops;   /* backward */
} MwGemm;

typedef struct {
    int64_t memory_bytes;
    MwCurve bandwidth; /* bytes/s read and written, by the bytes that a kernel touches */
    MwGemm gemm[MW_TYPE_COUNT];
    /* the same of attention of a type without figures of its own; empty: half the rate of
     * products */
    MwCurve attention_flops, attention_grad_flops;
    /* FLOP/s of convolutions, and of their gradients by the image and by the filter, by the FLOPs
     * of one window; empty: those of products */
    MwCurve conv_flops, conv_transpose_flops, conv_filter_grad_flops;
    double
        vector_flops; /* FLOP/s of element-wise f32 arithmetic, as `flops` of ir/ops.def counts */
    MwCurve row_sum_flops; /* FLOP/s of sums of rows, by their elements; empty: vector_flops */
    double launch_s;       /* fixed cost of one kernel, seconds */
    double capability;     /* compute capability of a GPU, such as 8.0; 0: not known */
    /* processors (SMs) that each compute one tile of a product at a time; 0: one */
    int units;
    int collective_units; /* of these, those that a collective takes while it runs; 0: none */
    double usd_per_h;     /* price of a device for an hour; 0: not known, or that of nodes has it */
} MwDeviceModel;

/* Seconds of a collective in a group of `ways` devices, with all groups of that size busy at
 * once. */
typedef struct {
    MwCollective kind;
    int ways;
    MwCurve time_s; /* seconds by bytes, which count as in mw_cost_collective_s */
} MwMeasuredCollective;

typedef struct {
    double call_s;    /* fixed cost of one collective, seconds */
    double latency_s; /* alpha: cost of one message, seconds */
    /* 1 / beta: bytes/s in each direction, by the number of devices (network: nodes) of a group.
     * On a node link it is the rate of one device; on the network that of one node, which its
     * devices share. */
    MwCurve bandwidth;
    double device_bytes_per_s; /* the most that one device can use of the network; 0: all of it */
    /* rate of one device, each way, where the switch of a node sums and copies; 0: it does not */
    double switch_bytes_per_s;
    /* [measured_count] on the network: between nodes, with every device taking part */
    MwMeasuredCollective *measured;
    int measured_count;
} MwLink;

/* The host of a node: memory beside that of its devices, and processors that update there what is
 * kept there (ZeRO-Offload: Ren et al., USENIX ATC 2021). */
typedef struct {
    int64_t memory_bytes; /* that plans may use, of a node; 0: nothing is known of the host */
    double latency_s;     /* of a copy between a device and the host, seconds */
    double bytes_per_s;   /* of one device, each way, with all devices of the node copying */
    /* bytes/s read and written by an update on all processors of a node, which its devices share */
    double update_bytes_per_s;
} MwHostModel;

typedef struct {
    const char *name;
    const char *backend; /* name of a row of base/backends.def */
    int nodes, devices_per_node;
    double
        node_usd_per_h; /* price of a node for an hour beside that of its devices; 0: not known */
    MwDeviceModel device;
    MwHostModel host;    /* zeros if nothing is known of it: nothing can be kept there */
    MwLink node_link;    /* zeros if a node is one device */
    MwLink network_link; /* zeros if the cluster is one node */
    /* of the texts that it was read from, and of what of this machine is in it; 0: of none */
    uint64_t source_hash;
} MwCluster;

static inline int mw_cluster_devices(const MwCluster *cluster)
{
    return cluster->nodes * cluster->devices_per_node;
}

/* The part of the compute of a device that a running collective takes, below 1; 0: none. */
static inline double mw_device_collective_share(const MwDeviceModel *device)
{
    return device->collective_units > 0 ? (double)device->collective_units / device->units : 0;
}

/* The memory of the host that one device may use; 0: none. */
static inline int64_t mw_cluster_host_bytes(const MwCluster *cluster)
{
    return cluster->host.memory_bytes / cluster->devices_per_node;
}

/* The price of all of it for an hour, USD; 0: not known. */
static inline double mw_cluster_usd_per_h(const MwCluster *cluster)
{
    return cluster->nodes * cluster->node_usd_per_h +
           mw_cluster_devices(cluster) * cluster->device.usd_per_h;
}

#endif
