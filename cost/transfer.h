/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds to bring a tensor from one sub-mesh of a cluster to another (docs/resharding.md).
 * cost/transfer.c has the formulas, with their units and sources at the top. */
#ifndef MW_COST_TRANSFER_H
#define MW_COST_TRANSFER_H

#include "ir/cluster.h"

/* How a tensor lies on a sub-mesh. */
typedef struct {
    MwSpec spec; /* valid for the tensor on the mesh; not partial */
    MwMeshShape mesh;
    /* index in the cluster, whose devices are numbered node after node; the mesh takes the
     * devices from this one on, row-major */
    int first_device;
} MwTensorPlacement;

typedef struct {
    double crossing_s; /* from sub-mesh to sub-mesh, each element once */
    double passing_s;  /* then among the receiving devices that want the same block */
    /* how the receiving devices share a block: true, one of them receives it and broadcasts it;
     * false, each receives a part and they gather */
    bool broadcast;
} MwTransferCost;

/* The cost of a transfer by the faster way, gathering if both are equal. Tensors of equal size
 * that the specs split alike have equal costs. Runs in time O(devices of a node). */
MwTransferCost mw_transfer_cost(const MwCluster *cluster, const MwTensor *tensor,
                                const MwTensorPlacement *from, const MwTensorPlacement *to);

#endif
