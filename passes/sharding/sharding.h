/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The outcome of the intra-op pass: a mesh and a strategy for every node. */
#ifndef MW_PASSES_SHARDING_SHARDING_H
#define MW_PASSES_SHARDING_SHARDING_H

#include "passes/sharding/intra_problem.h"
#include "solver/solver.h"

struct MwSharding {
    MwIntraProblem *problem; /* of the mesh that was chosen */
    const int *choice;       /* [nodes] index into problem->lists[node] */
    MwSolution solution;
    double objective_s;   /* of a step */
    double lower_bound_s; /* no plan on this mesh costs less, by the cost model */
    int64_t peak_bytes;   /* estimate of the memory a device needs, resharded copies included */
};
typedef struct MwSharding MwSharding;

typedef MW_VEC(MwMeshShape) MwMeshList;

/* All shapes of one and two axes, the longest inner axis first: it is the least fragmented. */
MwMeshList mw_mesh_shapes(MwArena *arena, int devices);

static inline const MwStrategy *mw_sharding_strategy(const MwSharding *sharding, MwNodeId node)
{
    return &sharding->problem->lists[node.index]->at[sharding->choice[node.index]];
}

/* The spec in which the node of `value` gives it. */
MwSpec mw_sharding_value_spec(const MwSharding *sharding, MwValueId value);

/* [nodes] An estimate of the bytes that a device needs while each node runs: the usage of the problem
 * and what resharding adds to it. What is true is known when buffers are assigned. In `arena`. */
int64_t *mw_sharding_usage(MwArena *arena, const MwSharding *sharding);
/* The greatest of these. */
int64_t mw_sharding_peak(const MwSharding *sharding);

#endif
