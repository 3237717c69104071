/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost model: seconds of work and of collectives on one logical mesh of a cluster.
 * cost/work_time.c and cost/collective.c have the formulas, with their sources at the top. Units:
 * seconds, bytes, FLOPs, and their quotients. */
#ifndef MW_COST_COST_H
#define MW_COST_COST_H

#include "base/algorithm.h"
#include "ir/cluster.h"
#include "ir/ir.h"
#include "ir/sharding/sharding.h"

/* How the groups of devices along one mesh axis lie on the nodes: ways = inner * outer. */
typedef struct {
    int ways;    /* devices of one group */
    int inner;   /* devices of one group in one node; 1 if nodes hold different numbers */
    int outer;   /* nodes that one group spans */
    int sharers; /* groups that share the network link of one node */
} MwAxisPath;

typedef struct {
    const MwCluster *cluster;
    MwMeshShape mesh;
    MwAxisPath path[MW_MAX_AXES];
} MwCostModel;

/* The cost model of a mesh. Devices fill the mesh row-major, node after node. The mesh has at
 * most the devices of the cluster. `cluster` must outlive the model. */
MwCostModel mw_cost_model(const MwCluster *cluster, const MwMeshShape *mesh);

typedef enum {
    MW_WORK_NONE, /* a view or a source, which costs nothing */
    /* element-wise work, reductions, rows, moves: arithmetic overlaps memory traffic */
    MW_WORK_STREAM,
    MW_WORK_GEMM,
    /* convolutions and their gradients by the image and by the filter: products, unless the device
     * has curves for them */
    MW_WORK_CONV,
    MW_WORK_CONV_TRANSPOSE,
    MW_WORK_CONV_FILTER_GRAD,
    MW_WORK_ATTENTION,
    MW_WORK_ATTENTION_GRAD,
    MW_WORK_HOST_COPY, /* a copy between a device and the host */
    MW_WORK_HOST,      /* element-wise work on what is kept on the host, by its processors */
} MwWorkKind;

/* The work of one kernel or library call on one device. */
typedef struct {
    MwWorkKind kind;
    MwType type;  /* of the operands */
    double flops; /* in the unit of the `flops` column of ir/ops.def */
    double
        bytes; /* read from plus written to memory; of a copy to or from the host, those copied */
    /* `batch` products of [m, k] by [k, n]. For attention, `batch` heads of m queries, n keys
     * and k elements each. */
    double m, n, k, batch;
    double windows; /* of a convolution: points of its result, without channels */
    /* of a stream: which of its FLOPs sum up elements of rows, and the elements of a row; 0: none,
     * or not known */
    double row_flops, columns;
    /* seconds that the bytes take, where it is known when they were used before; 0: not known */
    double memory_s;
    bool is_masked; /* attention of which a mask leaves out keys; `flops` are without them */
} MwWork;

/* Whether it has the shape of a product. */
static inline bool mw_work_is_product(MwWorkKind kind)
{
    return kind == MW_WORK_GEMM || kind == MW_WORK_CONV || kind == MW_WORK_CONV_TRANSPOSE ||
           kind == MW_WORK_CONV_FILTER_GRAD;
}

/* Seconds of `work` on one device. */
double mw_cost_work_s(const MwCostModel *model, const MwWork *work);

/* Seconds to read and write `bytes` that were used before as `distance` bytes were used since
 * then. */
double mw_cost_memory_s(const MwCostModel *model, double bytes, double distance);

/* Seconds of a collective along one axis, by the fastest known algorithm; 0 along an axis of one
 * device. `bytes` are per device, of the larger of operand and result: the whole for all_reduce,
 * the gathered result of all_gather, the source of reduce_scatter, either one for all_to_all, a
 * shift, and mirror. */
double mw_cost_collective_s(const MwCostModel *model, MwCollective kind, int axis, double bytes);

/* How a collective is done, and what it takes. */
typedef struct {
    double time_s;
    /* MW_ALGORITHM_COUNT: the time is that of a measured curve, whatever the library did, or there
     * is one device only */
    MwAlgorithm algorithm;
} MwCollectiveChoice;

/* The same, with the algorithm: the fastest of those that the library of the cluster's backend has
 * for so many devices. */
MwCollectiveChoice mw_cost_choice(const MwCostModel *model, MwCollective kind, int axis,
                                  double bytes);

/* Whether the library of the cluster's backend does the collective level by level on an axis that
 * joins several devices in each of several nodes. NCCL does what it has a ring for by that, or by a
 * tree, through all of them. */
bool mw_cost_has_levels(const MwCluster *cluster, MwCollective kind);

/* Seconds of a collective by one algorithm, whether the library of the backend has it or not.
 * INFINITY: the collective is not done so, or has no formula on such an axis. A measured curve
 * counts only as a part of the hierarchical algorithm. */
double mw_cost_algorithm_s(const MwCostModel *model, MwCollective kind, MwAlgorithm algorithm,
                           int axis, double bytes);

/* Bytes/s of each of `flows` equal flows over the link, where one flow comes from `devices`
 * devices and the link joins `ways` of them. */
double mw_cost_link_share(const MwLink *link, int ways, int flows, int devices);

/* Work of `node` on one device if each factor f of `rule` is split ways[f]-fold. Every operand
 * is read and every result written once; a gather reads only the rows that it returns. A
 * collective is no work. */
MwWork mw_cost_node_work(const MwGraph *graph, MwNodeId node, const MwShardingRule *rule,
                         const int ways[MW_MAX_FACTORS]);
/* The work of the node on half of a block of the uneven factor of `rule`, where each device has an
 * early half and the late half of the block in the mirror: the mean of both, on the device with the
 * most work. */
MwWork mw_cost_half_work(const MwGraph *graph, MwNodeId node, const MwShardingRule *rule,
                         const int ways[MW_MAX_FACTORS]);

#endif
