/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds of collectives by each algorithm, as formulas of latency and bandwidth:
 * cost/algorithms.def says which there are, with their sources. cost/collective.c chooses among
 * them. */
#ifndef MW_COST_ALGORITHMS_H
#define MW_COST_ALGORITHMS_H

#include "base/algorithm.h"
#include "ir/cluster.h"

/* The links between the members of a group, `inner` in each of `outer` nodes. */
typedef struct {
    int inner, outer;
    double near_latency_s, far_latency_s; /* of a message within a node, and between two */
    double near_bytes_per_s;              /* rate of one device within its node */
    /* Rates between nodes: of the group's part of a node, where its devices serve one flow
     * together; of one device of the group, where it alone sends; of each, where all send. */
    double group_bytes_per_s, one_bytes_per_s, each_bytes_per_s;
    double switch_bytes_per_s; /* of one device, by the switch of its node; 0: it sums nothing */
    bool has_chains;           /* trees are chains within nodes */
} MwGroupLinks;

/* The algorithms of a collective: a row of cost/algorithms.def. */
typedef struct MwAlgorithmCost MwAlgorithmCost;

/* The next row of the collective after `row`, the first after NULL; NULL after the last. */
const MwAlgorithmCost *mw_algorithm_next(MwCollective kind, const MwAlgorithmCost *row);
/* Its row for the algorithm; NULL: it is not done so. */
const MwAlgorithmCost *mw_algorithm_row(MwCollective kind, MwAlgorithm algorithm);
MwAlgorithm mw_algorithm_of(const MwAlgorithmCost *row);
MwCollective mw_algorithm_collective(const MwAlgorithmCost *row);

/* Whether collectives of `ways` devices of the cluster may be done by it. */
bool mw_algorithm_is_choice(const MwAlgorithmCost *row, const MwCluster *cluster, int ways);

/* Seconds on `bytes` (of the larger of operand and result), without the fixed cost of the call;
 * INFINITY where the algorithm has no formula for such a route. */
double mw_algorithm_s(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes);

/* Bytes that each of `ways` devices has to send, as a multiple of those of the larger of operand
 * and result: the factor from bytes per second of the collective to what nccl-tests calls bus
 * bandwidth. */
double mw_collective_volume(MwCollective kind, int ways);

#endif
