/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which links the transfers of a plan use, and how much of each.
 *
 * A link has a direction. Meshes in one node reach each other over links of their devices; others
 * over the network links of their nodes, which meshes of one node share. All nodes of a mesh have
 * the same traffic, so that its first node stands for all. Without the figures of a cluster, nodes
 * are not known, and each mesh has links of its own.
 *
 * Without contention, transfers share a link where they go between the same two meshes, one after
 * another in the timeline of a schedule (schedule/timeline.h), and nowhere else. */
#ifndef MW_CODEGEN_SIMULATE_LINKS_H
#define MW_CODEGEN_SIMULATE_LINKS_H

#include "ir/cluster.h"
#include "runtime/plan/plan.h"

enum { MW_FLOW_LINKS = 2 }; /* out of the sending mesh, and into the receiving one */

/* A transfer that has its links to itself takes start_s + share_s. */
typedef struct {
    int links[MW_FLOW_LINKS]; /* may be the same */
    double load;              /* part of the links that it uses while nothing else does, (0, 1] */
    double start_s;           /* of calls and latency, which sharing does not lengthen */
    double share_s;
} MwRoute;

typedef struct {
    MwRoute *routes; /* [transfers] */
    int link_count;
} MwRoutes;

/* `cluster` may be NULL. The mesh's ranks are the devices of the cluster. */
MwRoutes mw_routes(MwArena *arena, const MwPlan *plan, const MwCluster *cluster, bool contention);

#endif
