/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds to bring a tensor from one sub-mesh of a cluster to another (docs/resharding.md). Every
 * formula stands in cost/transfer.c, with its units and source at the top. */
#ifndef MW_COST_TRANSFER_H
#define MW_COST_TRANSFER_H

#include "ir/cluster.h"

/* How a tensor lies on a sub-mesh. */
typedef struct {
    MwSpec spec; /* valid for the tensor on the mesh; not partial */
    MwMeshShape mesh;
    int first_device; /* of the cluster, whose devices are numbered node after node; the mesh takes
                         those that follow, row-major */
} MwTransferPlace;

typedef struct {
    double crossing_s; /* from sub-mesh to sub-mesh, each element once */
    double passing_s;  /* then among receiving devices that want the same block */
    bool broadcast;    /* the quicker way: one of those gets the block and passes it on; else each
                          gets a part and they gather */
} MwTransferCost;

/* The quicker of both ways, gathering where they are equal. The same time for any tensor of as many
 * bytes that the specs split alike. Takes time in the devices of a node at most. */
MwTransferCost mw_transfer_cost(const MwCluster *cluster, const MwTensor *tensor,
                                const MwTransferPlace *from, const MwTransferPlace *to);

#endif
