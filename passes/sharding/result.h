/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The outcome of the intra-op pass: a mesh and a strategy for every node. */
#ifndef MW_PASSES_SHARDING_RESULT_H
#define MW_PASSES_SHARDING_RESULT_H

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

static inline const MwStrategy *mw_sharding_strategy(const MwSharding *sharding, MwNodeId node)
{
    return &sharding->problem->lists[node.index]->at[sharding->choice[node.index]];
}

/* The spec in which the node of `value` gives it. */
MwSpec mw_sharding_value_spec(const MwSharding *sharding, MwValueId value);

#endif
