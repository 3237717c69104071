/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The protocols by which a library does an algorithm of a collective: cost/protocols.def for NCCL,
 * one for MPI, with the figures of the cluster file as they are. */
#ifndef MW_COST_PROTOCOLS_H
#define MW_COST_PROTOCOLS_H

#include "cost/algorithms.h"

/* Seconds of a collective on `bytes` (of the larger of operand and result) by an algorithm and the
 * quickest of its protocols, with the call. `link` is that of the call, and of all messages if the
 * route has one level. INFINITY where the algorithm has no formula for such a route. */
double mw_protocols_s(const MwCluster *cluster, const MwLink *link, const MwAlgorithmCost *row,
                      const MwGroupLinks *route, double bytes);

#endif
