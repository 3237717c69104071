/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The intra-op problem of one graph on one mesh: which strategy each node runs in, as numbers.
 *
 * Node i of the problem is node i of the graph. Costs are picoseconds (cost/units.h) of one step:
 * what runs once per micro-batch counts that many times. Usages are bytes of one device.
 *
 *   node cost   the node's own work, fusion taken into account, and one picosecond for each mesh
 *               axis along which it is repeated, so that needless repetition never ties; of what is
 *               received, passing it on among the devices that want the same of it
 *   edge cost   resharding a value from the spec its node gives to the spec its user takes; of an
 *               assignment, from the spec of the new value to the spec of the stored one
 *   usage       the local bytes of a node's results from definition to last use; weights, states
 *               and inputs always; what waits between tasks of a pipeline always, for each of the
 *               micro-batches that are there at once. A value that lives in a fused kernel only
 *               uses nothing, nor does a view beyond the life it gives to what it views, nor a result
 *               that is assigned
 *
 * After the nodes of the graph there may be some for copies that resharding makes (passes/sharding/copies.h).
 *
 * All tables are interned by structure, so that what repeats is shared by pointer. */
#ifndef MW_PASSES_SHARDING_INTRA_PROBLEM_H
#define MW_PASSES_SHARDING_INTRA_PROBLEM_H

#include "cost/reshard.h"
#include "passes/sharding/strategies.h"
#include "passes/staging.h"
#include "solver/solver.h"

/* What to plan for. Pins are those of the graph. */
typedef struct {
    const MwGraph *graph;
    const MwCluster *cluster;
    MwMeshShape mesh;
    int micro_batches;
    const MwFlight *flight; /* how many of them are there at once; NULL: one */
    int64_t memory_bytes;   /* usage limit; MW_USAGE_UNLIMITED: none */
} MwIntraQuery;

struct MwIntraProblem {
    MwArena *arena;
    const MwGraph *graph;
    MwCostModel model;
    int micro_batches;
    const MwFlight *flight; /* of the query */
    MwResharder *resharder;
    const MwStrategyList **lists; /* [nodes] */
    bool *pinned;                 /* [nodes] */
    int passage_count;            /* edges of values on their way: the first ones */
    MwProblem problem;
};
typedef struct MwIntraProblem MwIntraProblem;

/* NULL after errors: a pin that no strategy of its node meets on this mesh. */
MwIntraProblem *mw_intra_problem(MwArena *arena, const MwIntraQuery *query, MwDiags *diags);

/* How many times a step runs the nodes of a phase. */
int mw_phase_runs(MwPhase phase, int micro_batches);

#endif
