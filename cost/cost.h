/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost model: seconds on one logical mesh of a cluster. Every formula stands in cost/cost.c,
 * with its units and source at the top. */
#ifndef MW_COST_COST_H
#define MW_COST_COST_H

#include "ir/cluster.h"
#include "ir/ir.h"
#include "ir/sharding/sharding.h"

/* How the groups of one mesh axis lie on the nodes: ways = inner * outer. */
typedef struct {
    int ways;
    int inner;   /* devices of one group in one node; 1 where that is uneven */
    int outer;   /* nodes that one group spans */
    int sharers; /* groups that share one node's network link */
} MwAxisPath;

typedef struct {
    const MwCluster *cluster;
    MwMeshShape mesh;
    MwAxisPath path[MW_MAX_AXES];
} MwCostModel;

/* Devices fill the mesh row-major, node after node. The mesh has at most the cluster's devices.
 * `cluster` must outlive the model. */
MwCostModel mw_cost_model(const MwCluster *cluster, const MwMeshShape *mesh);

typedef enum {
    MW_WORK_NONE,   /* costs nothing: a view, a source */
    MW_WORK_STREAM, /* element-wise work, reductions, rows, moves: arithmetic beside memory traffic
                     */
    MW_WORK_GEMM,
    MW_WORK_ATTENTION,
    MW_WORK_ATTENTION_GRAD,
} MwWorkKind;

/* The work of one kernel or library call on one device. */
typedef struct {
    MwWorkKind kind;
    MwType type;  /* of the operands */
    double flops; /* as counted by the `flops` of ir/ops.def */
    double bytes; /* read plus written in device memory */
    /* `batch` products [m,k] by [k,n]; for attention `batch` heads of m queries, n keys, k elements
     * each. */
    double m, n, k, batch;
} MwWork;

double mw_cost_work_s(const MwCostModel *model, const MwWork *work);

/* A collective along one axis on `bytes` per device: of the larger side (the whole for all_reduce,
 * the gathered result of all_gather, the source of reduce_scatter, either side of all_to_all). The
 * least over the algorithms known. 0 along an axis of one device. */
double mw_cost_collective_s(const MwCostModel *model, MwCollective kind, int axis, double bytes);

/* Bytes/s that each of `flows` equal flows over the link gets, when one flow comes from `devices`
 * devices and joins `ways` of what the link joins. */
double mw_cost_link_share(const MwLink *link, int ways, int flows, int devices);

/* Work of `node` when each factor f of `rule` is split `ways[f]`-fold; reads every operand and
 * writes every result once (a gather reads only the rows that it gives). Collectives are no work.
 */
MwWork mw_cost_node_work(const MwGraph *graph, MwNodeId node, const MwShardingRule *rule,
                         const int ways[MW_MAX_FACTORS]);

#endif
