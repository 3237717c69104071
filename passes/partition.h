/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The SPMD program of one mesh: the global graph rewritten to local shapes, with the collectives
 * and slices that resharding needs as nodes of their own. All devices of the mesh run it. */
#ifndef MW_PASSES_PARTITION_H
#define MW_PASSES_PARTITION_H

#include "ir/ir.h"

typedef struct {
    const MwGraph *global;
    MwGraph *graph; /* local shapes */
    MwMeshShape mesh;
    MwSpec *value_spec;      /* [local values] how the value lies on the mesh */
    MwValueId *value_global; /* [local values] the global value it is a form of */
    MwNodeId *node_global; /* [local nodes] the global node it computes; for a collective or shard,
                              the global node whose operand it prepares */
} MwLocalGraph;

/* Rewrites the graph that `sharding` (passes/sharding.h) is about. */
struct MwSharding;
MwLocalGraph *mw_partition(MwArena *arena, const struct MwSharding *sharding);

#endif
