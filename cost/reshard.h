/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resharding: the cheapest sequence of collectives and local slices that turns one spec of a
 * tensor into another, on one mesh.
 *
 * The edge costs of the intra-operator problem and the steps of partition both come from here,
 * so a plan executes exactly what was priced. A replicated tensor never becomes partial: that
 * costs MW_COST_INFINITE. Costs are picoseconds (cost/units.h). */
#ifndef MW_COST_RESHARD_H
#define MW_COST_RESHARD_H

#include "base/int_cost.h"
#include "cost/cost.h"

/* One collective or slice along one mesh axis. */
typedef struct {
    MwOp op;  /* ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL or SHARD */
    int axis; /* of the mesh */
    /* the gathered dimension (ALL_GATHER) or the split one (others); -1 for ALL_REDUCE */
    int dim;
    int from_dim; /* the dimension that ALL_TO_ALL gathers; -1 for others */
    MwSpec from, to;
    int64_t bytes;     /* per device, of the larger of operand and result */
    int64_t cost;      /* of one execution, with repacking */
    int64_t local;     /* what kernels take of it: repacking, slices */
    MwCombine combine; /* of ALL_REDUCE and REDUCE_SCATTER */
} MwReshardStep;

typedef struct {
    int count;
    MwReshardStep *steps;
    int64_t cost; /* sum over the steps */
} MwReshardPath;

/* The tables of one cost model, each computed once. Lies in the arena given. */
typedef struct MwResharder MwResharder;

MwResharder *mw_resharder_new(MwArena *arena, const MwCostModel *model);

/* All specs of one tensor type and the least costs between them. `combine` says how its partial
 * values combine. Equal arguments give the same table. */
typedef struct MwReshardTable MwReshardTable;
MwReshardTable *mw_reshard_table(MwResharder *resharder, const MwTensor *tensor, MwCombine combine);
/* Index of a spec that is valid for the table's tensor; -1 for a partial spec with another
 * `combine`. Axes of size 1 are ignored. */
int mw_reshard_index(const MwReshardTable *table, MwSpec spec);
/* Least cost between two indices; MW_COST_INFINITE if there is no path or an index is -1. */
int64_t mw_reshard_cost(MwReshardTable *table, int from, int to);
/* What kernels take of that cost; 0 if there is no path. */
int64_t mw_reshard_local(MwReshardTable *table, int from, int to);

/* The cheapest path, with its steps in `arena`. Ties go to fewer steps, then to the lowest
 * specs. A path must exist. */
MwReshardPath mw_reshard_path(MwArena *arena, MwResharder *resharder, const MwTensor *tensor,
                              MwSpec from, MwSpec to);

#endif
