/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sub-meshes that stages may have, and which of them fit a cluster together.
 *
 * A cluster is `nodes` times `devices_per_node` devices. A sub-mesh is 1, 2, 4 ... devices of one
 * node, fewer than all of it, or 1, 2, 3 ... whole nodes. Sub-meshes that use every device once do
 * not always fit: three of 4 devices are as many devices as two nodes of 6, and do not lie in them.
 *
 * Packing. Sizes divide each other, so stages taken by falling size fit if and only if, for every
 * 2^k below a node, what the parts of at least 2^k devices take is at most the nodes not given away
 * whole times (devices of a node rounded down to 2^k). With 2^a + 2^b + ..., a > b > ..., devices
 * in a node this says something new only where 2^k is twice one of 2^b, ...; none for a power of
 * two. The left sides of these conditions, each a sum over the stages, make a *row*: the state that
 * a dynamic program carries beside the number of devices used. */
#ifndef MW_SOLVER_STAGES_SUBMESH_H
#define MW_SOLVER_STAGES_SUBMESH_H

#include "base/arena.h"

typedef struct {
    int nodes, devices_per_node; /* both at least 1 */
} MwStageCluster;

typedef struct {
    int nodes;   /* whole nodes; 0: part of one */
    int devices; /* in all */
} MwStageSubmesh;

typedef struct {
    MwStageCluster cluster;
    int count; /* of sub-meshes, by rising size */
    MwStageSubmesh *submeshes;
    int row_count; /* row 0: nothing is used */
    int *next;     /* [count][row_count]: the row after one more of a sub-mesh; -1: does not fit */
    int *previous; /* [count][row_count]: its inverse; -1: none */
} MwSubmeshPacking;

/* All sub-meshes of the cluster. Where the rows would be more than thousands (nodes of 15 devices,
 * many of them), parts of a node whose size does not divide it are left out: their `next` is -1. */
MwSubmeshPacking mw_submesh_packing_new(MwArena *arena, MwStageCluster cluster);

/* The first device of each of `stage_count` sub-meshes (indices in `submesh`) that together fit and
 * use all devices: larger ones first, equal ones in order, each within its node. */
void mw_submesh_packing_place(const MwSubmeshPacking *packing, int stage_count, const int *submesh,
                              int *first_device);

#endif
