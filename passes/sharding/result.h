/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of the intra-operator pass: a mesh and a strategy for every node. */
#ifndef MW_PASSES_SHARDING_RESULT_H
#define MW_PASSES_SHARDING_RESULT_H

#include "passes/sharding/intra_problem.h"
#include "solver/solver.h"

struct MwSharding {
    MwIntraProblem *problem; /* on the chosen mesh */
    const int *choice;       /* [nodes] index into problem->lists[node] */
    MwSolution solution;
    double objective_s;   /* seconds of a step */
    double lower_bound_s; /* proven: no sharding on this mesh costs less by the cost model */
    int64_t peak_bytes;   /* estimated memory of a device, with resharded copies */
};
typedef struct MwSharding MwSharding;

static inline const MwStrategy *mw_sharding_strategy(const MwSharding *sharding, MwNodeId node)
{
    return &sharding->problem->lists[node.index]->at[sharding->choice[node.index]];
}

/* The spec in which the producer of `value` makes it. */
MwSpec mw_sharding_value_spec(const MwSharding *sharding, MwValueId value);

#endif
