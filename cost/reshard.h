/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resharding: the cheapest sequence of collectives and local slices that turns one spec of a tensor
 * into another, on one mesh.
 *
 * The intra-op problem takes its edge costs from here and partition takes its steps from here, so a
 * plan executes exactly what was costed. A whole tensor never becomes partial: that costs
 * MW_COST_INFINITE. Costs are picoseconds (cost/units.h). */
#ifndef MW_COST_RESHARD_H
#define MW_COST_RESHARD_H

#include "base/int_cost.h"
#include "cost/cost.h"

/* Collective or slice along one mesh axis. */
typedef struct {
    MwOp op;      /* ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL or SHARD */
    int axis;     /* of the mesh */
    int dim;      /* gathered (ALL_GATHER) or split (others); -1 for ALL_REDUCE */
    int from_dim; /* gathered by ALL_TO_ALL; else -1 */
    MwSpec from, to;
    int64_t bytes;     /* of the larger side, per device */
    int64_t cost;      /* of one execution, repacking included */
    MwCombine combine; /* of ALL_REDUCE and REDUCE_SCATTER */
} MwReshardStep;

typedef struct {
    int count;
    MwReshardStep *steps;
    int64_t cost; /* sum of the steps' */
} MwReshardPath;

/* Remembers what it found, per tensor type: one per cost model. Lives in its arena. */
typedef struct MwResharder MwResharder;

MwResharder *mw_resharder_new(MwArena *arena, const MwCostModel *model);

/* All specs of one tensor and the least costs between them. `combine` is how partial parts of it
 * combine. Equal arguments give the same table. */
typedef struct MwReshardTable MwReshardTable;
MwReshardTable *mw_reshard_table(MwResharder *resharder, const MwTensor *tensor, MwCombine combine);
/* Position of a spec valid for the table's tensor; -1 for a spec whose partial parts combine
 * otherwise. Axes of size 1 are ignored. */
int mw_reshard_index(const MwReshardTable *table, MwSpec spec);
/* Least cost between two positions; MW_COST_INFINITE if there is no way (or a position is -1). */
int64_t mw_reshard_cost(MwReshardTable *table, int from, int to);

/* The cheapest path; ties go to fewer steps, then to the lowest specs. It must exist. The steps are
 * in `arena`. */
MwReshardPath mw_reshard_path(MwArena *arena, MwResharder *resharder, const MwTensor *tensor,
                              MwSpec from, MwSpec to);

#endif
