/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sub-meshes that stages may have, and which of them fit into a cluster together.
 *
 * A cluster has `nodes` times `devices_per_node` devices. A sub-mesh is either a fraction of a
 * node, with 1, 2, 4 ... devices but fewer than all, or whole nodes: 1, 2,
 * 3 ... up to 16, beyond which sizes lie an eighth apart, and any number that divides the cluster.
 * Their number grows with the logarithm of the nodes. Sub-meshes that
 * use as many devices as the cluster has do not always fit: three of 4 devices have as many devices
 * as two nodes of 6, and do not fit into them.
 *
 * Packing. Sizes divide each other, so stages taken in order of falling size fit if and only if for
 * every 2^k below a node: the devices taken by fractions of at least 2^k devices are at most the
 * devices of nodes not given away whole, where the devices of each node are rounded down to a
 * multiple of 2^k. If a node has 2^a + 2^b + ... devices, a > b > ..., the condition is only needed
 * where 2^k is twice one of 2^b, ...; for a power of two no condition is needed. The left sides of
 * the needed conditions, each a sum over the stages, form the *packing state* that a dynamic
 * program carries along with the number of devices used. */
#ifndef MW_SOLVER_STAGES_SUBMESH_H
#define MW_SOLVER_STAGES_SUBMESH_H

#include "base/arena.h"

typedef struct {
    int nodes, devices_per_node; /* both at least 1 */
} MwStageCluster;

typedef struct {
    int nodes;   /* whole nodes; 0: a fraction of one */
    int devices; /* total number of devices */
} MwStageSubmesh;

typedef struct {
    MwStageCluster cluster;
    int count; /* number of sub-meshes, in order of rising size */
    MwStageSubmesh *submeshes;
    int state_count; /* number of packing states; in state 0 nothing is used */
    int *next;     /* [count][state_count] the state after one more sub-mesh; -1: it does not fit */
    int *previous; /* [count][state_count] the inverse of `next`; -1: none */
} MwSubmeshPacking;

/* Lists all sub-meshes of the cluster. If there would be thousands of packing states (many nodes of
 * 15 devices, for example), fractions of a node whose size does not divide it are left out: their
 * `next` is -1. */
MwSubmeshPacking mw_submesh_packing_new(MwArena *arena, MwStageCluster cluster);

/* Places `stage_count` sub-meshes (indices in `submesh`) that fit together and use all devices;
 * returns the first device of each. Larger ones come first, equal ones in order, and a fraction
 * stays within its node. */
void mw_submesh_packing_place(const MwSubmeshPacking *packing, int stage_count, const int *submesh,
                              int *first_device);

#endif
