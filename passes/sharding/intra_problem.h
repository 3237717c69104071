/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The intra-operator problem of one graph on one mesh: the choice of a strategy for each node,
 * as numbers for the solver.
 *
 * Node i of the problem is node i of the graph. Costs are picoseconds (cost/units.h) of one
 * step: work of every micro-batch counts micro_batches times. Usages are bytes of one device.
 *
 *   node cost   the node's own work, with fusion taken into account or, with a ring, step by step
 *               (ring.h), the combining of its normaliser (MwShardingRule) and the exchange of
 *               borders (borders.h). It includes
 *               one picosecond for each mesh axis along which the work is replicated, so that
 *               needless replication never ties. The cost of a receive is the gathering among
 *               devices that want the same block of the value.
 *   edge cost   resharding a value from the spec of its producer to the spec of its consumer;
 *               for an assignment, from the spec of the new value to that of the target. Where
 *               collectives run beside kernels, it is what these do not hide (hidden.h).
 *   usage       the local bytes of a node's results from definition to last use. Weights, states
 *               and inputs count at all times, and so does a value that waits between tasks of a
 *               pipeline, once for each micro-batch in flight. Three kinds of results use
 *               nothing: values that live within a fused kernel; views, which prolong the life
 *               of what they view; and results that are assigned, which overwrite their target.
 *
 * Nodes for copies that resharding makes may follow the nodes of the graph (copies.h).
 *
 * All tables are interned by structure, so that equal tables are one pointer. */
#ifndef MW_PASSES_SHARDING_INTRA_PROBLEM_H
#define MW_PASSES_SHARDING_INTRA_PROBLEM_H

#include "cost/reshard.h"
#include "ir/loops.h"
#include "passes/sharding/strategies.h"
#include "passes/staging.h"
#include "solver/solver.h"

/* The graph, with its pins, and what it is planned for. */
typedef struct {
    const MwGraph *graph;
    const MwCluster *cluster;
    MwMeshShape mesh;
    int micro_batches;
    const MwFlight *flight; /* micro-batches in flight; NULL: one after another */
    int64_t memory_bytes;   /* usage limit of a device; MW_USAGE_UNLIMITED: none */
} MwIntraQuery;

struct MwIntraProblem {
    MwArena *arena;
    const MwGraph *graph;
    MwCostModel model;
    int micro_batches;
    const MwFlight *flight; /* of the query */
    MwLoops loops;          /* of the graph */
    MwResharder *resharder;
    const MwStrategyList **lists; /* [nodes] strategies */
    bool *pinned;                 /* [nodes] a pin restricts the strategies */
    int value_edge_count;         /* the first edges, which stand for values of the graph */
    MwProblem problem;
};
typedef struct MwIntraProblem MwIntraProblem;

/* Builds the problem in `arena`. NULL after errors: no strategy of a node meets its pin on this
 * mesh. */
MwIntraProblem *mw_intra_problem(MwArena *arena, const MwIntraQuery *query, MwDiags *diags);

/* How often a node runs in a step of training. */
int mw_intra_node_runs(const MwIntraProblem *intra, MwNodeId id);
/* How many times in a step of training `value` is resharded for `consumer`: what a loop takes from
 * outside, once before the loop. */
int mw_intra_reshard_runs(const MwIntraProblem *intra, MwValueId value, MwNodeId consumer);

/* The collectives by which node `id` combines its normaliser in `strategy`; none if its parts are
 * whole. In `arena`. */
MwReshardPath mw_normaliser_path(MwArena *arena, const MwIntraProblem *intra, MwNodeId id,
                                 const MwStrategy *strategy);

#endif
