/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The protocols by which a library does an algorithm of a collective: cost/protocols.def for NCCL,
 * one for MPI, with the figures of the cluster file as they are. */
#ifndef MW_COST_PROTOCOLS_H
#define MW_COST_PROTOCOLS_H

#include "base/algorithm.h"
#include "ir/cluster.h"

typedef struct {
    MwAlgorithm algorithm;
    /* seconds beyond those of the cluster file: of a call, of a message within a node, of one
     * between nodes */
    double call_s, near_s, far_s;
    double rate; /* part of the bandwidth */
} MwProtocol;

/* The next protocol of the algorithm after `protocol`, the first after NULL; NULL after the
 * last. */
const MwProtocol *mw_protocol_next(const MwCluster *cluster, MwAlgorithm algorithm,
                                   const MwProtocol *protocol);

#endif
