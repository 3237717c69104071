/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost model: seconds on one logical mesh of a cluster. Every formula stands in passes/cost.c,
 * with its units and source at the top. */
#ifndef MW_PASSES_COST_H
#define MW_PASSES_COST_H

#include "ir/cluster.h"
#include "ir/ir.h"
#include "ir/sharding.h"

typedef struct {
    const MwCluster *cluster;
    MwMeshShape mesh;
    const MwLink *axis_link[MW_MAX_AXES]; /* the slowest link each axis crosses */
    int axis_sharers[MW_MAX_AXES]; /* groups of that axis that share one node's network link */
} MwCostModel;

/* Devices fill the mesh row-major, node after node. */
MwCostModel mw_cost_model(const MwCluster *cluster, const MwMeshShape *mesh);

/* The work of one kernel or library call on one device. */
typedef struct {
    double flops;
    double bytes;          /* read plus written in device memory */
    bool is_contraction;   /* on the matrix units */
    MwType type;           /* of the contraction's operands */
    double m, n, k, batch; /* of a contraction */
} MwWork;

double mw_cost_work_s(const MwCostModel *model, const MwWork *work);

/* A collective along one axis on `bytes` per device: of the larger side (the whole for all_reduce,
 * the gathered result of all_gather, the source of reduce_scatter, either side of all_to_all). The
 * least over the algorithms known (ring, tree, recursive halving and doubling). */
double mw_cost_collective_s(const MwCostModel *model, MwCollective kind, int axis, double bytes);

/* Work of `node` when each factor f of `rule` is split `ways[f]`-fold; reads every operand and
 * writes every result once. */
MwWork mw_cost_node_work(const MwGraph *graph, MwNodeId node, const MwShardingRule *rule,
                         const int ways[MW_MAX_FACTORS]);

#endif
